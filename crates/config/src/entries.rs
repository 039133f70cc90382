//! Lists the settings with the origin of each value, and changes one of them in the config file.

use std::path::PathBuf;

use toml_edit::{DocumentMut, Item, Table};

use crate::error::{ConfigError, SettingOrigin};
use crate::keys::SettingKey;
use crate::load::{self, Overrides, config_path, config_text};
use crate::settings::{KEYS, Settings};

/// A setting with the value in effect.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingEntry {
    /// `section.key`.
    pub key: String,
    /// The value, or `(set, not shown)` for one that may contain a secret. The URL of a database is shown without its password,
    /// and the URL of a server without a path that may contain a token.
    pub value: toml::Value,
    /// Where the value comes from; `None` for a default.
    pub origin: Option<SettingOrigin>,
}

/// Returns all settings, in the order of the documentation.
pub fn entries(env: &dyn Fn(&str) -> Option<String>) -> Result<Vec<SettingEntry>, ConfigError> {
    let mut settings = Settings::load(env, &Overrides::default())?.settings;
    let (file, text) = config_text(env, None)?.unwrap_or_default();
    let table: toml::Table = text.parse().unwrap_or_default();
    let entries = KEYS.iter().map(|key| {
        let in_file = table.get(key.section).and_then(|section| section.get(key.name)).is_some();
        let origin = match env(&key.variable()) {
            Some(_) => Some(SettingOrigin::Variable(key.variable())),
            None => in_file.then(|| SettingOrigin::File(file.clone())),
        };
        SettingEntry { key: key.path(), value: key.shown(&mut settings), origin }
    });
    Ok(entries.collect())
}

/// Returns the path of the config file, even if the file does not exist.
pub fn file(env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    config_path(env, None)
}

/// Returns the config file's text with one setting changed and everything else unchanged. The whole new text is checked,
/// so that the daemon will accept it.
pub fn with_setting(
    file: &std::path::Path,
    text: &str,
    path: &str,
    given: &str,
) -> Result<String, ConfigError> {
    with_setting_in_env(&|_| None, file, text, path, given)
}

/// Does the same where environment variables override settings of the file on which the new value depends.
pub fn with_setting_in_env(
    env: &dyn Fn(&str) -> Option<String>,
    file: &std::path::Path,
    text: &str,
    path: &str,
    given: &str,
) -> Result<String, ConfigError> {
    let key = path.split_once('.').and_then(|(section, name)| SettingKey::find(section, name));
    let key = key.ok_or_else(|| unknown(path))?;
    let refused = || key.refused(SettingOrigin::Argument("VALUE"), format!("{given:?}"));
    let value = key.parsed(given).ok_or_else(refused)?;
    if !key.put(&mut Settings::default(), &value) {
        return Err(refused());
    }
    let value: toml_edit::Value = value.to_string().parse().map_err(|_| refused())?;
    // Reports a file that is already wrong, with its line.
    load::check(file, text)?;
    let mut document: DocumentMut = text.parse().map_err(|_| refused())?;
    let section = document.entry(key.section).or_insert_with(|| Item::Table(Table::new()));
    let section = section.as_table_like_mut().ok_or_else(refused)?;
    match section.get_mut(key.name).and_then(Item::as_value_mut) {
        Some(there) => {
            // Keeps the comment after the old value.
            let decor = there.decor().clone();
            *there = value;
            *there.decor_mut() = decor;
        }
        None => {
            section.insert(key.name, Item::Value(value));
        }
    }
    let text = document.to_string();
    let mut settings = load::check(file, &text)?;
    if let Some(switch) = SettingKey::find(key.section, "allow_plain_http")
        && let Some(given) = env(&switch.variable())
    {
        switch.put_text(&mut settings, &given, SettingOrigin::Variable(switch.variable()))?;
    }
    match key.is_usable(&mut settings) {
        true => Ok(text),
        false => Err(refused()),
    }
}

/// Returns the error for an unknown key, which lists the keys of its section, or all sections.
pub fn unknown(path: &str) -> ConfigError {
    let section = path.split('.').next().unwrap_or_default();
    let mut allowed: Vec<String> =
        KEYS.iter().filter(|key| key.section == section).map(SettingKey::path).collect();
    if allowed.is_empty() {
        allowed = KEYS.iter().map(|key| format!("{}.KEY", key.section)).collect();
        allowed.dedup();
    }
    ConfigError::UnknownKey { key: path.to_owned(), allowed: allowed.join(", ") }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::keys::HIDDEN;

    fn set(text: &str, key: &str, value: &str) -> Result<String, String> {
        with_setting(Path::new("c.toml"), text, key, value).map_err(|error| error.to_string())
    }

    #[test]
    fn a_setting_is_changed_and_the_rest_stays() {
        let text = "# mine\n[daemon]\nsocket = true # yes\n\n[context]\nwindow = 9000\n";
        let changed = set(text, "daemon.socket", "off").unwrap();
        assert_eq!(changed, text.replace("socket = true", "socket = false"));
        let added = set(text, "memory.layout", "claude").unwrap();
        assert_eq!(added, format!("{text}\n[memory]\nlayout = \"claude\"\n"));
        let windows = "[context]\nwindows = [\"a=9000\", \"b=10000\"]\n";
        for list in ["a=9000, b=10000", "['a=9000', \"b=10000\"]"] {
            assert_eq!(set("", "context.windows", list).unwrap(), windows);
        }
        let host = set("", "daemon.allowed_hosts", "[::1]:4747").unwrap();
        assert_eq!(host, "[daemon]\nallowed_hosts = [\"[::1]:4747\"]\n");
    }

    #[test]
    fn a_setting_that_is_empty_by_default_can_be_emptied() {
        for key in ["store.url", "store.password_command", "model.name", "model.api_key_env"] {
            let (section, name) = key.split_once('.').unwrap();
            let emptied = set("", key, "").unwrap();
            assert_eq!(emptied, format!("[{section}]\n{name} = \"\"\n"));
        }
        assert!(set("", "daemon.listen", "").unwrap_err().contains("expected auto"));
        assert!(set("", "capture.exclude", "").unwrap().contains("exclude = []"));
    }

    #[test]
    fn errors_say_which_keys_and_values_are_valid() {
        let check = |text: &str, key: &str, value: &str, expect: &str| {
            let error = set(text, key, value).unwrap_err();
            assert!(error.contains(expect), "{error}");
        };
        check("", "memory.layuot", "claude", "memory.layout");
        check("", "colour.on", "true", "daemon.KEY, store.KEY, context.KEY");
        check("", "memory", "true", "memory.layout");
        check("", "memory.layout", "mine", "expected \"bethink\" or \"claude\"");
        check("", "capture.exclude", "[\"/a\"", "on the command line");
        check("", "daemon.max_depth", "deep", "a whole number from 8 to 1000");
        check("", "compact.keep_min_tokens", "50000", "must not be greater than");
        check("[daemon", "daemon.socket", "true", "line 1");
        check("", "model.api_key_env", "sk-canary", "is not valid");
        check("", "store.url", "postgres://ann:pw@db:notaport/x", "`store.url` is not valid");
    }

    #[test]
    fn a_servers_url_can_be_set_only_if_it_can_be_used() {
        let urls = [
            ("https://host", true),
            ("http://127.0.0.1:8080/v1", true),
            ("http://[::1]:80", true),
            ("", true),
            ("ftp://x", false),
            ("notaurl", false),
            ("127.0.0.1:45111", false),
            ("http://10.1.2.3:80", false),
            ("https://user:canary@host", false),
            ("https://host?key=canary", false),
        ];
        for key in ["model.base_url", "gateway.anthropic_url"] {
            for (url, is_usable) in urls {
                let done = set("", key, url);
                assert_eq!(done.is_ok(), is_usable, "{url}: {done:?}");
                assert!(!done.is_err_and(|error| error.contains("canary")), "{url}");
            }
        }
        let allowed = "[model]\nallow_plain_http = true\n";
        assert!(set(allowed, "model.base_url", "http://10.1.2.3:80").is_ok());
        let variable =
            |name: &str| (name == "BETHINK_MODEL__ALLOW_PLAIN_HTTP").then(|| "true".to_owned());
        for (key, is_usable) in [("model.base_url", true), ("gateway.openai_url", false)] {
            let file = Path::new("c.toml");
            let done = with_setting_in_env(&variable, file, "", key, "http://10.1.2.3:80");
            assert_eq!(done.is_ok(), is_usable, "{key}: {done:?}");
        }
        // A value that cannot be used does not keep other settings from being changed.
        assert!(set("[model]\nbase_url = \"ftp://x\"\n", "daemon.socket", "off").is_ok());
    }

    #[test]
    fn what_would_keep_the_daemon_from_starting_is_refused() {
        for (key, wrong, right) in [
            ("daemon.listen", "0.0.0.0:1", "[::1]:4747"),
            ("daemon.listen", "foo", "localhost:0"),
            ("daemon.log", "nonsense===", "warn,bethink_gateway=debug,rmcp[call]=trace"),
            ("daemon.log", "bethink=loud", "debug"),
            ("daemon.log", "hyper=6", "info,hyper=3"),
            ("daemon.log", "=", "info,h2="),
            ("memory.root", "rel/mem", "/mem"),
            ("team.dir", "~/team", "/team"),
        ] {
            assert!(set("", key, wrong).unwrap_err().contains(key), "{key} {wrong}");
            assert!(set("", key, right).is_ok(), "{key} {right}");
        }
    }

    #[test]
    fn entries_name_where_values_come_from() {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("config.toml");
        std::fs::write(
            &config,
            "[model]\napi_key_command = 'echo canary'\nbase_url = 'http://u:canary@h'\n[store]\nurl = 'postgres://a:canary@b/c'\n\
             [gateway]\nopenai_url = 'https://h:8443/canary/v1'\ngemini_url = 'http://127.0.0.1:80/v1'\n",
        )
        .unwrap();
        let env = |name: &str| match name {
            "HOME" => Some(dir.path().display().to_string()),
            "BETHINK_CONFIG" => Some(config.display().to_string()),
            "BETHINK_DAEMON__SOCKET" => Some("0".to_owned()),
            _ => None,
        };
        let entries = entries(&env).unwrap();
        assert_eq!(entries.len(), KEYS.len());
        let of = |key: &str| entries.iter().find(|entry| entry.key == key).unwrap();
        assert_eq!(of("model.api_key_command").origin, Some(SettingOrigin::File(config.clone())));
        assert_eq!(of("model.api_key_command").value, toml::Value::from(HIDDEN));
        assert_eq!(of("store.url").value, toml::Value::from("postgres://a@b/c"));
        assert_eq!(of("model.base_url").value, toml::Value::from(HIDDEN));
        assert_eq!(of("gateway.openai_url").value, toml::Value::from("https://h:8443/…"));
        assert_eq!(of("gateway.gemini_url").value, toml::Value::from("http://127.0.0.1:80/v1"));
        let variable = SettingOrigin::Variable("BETHINK_DAEMON__SOCKET".to_owned());
        assert_eq!(of("daemon.socket").origin, Some(variable));
        assert_eq!(of("daemon.socket").value, toml::Value::from(false));
        assert_eq!(
            (of("context.window").value.to_string().as_str(), &of("context.window").origin),
            ("200000", &None)
        );
        assert!(!format!("{entries:?}").contains("canary"));
    }
}
