//! Where a model is, and how it is spoken to.

use crate::key::KeySource;
use crate::limits::HttpLimits;
use crate::provider::Provider;

/// What a model is opened with.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub provider: Provider,
    /// Another server than the provider's own, as [`Base::parse`](crate::Base::parse) reads it; empty for the own one.
    pub base_url: String,
    pub key: KeySource,
    /// Lets keys and conversations go unencrypted to another machine.
    pub allow_plain_http: bool,
    /// Answers are streamed, so that only silence ends them. Off for servers that have no streams.
    pub streaming: bool,
    pub limits: HttpLimits,
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
            limits: HttpLimits::default(),
        }
    }
}
