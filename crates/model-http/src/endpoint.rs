//! The settings for calling a model.

use crate::key::KeySource;
use crate::limits::HttpLimits;
use crate::provider::Provider;

/// A model's server, its key, and how to call it.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub provider: Provider,
    /// The server, as [`Base::parse`](crate::Base::parse) reads it; empty for the provider's own server.
    pub base_url: String,
    pub key: KeySource,
    /// Whether keys and conversations may be sent unencrypted to another machine.
    pub allow_plain_http: bool,
    /// Whether to request streamed answers, which time out only if no data arrives; `false` for servers that cannot
    /// stream.
    pub streaming: bool,
    pub limits: HttpLimits,
}

impl Endpoint {
    /// Creates the endpoint of the provider's own server, with the key from its usual environment variable.
    pub fn own(provider: Provider) -> Self {
        Self {
            provider,
            base_url: String::new(),
            key: KeySource::Env(provider.usual_key_env().to_owned()),
            allow_plain_http: false,
            streaming: true,
            limits: HttpLimits::default(),
        }
    }
}
