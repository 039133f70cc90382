//! Reads settings from defaults, the config file, the environment and arguments. Later sources take precedence.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::{ConfigError, SettingOrigin};
use crate::home::{Home, xdg_dir};
use crate::keys::SettingKey;
use crate::settings::{KEYS, Settings};

/// Least similarity, from 0 to 1, of a name that is suggested.
const SIMILAR: f64 = 0.85;

/// Settings from the command line, which take precedence over all others.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    pub home: Option<PathBuf>,
    pub config: Option<PathBuf>,
    pub listen: Option<String>,
}

/// The settings, and the unknown keys, which have no effect.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub settings: Settings,
    pub warnings: Vec<UnknownKey>,
}

/// An unknown key, section or variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKey {
    pub origin: SettingOrigin,
    /// `section` or `section.key`.
    pub key: String,
    /// The key, section or variable that was probably meant.
    pub similar: Option<String>,
}

impl fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            SettingOrigin::Variable(name) => write!(f, "the environment variable {name}")?,
            origin => write!(f, "{origin}: `{}`", self.key)?,
        }
        f.write_str(" is not a setting and has no effect")?;
        let meant = |similar: &String| write!(f, "; did you mean `{similar}`?");
        self.similar.as_ref().map_or(Ok(()), meant)
    }
}

/// Returns the variables of these names that look like settings, and are not.
pub fn unknown_variables(names: impl Iterator<Item = String>) -> Vec<UnknownKey> {
    let known: Vec<String> = KEYS.iter().map(SettingKey::variable).collect();
    let unknown = names.filter(|name| {
        name.starts_with("BETHINK_") && name.contains("__") && !known.contains(name)
    });
    let unknown = unknown.map(|name| UnknownKey {
        key: name.trim_start_matches("BETHINK_").replacen("__", ".", 1).to_lowercase(),
        similar: similar(&name, &known),
        origin: SettingOrigin::Variable(name),
    });
    unknown.collect()
}

/// Returns the name that was probably meant by a mistyped or incomplete one.
fn similar(name: &str, known: &[String]) -> Option<String> {
    let rated = known.iter().map(|one| (strsim::jaro_winkler(name, one), one));
    let best = rated.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (best.0 >= SIMILAR).then(|| best.1.clone())
}

impl Settings {
    /// Reads the config file that `overrides`, `BETHINK_CONFIG` or the XDG directories name, and then the other sources.
    /// Only a file that an argument names must exist.
    pub fn load(
        env: &dyn Fn(&str) -> Option<String>,
        overrides: &Overrides,
    ) -> Result<Loaded, ConfigError> {
        let home = Home::find(env, overrides.home.as_deref())?;
        let mut settings = Settings::at(home.path());
        settings.person =
            env("HOME").filter(|home| Path::new(home).is_absolute()).map(PathBuf::from);
        let mut warnings = Vec::new();
        if let Some((file, text)) = config_text(env, overrides.config.as_deref())? {
            warnings = read_file(&mut settings, &file, &text)?;
        }
        for key in KEYS {
            let variable = key.variable();
            if let Some(text) = env(&variable) {
                key.put_text(&mut settings, &text, SettingOrigin::Variable(variable))?;
            }
        }
        if let (Some(listen), Some(key)) = (&overrides.listen, SettingKey::find("daemon", "listen"))
        {
            key.put_text(&mut settings, listen, SettingOrigin::Argument("--listen"))?;
        }
        check_order(&settings)?;
        Ok(Loaded { settings, warnings })
    }
}

/// Returns the path of the default config file.
pub fn default_config(env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    Some(xdg_dir(env, "XDG_CONFIG_HOME", ".config")?.join("config.toml"))
}

/// Returns the config file to read: from an argument, else from `BETHINK_CONFIG`, else the default one.
pub(crate) fn config_path(
    env: &dyn Fn(&str) -> Option<String>,
    named: Option<&Path>,
) -> Option<PathBuf> {
    let variable = || env("BETHINK_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from);
    named.map(Path::to_path_buf).or_else(variable).or_else(|| default_config(env))
}

/// Returns the settings of a config file with this text, if they are valid.
pub(crate) fn check(file: &Path, text: &str) -> Result<Settings, ConfigError> {
    let mut settings = Settings::default();
    read_file(&mut settings, file, text)?;
    check_order(&settings)?;
    Ok(settings)
}

pub(crate) fn config_text(
    env: &dyn Fn(&str) -> Option<String>,
    named: Option<&Path>,
) -> Result<Option<(PathBuf, String)>, ConfigError> {
    let must_exist = named.is_some();
    let Some(file) = config_path(env, named) else { return Ok(None) };
    match std::fs::read_to_string(&file) {
        Ok(text) => Ok(Some((file, text))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !must_exist => Ok(None),
        Err(source) => Err(ConfigError::Read { file, source }),
    }
}

fn read_file(
    settings: &mut Settings,
    file: &Path,
    text: &str,
) -> Result<Vec<UnknownKey>, ConfigError> {
    let table: toml::Table = text.parse().map_err(|error| syntax(file, text, &error))?;
    let origin = || SettingOrigin::File(file.to_path_buf());
    let mut warnings = Vec::new();
    let mut warn = |key: String, similar| {
        warnings.push(UnknownKey { origin: origin(), key, similar });
    };
    for (section, value) in &table {
        let keys: Vec<_> = KEYS.iter().filter(|key| key.section == section).collect();
        if keys.is_empty() {
            let sections: Vec<_> = KEYS.iter().map(|key| key.section.to_owned()).collect();
            warn(section.clone(), similar(section, &sections));
            continue;
        }
        let Some(entries) = value.as_table() else {
            return Err(ConfigError::Value {
                origin: origin(),
                key: section.clone(),
                // The value is not shown, because it may contain a secret.
                given: format!("of type {}", value.type_str()),
                allowed: format!("a section: [{section}]"),
            });
        };
        for (name, value) in entries {
            match SettingKey::find(section, name) {
                Some(key) if key.put(settings, value) => {}
                Some(key) => return Err(key.refused(origin(), value.to_string())),
                None => {
                    let names: Vec<_> = keys.iter().map(|key| key.name.to_owned()).collect();
                    let meant = similar(name, &names).map(|name| format!("{section}.{name}"));
                    warn(format!("{section}.{name}"), meant);
                }
            }
        }
    }
    Ok(warnings)
}

fn syntax(file: &Path, text: &str, error: &toml::de::Error) -> ConfigError {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    // The parser's message contains only names and single characters, so no secret.
    ConfigError::Syntax { file: file.to_path_buf(), line, problem: error.message().to_owned() }
}

/// Checks pairs of settings in which the first must not be greater than the second.
fn check_order(settings: &Settings) -> Result<(), ConfigError> {
    let (compact, model) = (&settings.compact, &settings.model);
    let pairs = [
        (
            ("compact.keep_min_tokens", compact.keep_min_tokens),
            ("compact.keep_max_tokens", compact.keep_max_tokens),
        ),
        (
            ("model.max_output", model.max_output),
            ("model.max_output_ceiling", model.max_output_ceiling),
        ),
    ];
    for ((low, low_value), (high, high_value)) in pairs {
        if low_value > high_value {
            return Err(ConfigError::Order { low, low_value, high, high_value });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Case {
        dir: tempfile::TempDir,
        vars: Vec<(&'static str, String)>,
    }

    impl Case {
        fn new(file: &str) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let config = dir.path().join("config.toml");
            std::fs::write(&config, file).unwrap();
            let vars = vec![
                ("HOME", dir.path().display().to_string()),
                ("BETHINK_CONFIG", config.display().to_string()),
            ];
            Self { dir, vars }
        }

        fn with(mut self, name: &'static str, value: &str) -> Self {
            self.vars.push((name, value.to_owned()));
            self
        }

        fn load(&self, overrides: &Overrides) -> Result<Loaded, ConfigError> {
            let env = |name: &str| {
                self.vars.iter().rev().find(|(n, _)| *n == name).map(|(_, value)| value.clone())
            };
            Settings::load(&env, overrides)
        }
    }

    #[test]
    fn defaults_when_nothing_is_set() {
        let case = Case::new("");
        let loaded = case.load(&Overrides::default()).unwrap();
        let person = Some(case.dir.path().to_path_buf());
        let home = case.dir.path().join(".local/share/bethink");
        assert_eq!(loaded.settings, Settings { person, ..Settings::at(home) });
        assert_eq!(loaded.warnings, []);
    }

    #[test]
    fn later_layers_win() {
        let file = "[daemon]\nlisten = '127.0.0.1:1'\nmax_depth = 64\nsocket = false\n\
                    [context]\nwindow = 1000\nmicrocompact_tools = ['Read']\n";
        let case = Case::new(file)
            .with("BETHINK_DAEMON__LISTEN", "127.0.0.1:2")
            .with("BETHINK_CONTEXT__WINDOW", "30000")
            .with("BETHINK_CONTEXT__AUTO_PERCENT", "80")
            .with("BETHINK_DAEMON__ALLOWED_HOSTS", "a:1, b:2");
        let overrides = Overrides { listen: Some("127.0.0.1:3".into()), ..Overrides::default() };
        let settings = case.load(&overrides).unwrap().settings;
        assert_eq!(settings.daemon.listen, "127.0.0.1:3");
        assert_eq!(settings.daemon.max_depth, 64);
        assert!(!settings.daemon.socket);
        assert_eq!(settings.daemon.allowed_hosts, ["a:1", "b:2"]);
        assert_eq!(settings.context.window, 30_000);
        assert_eq!(settings.context.auto_percent, 80.0);
        assert_eq!(settings.context.microcompact_tools, ["Read"]);
    }

    #[test]
    fn every_key_goes_to_its_own_place_and_back() {
        for key in KEYS {
            let mut settings = Settings::at("/home");
            let taken = [
                "77777",
                "50",
                "m=77777",
                "false",
                "true",
                "frugal",
                "openai",
                "embedded",
                "claude",
                "full",
                "client",
                "hold",
                "/a",
                "postgres://a/b",
                "127.0.0.1:1",
            ]
            .iter()
            .filter(|text| {
                let before = settings.clone();
                key.put_text(&mut settings, text, SettingOrigin::Argument("")).is_ok()
                    && settings != before
            })
            .count();
            assert!(taken > 0, "{}", key.variable());
        }
    }

    #[test]
    fn a_bad_value_names_place_key_and_what_is_allowed() {
        for (file, expect) in [
            ("[daemon]\nmax_depth = -1", "`daemon.max_depth` is -1; expected a whole number"),
            ("[daemon]\nsocket = 'yes'", "`daemon.socket` is \"yes\"; expected true or false"),
            ("[daemon]\nlisten = ''", "`daemon.listen` is \"\"; expected auto, or IP:PORT"),
            ("[daemon]\nlisten = '0.0.0.0:1'", "`daemon.listen` is \"0.0.0.0:1\"; expected auto"),
            ("[daemon]\nlog = 'nonsense==='", "`daemon.log` is \"nonsense===\"; expected error"),
            (
                "[memory]\nroot = 'rel/mem'",
                "`memory.root` is \"rel/mem\"; expected an absolute path",
            ),
            ("[context]\nauto_percent = 101", "expected a number from 0 to 100"),
            ("[context]\nmicrocompact_tools = [1]", "expected a list of strings"),
            ("[capture]\nexclude = ['secret']", "expected a list of paths that are absolute"),
            ("[capture]\nexclude = ['~/a**']", "expected a list of paths that are absolute"),
            ("[session_memory]\nprofile = 'lavish'", "expected \"default\" or \"frugal\""),
            ("[model]\nprovider = 'gemini'", "expected \"none\", \"anthropic\" or \"openai\""),
            ("[model]\ndaily_cost = -1", "a number of US dollars from 0"),
            ("[model]\nprice_input = nan", "a number of US dollars from 0"),
            ("[model]\nmax_output = 64001", "`model.max_output_ceiling` (64000)"),
            ("daemon = 3", "`daemon` is of type integer; expected a section"),
            ("[compact]\nkeep_min_tokens = 50000", "must not be greater than"),
            ("[daemon", "is not valid TOML: line 1"),
            ("[daemon]\nsocket = true\nlisten =", "is not valid TOML: line 3"),
        ] {
            let error = Case::new(file).load(&Overrides::default()).unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        }
    }

    /// An API key in place of its variable's name is rejected and never shown.
    #[test]
    fn a_misplaced_key_is_never_shown() {
        let key = "sk-ant-canary";
        for (file, expect) in [
            (format!("api_key_env = '{key}'"), "`model.api_key_env` is not valid"),
            (format!("api_key_command = ['{key}']"), "`model.api_key_command` is not valid"),
            (format!("api_key_command = echo {key}"), "is not valid TOML: line 2"),
            (format!("api_key_command = 'echo {key}"), "is not valid TOML: line 2"),
            (format!("api_key_command = \"\\{key}\""), "is not valid TOML: line 2"),
        ] {
            let case = Case::new(&format!("[model]\n{file}"));
            let error = case.load(&Overrides::default()).unwrap_err();
            assert!(error.to_string().contains(expect), "{error}");
            assert!(!format!("{error:?}").contains("canary"), "{error:?}");
        }
        let variable = Case::new("").with("BETHINK_MODEL__API_KEY_ENV", key);
        let error = variable.load(&Overrides::default()).unwrap_err();
        assert!(!format!("{error:?}").contains("canary"), "{error:?}");
        let case =
            Case::new(&format!("[model]\napi_key = '{key}'\napi_key_command = 'echo {key}'"));
        let loaded = case.load(&Overrides::default()).unwrap();
        assert_eq!(loaded.warnings[0].key, "model.api_key");
        assert_eq!(loaded.warnings[0].similar.as_deref(), Some("model.api_key_env"));
        assert!(!format!("{loaded:?}").contains("canary"));
    }

    #[test]
    fn a_databases_password_is_never_shown() {
        let file =
            "[store]\nurl = 'postgres://ann:canary@db/notes'\npassword_command = 'echo canary'";
        let loaded = Case::new(file).load(&Overrides::default()).unwrap();
        assert_eq!(loaded.settings.store.url, "postgres://ann:canary@db/notes");
        assert!(!format!("{loaded:?}").contains("canary"), "{loaded:?}");
        let case = Case::new("").with("BETHINK_STORE__URL", "postgres://ann:canary@db/notes");
        assert!(!format!("{:?}", case.load(&Overrides::default())).contains("canary"));
        let error = Case::new("[store]\nurl = ['canary']").load(&Overrides::default()).unwrap_err();
        assert!(error.to_string().contains("`store.url` is not valid"), "{error}");
        assert!(!format!("{error:?}").contains("canary"), "{error:?}");
    }

    #[test]
    fn a_provider_decides_what_is_asked() {
        let load = |file: &str| Case::new(file).load(&Overrides::default()).unwrap().settings.model;
        let none = load("");
        assert!(!none.is_on() && !none.summaries_by_model() && !none.notes_by_model());
        let model = load("[model]\nprovider = 'openai'\nnotes = 'embedded'");
        assert!(model.summaries_by_model() && !model.notes_by_model());
    }

    #[test]
    fn a_bad_variable_is_named() {
        let case = Case::new("").with("BETHINK_DAEMON__MAX_DEPTH", "99999999999999999999");
        let error = case.load(&Overrides::default()).unwrap_err().to_string();
        assert!(error.contains("BETHINK_DAEMON__MAX_DEPTH"), "{error}");
        assert!(error.contains("from 8 to 1000"), "{error}");
    }

    #[test]
    fn what_is_unknown_warns() {
        let case = Case::new(
            "[daemon]\nlisen = 'x'\n[gateway]\ninject = 'full'\non = true\n[colour]\na = 1",
        );
        let warnings = case.load(&Overrides::default()).unwrap().warnings;
        let keys: Vec<_> = warnings.iter().map(|warning| warning.key.as_str()).collect();
        assert_eq!(keys, ["colour", "daemon.lisen", "gateway.on"]);
        let similar: Vec<_> = warnings.iter().map(|warning| warning.similar.as_deref()).collect();
        assert_eq!(similar, [None, Some("daemon.listen"), None]);
        let names = ["BETHINK_DAEMON__LISTNE", "BETHINK_DAEMON__LISTEN", "BETHINK_HOME", "A__B"];
        let unknown = unknown_variables(names.map(str::to_owned).into_iter());
        assert_eq!(unknown.len(), 1, "{unknown:?}");
        assert_eq!(
            unknown[0].to_string(),
            "the environment variable BETHINK_DAEMON__LISTNE is not a setting and has no effect; did you mean \
             `BETHINK_DAEMON__LISTEN`?"
        );
    }

    #[test]
    fn only_the_file_of_an_argument_has_to_exist() {
        let case = Case::new("").with("BETHINK_CONFIG", "/nonexistent/config.toml");
        assert!(case.load(&Overrides::default()).is_ok());
        let missing = case.dir.path().join("missing.toml");
        let overrides = Overrides { config: Some(missing), ..Overrides::default() };
        assert!(matches!(case.load(&overrides), Err(ConfigError::Read { .. })));
        let no_file = |name: &str| (name == "HOME").then(|| "/nonexistent".to_owned());
        assert!(Settings::load(&no_file, &Overrides::default()).is_ok());
        assert!(matches!(
            Settings::load(&|_| None, &Overrides::default()),
            Err(ConfigError::NoHome)
        ));
    }
}
