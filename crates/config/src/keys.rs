//! A setting's key: the field for its value, and the allowed values.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use url::{Host, Url};

use crate::database_url;
use crate::error::{ConfigError, SettingOrigin};
use crate::paths::is_path_pattern;
use crate::settings::{KEYS, Settings};

/// Shown in place of a value that may contain a secret.
pub(crate) const HIDDEN: &str = "(set, not shown)";
/// Completes "`KEY` is …" in errors, in place of a value that may contain a secret.
const INVALID: &str = "not valid (the value is not shown, because it may contain a secret)";
/// How to write a list outside the config file.
const LIST: &str = "(on the command line or in an environment variable: separated by commas, or a TOML list such as '[\"a\", \"b\"]')";

pub(crate) struct SettingKey {
    pub(crate) section: &'static str,
    pub(crate) name: &'static str,
    pub(crate) place: KeyTarget,
}

/// Gives access to a setting's field, by the type of its value.
#[derive(Clone, Copy)]
pub(crate) enum KeyTarget {
    /// A whole number between two bounds, inclusive.
    Whole(fn(&mut Settings) -> &mut u64, u64, u64),
    /// A percentage from 0 to 100.
    Percent(fn(&mut Settings) -> &mut f64),
    Flag(fn(&mut Settings) -> &mut bool),
    /// Text. It may be empty if the default is.
    Text(fn(&mut Settings) -> &mut String),
    /// The address to listen on, which only programs of this machine can reach.
    Listen(fn(&mut Settings) -> &mut String),
    LogFilter(fn(&mut Settings) -> &mut String),
    /// An absolute path, because the daemon's current directory is not the user's. It may be empty.
    Directory(fn(&mut Settings) -> &mut String),
    /// The URL of a server, which is shown only if it is valid, and without an unusual path, because both may contain a secret.
    /// The daemon starts with an invalid one, and reports it: it can work without the server. It may be empty.
    Url(fn(&mut Settings) -> &mut String),
    /// One of a few words.
    Either(fn(&mut Settings) -> &mut String, &'static [&'static str]),
    /// The name of an environment variable. A value that is not a valid name is never shown, because it may be a misplaced
    /// secret. If empty, no variable is used.
    Variable(fn(&mut Settings) -> &mut String),
    /// A string that is never shown, because it may contain a secret. It may be empty if the default is.
    Hidden(fn(&mut Settings) -> &mut String),
    /// The URL of a database, which is shown only without its password. If empty, history is in the SQLite file in the home.
    Database(fn(&mut Settings) -> &mut String),
    /// US dollars, up to a million.
    Money(fn(&mut Settings) -> &mut f64),
    Names(fn(&mut Settings) -> &mut Vec<String>),
    /// Patterns of paths.
    Paths(fn(&mut Settings) -> &mut Vec<String>),
    /// Numbers of tokens, by the beginning of a model's name.
    Windows(fn(&mut Settings) -> &mut Vec<(String, u64)>),
}

impl SettingKey {
    pub(crate) fn find(section: &str, name: &str) -> Option<&'static SettingKey> {
        KEYS.iter().find(|key| key.section == section && key.name == name)
    }

    /// Returns `section.key`.
    pub(crate) fn path(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    /// Returns `BETHINK_<SECTION>__<KEY>`.
    pub(crate) fn variable(&self) -> String {
        format!("BETHINK_{}__{}", self.section, self.name).to_uppercase()
    }

    fn allowed(&self) -> String {
        match self.place {
            KeyTarget::Whole(_, low, high) => format!("a whole number from {low} to {high}"),
            KeyTarget::Percent(_) => "a number from 0 to 100".into(),
            KeyTarget::Flag(_) => "true or false".into(),
            KeyTarget::Text(field) | KeyTarget::Hidden(field) => match may_be_empty(field) {
                true => "a string".into(),
                false => "a string that is not empty".into(),
            },
            KeyTarget::Listen(_) => "auto, or IP:PORT or localhost:PORT of this machine only, such as 127.0.0.1:4750, because sessions contain whatever the agent has read".into(),
            KeyTarget::LogFilter(_) => {
                "error, warn, info, debug, trace or off; or parts of the program with their levels, such as info,bethink_gateway=debug".into()
            }
            KeyTarget::Directory(_) => "an absolute path, or an empty string for the default".into(),
            KeyTarget::Url(_) => format!(
                "a URL such as https://host or http://127.0.0.1:8080, without user name, password, query and fragment, or an empty \
                 string for the default; http to another machine only after `{}.allow_plain_http` is set to true",
                self.section
            ),
            KeyTarget::Database(_) => database_url::allowed(),
            KeyTarget::Either(_, words) => either(words),
            KeyTarget::Variable(_) => {
                "the name of an environment variable (letters, digits and _), not a key".into()
            }
            KeyTarget::Money(_) => format!("a number of US dollars from 0 to {MAX_MONEY}"),
            KeyTarget::Names(_) => format!("a list of strings {LIST}"),
            KeyTarget::Paths(_) => format!(
                "a list of paths that are absolute or begin with `~/`, in which `*` stands for any part of a name and `**` \
                 for any directories {LIST}"
            ),
            KeyTarget::Windows(_) => format!(
                "a list of \"model=tokens\", each with {} to {} tokens {LIST}",
                WINDOW.0, WINDOW.1
            ),
        }
    }

    pub(crate) fn refused(&self, origin: SettingOrigin, given: String) -> ConfigError {
        let given = match self.place {
            KeyTarget::Variable(_)
            | KeyTarget::Hidden(_)
            | KeyTarget::Database(_)
            | KeyTarget::Url(_) => INVALID.into(),
            _ => given,
        };
        ConfigError::Value { origin, key: self.path(), given, allowed: self.allowed() }
    }

    /// Stores a value from a file. Returns `false` if the value is not allowed.
    pub(crate) fn put(&self, settings: &mut Settings, value: &toml::Value) -> bool {
        match self.place {
            KeyTarget::Whole(place, low, high) => {
                let whole = value.as_integer().and_then(|n| u64::try_from(n).ok());
                set(place(settings), whole.filter(|n| (low..=high).contains(n)))
            }
            KeyTarget::Percent(place) => set(place(settings), number(value, 100.0)),
            KeyTarget::Money(place) => set(place(settings), number(value, MAX_MONEY)),
            KeyTarget::Flag(place) => set(place(settings), value.as_bool()),
            KeyTarget::Text(place) | KeyTarget::Hidden(place) => {
                let is_allowed = |text: &str| !text.is_empty() || may_be_empty(place);
                set(place(settings), text(value, is_allowed))
            }
            KeyTarget::Listen(place) => set(place(settings), text(value, is_listen)),
            KeyTarget::LogFilter(place) => set(place(settings), text(value, is_log_filter)),
            KeyTarget::Directory(place) => {
                let is_allowed = |text: &str| text.is_empty() || Path::new(text).is_absolute();
                set(place(settings), text(value, is_allowed))
            }
            KeyTarget::Url(place) => set(place(settings), text(value, |_| true)),
            KeyTarget::Database(place) => {
                let is_allowed = |text: &str| text.is_empty() || database_url::is_valid(text);
                set(place(settings), text(value, is_allowed))
            }
            KeyTarget::Either(place, words) => {
                set(place(settings), text(value, |text| words.contains(&text)))
            }
            KeyTarget::Variable(place) => {
                let is_allowed = |text: &str| text.is_empty() || is_variable(text);
                set(place(settings), text(value, is_allowed))
            }
            KeyTarget::Names(place) => set(place(settings), names(value)),
            KeyTarget::Paths(place) => {
                let paths = names(value);
                set(
                    place(settings),
                    paths.filter(|paths| paths.iter().all(|path| is_path_pattern(path))),
                )
            }
            KeyTarget::Windows(place) => set(place(settings), windows(value)),
        }
    }

    /// Returns whether these settings have a value that can be used, where the daemon would start with any.
    pub(crate) fn is_usable(&self, settings: &mut Settings) -> bool {
        let plain_http = match self.section {
            "model" => settings.model.allow_plain_http,
            _ => settings.gateway.allow_plain_http,
        };
        match self.place {
            KeyTarget::Url(place) => is_server_url(place(settings), plain_http),
            _ => true,
        }
    }

    /// Stores the text of an environment variable or argument.
    pub(crate) fn put_text(
        &self,
        settings: &mut Settings,
        given: &str,
        origin: SettingOrigin,
    ) -> Result<(), ConfigError> {
        match self.parsed(given).is_some_and(|value| self.put(settings, &value)) {
            true => Ok(()),
            false => Err(self.refused(origin, format!("{given:?}"))),
        }
    }

    /// Parses the text of an environment variable or argument as a value of the key's type.
    pub(crate) fn parsed(&self, given: &str) -> Option<toml::Value> {
        let text = given.trim();
        match self.place {
            KeyTarget::Whole(..) => text.parse().ok().map(toml::Value::Integer),
            KeyTarget::Percent(_) | KeyTarget::Money(_) => {
                text.parse().ok().map(toml::Value::Float)
            }
            KeyTarget::Flag(_) => match text {
                "true" | "1" | "on" => Some(toml::Value::Boolean(true)),
                "false" | "0" | "off" => Some(toml::Value::Boolean(false)),
                _ => None,
            },
            KeyTarget::Text(_)
            | KeyTarget::Hidden(_)
            | KeyTarget::Listen(_)
            | KeyTarget::LogFilter(_)
            | KeyTarget::Directory(_)
            | KeyTarget::Url(_)
            | KeyTarget::Database(_)
            | KeyTarget::Either(..)
            | KeyTarget::Variable(_) => Some(toml::Value::String(text.to_owned())),
            KeyTarget::Names(_) | KeyTarget::Paths(_) | KeyTarget::Windows(_) => {
                if is_toml_list(text) {
                    return text.parse().ok();
                }
                let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
                Some(toml::Value::Array(names.map(Into::into).collect()))
            }
        }
    }

    /// Returns the value in effect, unless it may contain a secret.
    pub(crate) fn shown(&self, settings: &mut Settings) -> toml::Value {
        match self.place {
            KeyTarget::Whole(place, ..) => match i64::try_from(*place(settings)) {
                Ok(whole) => toml::Value::from(whole),
                Err(_) => toml::Value::from(i64::MAX),
            },
            KeyTarget::Percent(place) | KeyTarget::Money(place) => (*place(settings)).into(),
            KeyTarget::Flag(place) => (*place(settings)).into(),
            KeyTarget::Hidden(place) if !place(settings).is_empty() => HIDDEN.into(),
            KeyTarget::Database(place) => database_url::without_password(place(settings)).into(),
            KeyTarget::Url(place) => shown_url(place(settings)).into(),
            KeyTarget::Text(place)
            | KeyTarget::Listen(place)
            | KeyTarget::LogFilter(place)
            | KeyTarget::Directory(place)
            | KeyTarget::Hidden(place)
            | KeyTarget::Either(place, _)
            | KeyTarget::Variable(place) => place(settings).clone().into(),
            KeyTarget::Names(place) | KeyTarget::Paths(place) => place(settings).clone().into(),
            KeyTarget::Windows(place) => {
                let windows = place(settings).iter();
                windows
                    .map(|(model, tokens)| format!("{model}={tokens}"))
                    .collect::<Vec<_>>()
                    .into()
            }
        }
    }
}

/// Returns the address that a setting such as `localhost:4750` names, if only this machine can reach it.
pub fn loopback(listen: &str) -> Option<SocketAddr> {
    let address = match listen.strip_prefix("localhost:") {
        Some(port) => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port.parse().ok()?),
        None => listen.parse().ok()?,
    };
    address.ip().is_loopback().then_some(address)
}

fn is_listen(text: &str) -> bool {
    text == "auto" || loopback(text).is_some()
}

/// Returns whether each part of a log filter is a level, the name of a part of the program, or both. A level is a word or a
/// number; an empty one means every level. Parts with spans are left to the log.
fn is_log_filter(text: &str) -> bool {
    let levels =
        ["", "off", "error", "warn", "info", "debug", "trace", "0", "1", "2", "3", "4", "5"];
    let is_level = |text: &str| levels.contains(&text.to_ascii_lowercase().as_str());
    let is_target =
        |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_:-".contains(c));
    !text.is_empty()
        && text.split(',').map(str::trim).all(|part| match part.split_once('=') {
            _ if part.contains(['[', ']', '{', '}']) => true,
            Some((target, level)) => !target.is_empty() && is_target(target) && is_level(level),
            None => is_level(part) || is_target(part),
        })
}

/// Returns whether this is the URL of a server, or empty.
fn is_server_url(text: &str, allow_plain_http: bool) -> bool {
    if text.is_empty() {
        return true;
    }
    let Ok(url) = Url::parse(text) else { return false };
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => return false,
    };
    let is_encrypted = url.scheme() == "https";
    // A user name would also be in a text such as `host@`, which has an empty one.
    let is_bare = url.query().is_none() && url.fragment().is_none() && !text.contains('@');
    is_bare && (is_encrypted || url.scheme() == "http" && (is_here || allow_plain_http))
}

/// Returns a server's URL without its path, unless that is a usual one.
fn shown_url(text: &str) -> String {
    match Url::parse(text) {
        _ if !is_server_url(text, true) => HIDDEN.to_owned(),
        Ok(url) if !["", "/v1"].contains(&url.path().trim_end_matches('/')) => {
            format!("{}/…", url.origin().ascii_serialization())
        }
        _ => text.to_owned(),
    }
}

fn set<T>(place: &mut T, value: Option<T>) -> bool {
    value.map(|value| *place = value).is_some()
}

/// Returns the value if it is a number from 0 to `most`.
fn number(value: &toml::Value, most: f64) -> Option<f64> {
    let number = value.as_float().or(value.as_integer().map(|n| n as f64));
    number.filter(|n| (0.0..=most).contains(n))
}

/// Returns a string without surrounding white space, if it is allowed.
fn text(value: &toml::Value, is_allowed: impl Fn(&str) -> bool) -> Option<String> {
    value.as_str().map(str::trim).filter(|text| is_allowed(text)).map(str::to_owned)
}

/// Returns whether the empty string is a value, which then means that the setting is not set.
fn may_be_empty(field: fn(&mut Settings) -> &mut String) -> bool {
    field(&mut Settings::default()).is_empty()
}

/// Returns whether the text of a list is in TOML. The host `[::1]` also begins with a bracket.
fn is_toml_list(text: &str) -> bool {
    text.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with(['"', '\'', ']']))
}

/// Returns whether a name is a valid variable name in POSIX: letters, digits and underscores, not starting with a
/// digit.
fn is_variable(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| !c.is_ascii_digit()) && name.chars().all(plain)
}

/// Returns a list such as `"a", "b" or "c"`.
fn either(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("{word:?}")).collect();
    match quoted.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => quoted.concat(),
    }
}

fn names(value: &toml::Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
}

fn windows(value: &toml::Value) -> Option<Vec<(String, u64)>> {
    let window = |text: String| {
        let (model, tokens) = text.split_once('=')?;
        let tokens = tokens.trim().parse().ok().filter(|n| (WINDOW.0..=WINDOW.1).contains(n))?;
        let model = model.trim().to_owned();
        (!model.is_empty()).then_some((model, tokens))
    };
    names(value)?.into_iter().map(window).collect()
}

/// Maximum number of tokens: far above every model's window, but low enough that sums do not overflow.
pub(crate) const MAX_TOKENS: u64 = 100_000_000;
/// Smallest and largest context window of a session, in tokens.
const WINDOW: (u64, u64) = (8_000, MAX_TOKENS);
pub(crate) const MANY: u64 = 1_000_000;
/// Maximum duration, in milliseconds: a day. A longer duration was probably given in the wrong unit.
pub(crate) const DAY_MS: u64 = 86_400_000;
/// Maximum amount, in US dollars, per day or per million tokens. A larger amount is certainly a mistake.
const MAX_MONEY: f64 = 1_000_000.0;
/// Whether the configured model or the built-in algorithm is used.
pub(crate) const STRATEGIES: &[&str] = &["model", "embedded"];
pub(crate) const WHO_OR_NOBODY: &[&str] = &["model", "embedded", "off"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_served() {
        for listen in ["127.0.0.1:0", "127.0.0.2:80", "[::1]:4747", "localhost:4747"] {
            assert!(loopback(listen).is_some(), "{listen}");
        }
        for listen in [
            "0.0.0.0:4747",
            "[::]:4747",
            "192.168.1.2:1",
            "10.0.0.1:1",
            "",
            "4747",
            "127.0.0.1",
            "localhost:x",
            "localhost:99999",
            "example.org:80",
        ] {
            assert!(loopback(listen).is_none(), "{listen}");
        }
    }
}
