//! The providers, and errors in their settings.

use std::fmt;

/// A provider, which determines the wire format. bethink's own calls do not use Gemini.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    Anthropic,
    OpenAi,
    Gemini,
}

impl Provider {
    /// Returns the provider with this name, if bethink's own calls can use that provider.
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
            Self::Gemini => "gemini",
        }
    }

    /// Returns the environment variable from which the provider's own tools read the key.
    pub fn usual_key_env(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::OpenAi => "OPENAI_API_KEY",
            Self::Gemini => "GEMINI_API_KEY",
        }
    }

    /// Returns the name of the key's header, and the prefix of its value.
    pub(crate) fn key_header(self) -> (&'static str, &'static str) {
        match self {
            Self::Anthropic => ("x-api-key", ""),
            Self::OpenAi => ("authorization", "Bearer "),
            Self::Gemini => ("x-goog-api-key", ""),
        }
    }

    /// Returns the URL of the provider's own server.
    pub(crate) fn own_base(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Gemini => "https://generativelanguage.googleapis.com",
        }
    }
}

/// The format of a request and its answer. OpenAI has two formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireFormat {
    Messages,
    ChatCompletions,
    Responses,
    GenerateContent {
        /// Index of the answer's message in its conversation. The IDs of the answer's calls are derived from this
        /// index.
        message: usize,
    },
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Invalid settings. Never shows a base URL, because it may contain a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    #[error("unknown provider \"{0}\": use \"anthropic\" or \"openai\"")]
    Provider(String),
    #[error(
        "base_url is not a valid address ({0}): use one like https://host or http://127.0.0.1:8080/v1"
    )]
    Address(String),
    #[error(
        "base_url must not contain a user name or a password: remove them, and set api_key_env or api_key_command"
    )]
    Credentials,
    #[error(
        "base_url must not have a query or a fragment: only scheme, host, port and a path prefix are allowed"
    )]
    Query,
    #[error(
        "base_url has an invalid path: only letters, digits and - . _ ~ between single slashes are allowed, such as /v1"
    )]
    Path,
    #[error(
        "base_url uses plain http to {host}, so others on the network could read the key and the conversation: use https, or set allow_plain_http = true"
    )]
    PlainHttp { host: String },
    #[error(
        "base_url points to {host}, a link-local or metadata address, which never serves a model"
    )]
    ForbiddenHost { host: String },
    #[error("api_key_env is not a valid variable name: only letters, digits and _ are allowed")]
    KeyName,
    #[error("api_key_command is empty")]
    KeyCommand,
    #[error("connect_timeout_ms and idle_timeout_ms must be greater than 0")]
    NoTime,
}
