//! Errors in settings, and the origin of a value.

use std::fmt;
use std::path::PathBuf;

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    File(PathBuf),
    Variable(String),
    Argument(&'static str),
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Variable(name) => write!(f, "the environment variable {name}"),
            Self::Argument(name) => write!(f, "the argument {name}"),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("could not find a home directory; set BETHINK_HOME or HOME")]
    NoHome,
    #[error("could not read the config file {file}")]
    Read {
        file: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// The line is not shown, because it may contain a secret.
    #[error("{file} is not valid TOML: line {line}: {problem}")]
    Syntax { file: PathBuf, line: usize, problem: String },
    #[error("{origin}: `{key}` is {given}; expected {allowed}")]
    Value { origin: SettingOrigin, key: String, given: String, allowed: String },
    #[error("unknown setting `{key}`; the settings are {allowed}")]
    UnknownKey { key: String, allowed: String },
    #[error("`{low}` ({low_value}) must not be greater than `{high}` ({high_value})")]
    Order { low: &'static str, low_value: u64, high: &'static str, high_value: u64 },
}
