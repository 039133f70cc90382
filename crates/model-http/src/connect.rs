//! Makes the connections for bethink's own calls and for forwarded calls: decides which addresses and proxies are allowed, and
//! never follows redirects.

use std::sync::{Arc, Once, OnceLock};

use bethink_model::ErrorClass;
use reqwest::Client;

use crate::base::Base;
use crate::limits::{HttpLimits, POOL_IDLE};
use crate::resolve::{GuardedResolver, Lookup, system};
use crate::trouble::ProviderTrouble;

/// The HTTP client of one server. Built at its first use, so that a daemon without a model needs no CA
/// certificates.
#[derive(Debug)]
pub(crate) struct Connector {
    client: OnceLock<Client>,
    lookup: Lookup,
}

impl Connector {
    pub(crate) fn new() -> Self {
        Self { client: OnceLock::new(), lookup: system }
    }

    #[cfg(test)]
    pub(crate) fn looking_up(lookup: Lookup) -> Self {
        Self { lookup, ..Self::new() }
    }

    pub(crate) fn get(&self, base: &Base, limits: &HttpLimits) -> Result<&Client, ProviderTrouble> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let built = self.build(base, limits).map_err(|e| {
            let cause =
                std::error::Error::source(&e).map_or_else(String::new, |c| format!(": {c}"));
            let what =
                format!("could not set up TLS{cause}; check that CA certificates are installed");
            ProviderTrouble::Detected(ErrorClass::Unreachable, what)
        })?;
        Ok(self.client.get_or_init(|| built))
    }

    fn build(&self, base: &Base, limits: &HttpLimits) -> Result<Client, reqwest::Error> {
        install_tls();
        let guarded = GuardedResolver { loopback_only: base.is_loopback(), lookup: self.lookup };
        let encrypted = base.url().scheme() == "https";
        let builder = Client::builder()
            .user_agent(concat!("bethink/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .https_only(encrypted)
            .connect_timeout(limits.connect)
            .pool_idle_timeout(POOL_IDLE)
            .dns_resolver(Arc::new(guarded));
        // A proxy could read unencrypted traffic, and is not needed for connections to this machine.
        let builder = if encrypted && !base.is_loopback() { builder } else { builder.no_proxy() };
        if encrypted {
            builder.build()
        } else {
            builder.tls_backend_preconfigured(no_trust()).build()
        }
    }
}

/// Installs `ring` as the TLS provider of the process, unless another provider has already been installed.
fn install_tls() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

/// Returns a TLS configuration for connections that are never encrypted. This avoids reading the system's certificates,
/// which may not exist.
fn no_trust() -> rustls::ClientConfig {
    rustls::ClientConfig::builder()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth()
}
