//! Which provider is spoken to, and the settings with which none can be.

use std::fmt;

/// Which wire format is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    Anthropic,
    OpenAi,
}

impl Provider {
    pub fn parse(name: &str) -> Result<Self, EndpointError> {
        match name {
            "anthropic" => Ok(Self::Anthropic),
            "openai" => Ok(Self::OpenAi),
            other => Err(EndpointError::Provider(other.chars().take(40).collect())),
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        }
    }

    /// The variable in which the provider's own tools look for the key.
    pub fn usual_key_env(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::OpenAi => "OPENAI_API_KEY",
        }
    }

    /// The header that carries a key, and what stands before the key in it.
    pub(crate) fn key_header(self) -> (&'static str, &'static str) {
        match self {
            Self::Anthropic => ("x-api-key", ""),
            Self::OpenAi => ("authorization", "Bearer "),
        }
    }

    /// The provider's own server.
    pub(crate) fn own_base(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::OpenAi => "https://api.openai.com/v1",
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Settings with which no model can be asked. Never shows a base URL, since one may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    #[error("provider \"{0}\" is unknown: use \"anthropic\" or \"openai\"")]
    Provider(String),
    #[error("base_url can't be read ({0}): write it like https://host or http://127.0.0.1:8080/v1")]
    Address(String),
    #[error(
        "base_url names a user or a password: take them out, and give the key by api_key_env or api_key_command"
    )]
    Credentials,
    #[error(
        "base_url has a query or a fragment: only scheme, host, port and a path before the provider's own are allowed"
    )]
    Query,
    #[error(
        "the path of base_url can't be used: letters, digits and - . _ ~ between single slashes are allowed, such as /v1"
    )]
    Path,
    #[error(
        "base_url is plain http to {host}, where anybody on the way could read the key and the conversation: use https, or set allow_plain_http = true"
    )]
    PlainHttp { host: String },
    #[error(
        "base_url leads to {host}, a link-local or metadata address, which never serves a model"
    )]
    ForbiddenHost { host: String },
    #[error("api_key_env is no name of a variable: letters, digits and _ are allowed")]
    KeyName,
    #[error("api_key_command is empty")]
    KeyCommand,
    #[error("connect_timeout_ms and idle_timeout_ms must be more than 0")]
    NoTime,
}
