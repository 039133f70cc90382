//! Where a model is, and how it is spoken to.

use std::fmt;
use std::sync::Arc;

use bethink_model::Model;

use crate::anthropic::Anthropic;
use crate::base::Base;
use crate::call::HttpModel;
use crate::key::{Keeper, KeySource};
use crate::limits::Limits;
use crate::line::Line;
use crate::openai::OpenAi;

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

/// What a model is opened with.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub provider: Provider,
    /// Another server than the provider's own, as [`Base::parse`] reads it; empty for the own one.
    pub base_url: String,
    pub key: KeySource,
    /// Lets keys and conversations go unencrypted to another machine.
    pub allow_plain_http: bool,
    /// Answers are streamed, so that only silence ends them. Off for servers that have no streams.
    pub streaming: bool,
    pub limits: Limits,
}

impl Endpoint {
    /// The provider's own server, with the key from its usual variable.
    pub fn own(provider: Provider) -> Self {
        Self {
            provider,
            base_url: String::new(),
            key: KeySource::Env(provider.usual_key_env().to_owned()),
            allow_plain_http: false,
            streaming: true,
            limits: Limits::default(),
        }
    }
}

/// A model behind `endpoint`. Nothing is connected, read or asked for until the first call.
pub fn open(endpoint: &Endpoint) -> Result<Arc<dyn Model>, EndpointError> {
    let base = Base::parse(endpoint.provider, &endpoint.base_url, endpoint.allow_plain_http)?;
    endpoint.key.check()?;
    if endpoint.limits.connect.is_zero() || endpoint.limits.idle.is_zero() {
        return Err(EndpointError::NoTime);
    }
    let keeper = Keeper::new(endpoint.key.clone(), base.url().origin());
    let to_openai = base.is_openai();
    let line = Line::new(base, keeper, endpoint.limits);
    Ok(match endpoint.provider {
        Provider::Anthropic => Arc::new(HttpModel::new(Anthropic, line, endpoint.streaming)),
        Provider::OpenAi => {
            Arc::new(HttpModel::new(OpenAi::new(to_openai), line, endpoint.streaming))
        }
    })
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
