//! `bethink config …`: lists the settings with their origins, and changes the config file.

use bethink_config::{
    ConfigError, Overrides, SettingEntry, SettingOrigin, Settings, UnknownKey, entries,
    unknown_variables,
};
use bethink_terminal::{StyledText, TextTable, Tone};
use serde_json::{Value, json};

use crate::app::CliApp;
use crate::args::ConfigCommand;
use crate::disk::Configured;
use crate::failure::{CliFailure, Done};

pub(crate) fn run(app: &mut CliApp, command: ConfigCommand) -> Done {
    match command {
        ConfigCommand::List => list(app),
        ConfigCommand::Get { key } => get(app, &key),
        ConfigCommand::Set { key, value } => set(app, &key, &value),
        ConfigCommand::Path => {
            let file = file()?.display().to_string();
            let Some(screen) = app.screen.unless_json(&json!({ "file": file }))? else {
                return Ok(());
            };
            Ok(screen.line(file)?)
        }
    }
}

fn list(app: &mut CliApp) -> Done {
    let all = entries::entries(&env).map_err(|error| refused(&error))?;
    let told = json!({ "file": file()?, "settings": all.iter().map(value).collect::<Vec<_>>() });
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    let mut table = TextTable::new(&["setting", "from", "value"]);
    for entry in all {
        let (tone, origin) = match &entry.origin {
            None => (Tone::Dim, "default"),
            Some(SettingOrigin::File(_)) => (Tone::Accent, "file"),
            Some(_) => (Tone::Accent, "environment"),
        };
        table.row(vec![
            entry.key.into(),
            StyledText::new().put(tone, origin),
            entry.value.to_string().into(),
        ]);
    }
    screen.lines(table.lines(screen.look.width))?;
    for one in unknown().map_err(|error| refused(&error))? {
        screen.note(StyledText::new().put(Tone::Warn, one.to_string()))?;
    }
    Ok(screen.hint(format!("the config file is {}", file()?.display()))?)
}

fn get(app: &mut CliApp, key: &str) -> Done {
    let all = entries::entries(&env).map_err(|error| refused(&error))?;
    let Some(entry) = all.into_iter().find(|entry| entry.key == key) else {
        return Err(refused(&entries::unknown(key)));
    };
    let Some(screen) = app.screen.unless_json(&value(&entry))? else { return Ok(()) };
    let shown = entry.value.as_str().map_or_else(|| entry.value.to_string(), str::to_owned);
    screen.line(shown)?;
    let origin = entry.origin.map_or_else(|| "the default".to_owned(), |from| from.to_string());
    Ok(screen.hint(format!("from {origin}"))?)
}

fn set(app: &mut CliApp, key: &str, given: &str) -> Done {
    let file = file()?;
    let now = Configured::read(&file)?;
    let before = now.text().unwrap_or_default();
    let text = entries::with_setting_in_env(&env, &file, before, key, given)
        .map_err(|error| refused(&error))?;
    if text != before {
        now.write(&text, true)?;
    }
    let all = entries::entries(&env).map_err(|error| refused(&error))?;
    let Some(entry) = all.into_iter().find(|entry| entry.key == key) else { return Ok(()) };
    let Some(screen) = app.screen.unless_json(&value(&entry))? else { return Ok(()) };
    screen.note(format!("set {key} in {}", file.display()))?;
    let next = match entry.origin {
        Some(SettingOrigin::Variable(name)) => {
            format!(
                "the environment variable {name} takes precedence over the file; unset the variable to use the file"
            )
        }
        _ => {
            "to apply the change, restart the daemon: `bethink down`, then `bethink up`".to_owned()
        }
    };
    Ok(screen.hint(next)?)
}

/// Returns the keys of the config file, and the environment variables, that have no effect.
pub(super) fn unknown() -> Result<Vec<UnknownKey>, ConfigError> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut unknown = Settings::load(&env, &Overrides::default())?.warnings;
    unknown.extend(unknown_variables(names));
    Ok(unknown)
}

fn value(entry: &SettingEntry) -> Value {
    let origin = entry.origin.as_ref().map_or_else(|| "default".to_owned(), ToString::to_string);
    json!({ "key": entry.key, "value": entry.value, "origin": origin })
}

fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn file() -> Result<std::path::PathBuf, CliFailure> {
    entries::file(&env).ok_or_else(|| {
        CliFailure::hinted("could not find the config file", "set HOME or BETHINK_CONFIG")
    })
}

/// Adds the cause to the message, for example the reason why a file could not be read.
pub(super) fn refused(error: &ConfigError) -> CliFailure {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    CliFailure::Use(format!("{error}{}", cause.unwrap_or_default()))
}
