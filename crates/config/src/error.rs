//! Errors in settings, and where a value came from.

use std::fmt;
use std::path::PathBuf;

/// Where a value came from.
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
    #[error("could not find a home directory: set BETHINK_HOME or HOME")]
    NoHome,
    #[error("could not read the config file {file}")]
    Read {
        file: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// The line itself is not shown: it may contain a secret.
    #[error("{file} is not valid TOML: line {line}: {problem}")]
    Syntax { file: PathBuf, line: usize, problem: String },
    #[error("{origin}: `{key}` is {given}; allowed is {allowed}")]
    Value { origin: SettingOrigin, key: String, given: String, allowed: String },
    #[error("unknown setting `{key}`; known are {allowed}")]
    UnknownKey { key: String, allowed: String },
    #[error("`{low}` ({low_value}) may not be more than `{high}` ({high_value})")]
    Order { low: &'static str, low_value: u64, high: &'static str, high_value: u64 },
}
