//! The provider's server that requests are forwarded to, and the credential that is sent with them.

use bethink_config::GatewaySettings;
use bethink_model_http::{
    Endpoint, EndpointError, Forwarder, HttpLimits, KeySource, OutgoingRequest, Provider,
};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::fault::GatewayFault;
use crate::headers;

#[derive(Debug)]
pub(crate) struct Upstream {
    provider: Provider,
    /// Invalid settings are reported to each client that sends a request.
    forwarder: Result<Arc<Forwarder>, EndpointError>,
}

/// How a client was authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientAuth {
    /// By the daemon's token, which the client sent as its API key, or by the daemon's socket.
    Token,
    /// By a secret in the path, so the client's API key is for the provider.
    Capability,
}

impl Upstream {
    pub(crate) fn new(provider: Provider, settings: &GatewaySettings) -> Self {
        let forwarder = Forwarder::open(&endpoint(provider, settings)).map(Arc::new);
        match &forwarder {
            Ok(forwarder) => {
                let (origin, key) = (forwarder.origin(), forwarder.has_key());
                tracing::debug!(wire = provider.as_str(), origin, key, "the gateway is set up");
            }
            Err(error) => {
                tracing::warn!(wire = provider.as_str(), %error, "the gateway's settings for a provider are invalid");
            }
        }
        Self { provider, forwarder }
    }

    pub(crate) fn forwarder(&self) -> Result<&Arc<Forwarder>, GatewayFault> {
        self.forwarder.as_ref().map_err(|error| {
            let name = self.provider.as_str();
            let what = format!(
                "bethink's settings for this provider are invalid: {error}; fix `{name}_url` and the other `{name}_…` settings in [gateway]"
            );
            GatewayFault::new(StatusCode::INTERNAL_SERVER_ERROR, "upstream_settings", what)
                .no_retry()
        })
    }

    /// Returns the request to send, without its body. The guard has already removed the daemon's own token.
    pub(crate) fn outgoing(
        &self,
        parts: &Parts,
        route: &str,
        auth: ClientAuth,
    ) -> Result<OutgoingRequest, GatewayFault> {
        let forwarder = self.forwarder()?;
        let names = credentials(self.provider);
        let own = has_own(&parts.headers, names)?;
        let with_key = forwarder.has_key() && (auth == ClientAuth::Token || !own);
        if !with_key && !own && auth == ClientAuth::Token {
            return Err(self.no_credential());
        }
        let mut headers = headers::up(&parts.headers, if with_key { names } else { &[] });
        // A client of several providers may send their keys, too.
        for name in ["x-api-key", "x-goog-api-key"] {
            if !names.contains(&name) {
                headers.remove(name);
            }
        }
        let query = parts.uri.query().map(str::to_owned);
        let method = parts.method.clone();
        let route = Cow::Owned(route.to_owned());
        Ok(OutgoingRequest { method, route, query, headers, body: Bytes::new(), with_key })
    }

    fn no_credential(&self) -> GatewayFault {
        let name = self.provider.as_str();
        let what = format!(
            "bethink has no API key for the provider: set `{name}_key_env` or `{name}_key_command` in [gateway], or use the base URL that `bethink gateway` prints (/{name}/k/…) and send your own key"
        );
        GatewayFault::new(StatusCode::UNAUTHORIZED, "no_upstream_key", what)
    }
}

/// Headers in which a client may send its own credential.
fn credentials(provider: Provider) -> &'static [&'static str] {
    match provider {
        Provider::Anthropic => &["x-api-key", "authorization"],
        Provider::OpenAi => &["authorization"],
        Provider::Gemini => &["x-goog-api-key", "authorization"],
    }
}

/// Returns whether the client sent its own credential. Fails if a header appears twice, because it is unknown which
/// value is right.
fn has_own(headers: &HeaderMap, names: &[&str]) -> Result<bool, GatewayFault> {
    let mut own = false;
    for name in names {
        match headers.get_all(*name).iter().count() {
            0 => {}
            1 => own = true,
            _ => {
                return Err(GatewayFault::invalid(format!(
                    "the header {name} appears more than once"
                )));
            }
        }
    }
    Ok(own)
}

fn endpoint(provider: Provider, settings: &GatewaySettings) -> Endpoint {
    let (url, env, command) = match provider {
        Provider::Anthropic => {
            (&settings.anthropic_url, &settings.anthropic_key_env, &settings.anthropic_key_command)
        }
        Provider::OpenAi => {
            (&settings.openai_url, &settings.openai_key_env, &settings.openai_key_command)
        }
        Provider::Gemini => {
            (&settings.gemini_url, &settings.gemini_key_env, &settings.gemini_key_command)
        }
    };
    // Without a configured key, the provider's usual environment variable is not read: its key must not replace the
    // client's.
    let key = match (command.as_str(), env.as_str()) {
        ("", "") => KeySource::None,
        ("", env) => KeySource::Env(env.to_owned()),
        (command, _) => KeySource::Command(command.to_owned()),
    };
    let idle = Duration::from_millis(settings.idle_timeout_ms);
    Endpoint {
        base_url: url.clone(),
        key,
        allow_plain_http: settings.allow_plain_http,
        limits: HttpLimits { idle, ..HttpLimits::default() },
        ..Endpoint::own(provider)
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn upstream(provider: Provider, key: &str) -> Upstream {
        let settings = bethink_config::Settings::at("/nowhere").gateway;
        let env = key.to_owned();
        Upstream::new(
            provider,
            &GatewaySettings {
                anthropic_key_env: env.clone(),
                openai_key_env: env.clone(),
                gemini_key_env: env,
                ..settings
            },
        )
    }

    fn outgoing(
        upstream: &Upstream,
        auth: ClientAuth,
        headers: &[(&str, &str)],
    ) -> Result<OutgoingRequest, GatewayFault> {
        let mut request = Request::post("/x?beta=true");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        upstream.outgoing(&request.body(()).unwrap().into_parts().0, "messages", auth)
    }

    /// Tests which credential is sent to the provider: the configured key, the client's own, or none.
    fn matrix(provider: Provider, own: (&str, &str)) {
        for (key, auth, headers, expect) in [
            ("KEY", ClientAuth::Token, vec![], Ok((true, false))),
            ("KEY", ClientAuth::Token, vec![own], Ok((true, false))),
            ("KEY", ClientAuth::Capability, vec![], Ok((true, false))),
            ("KEY", ClientAuth::Capability, vec![own], Ok((false, true))),
            ("", ClientAuth::Token, vec![], Err(401)),
            ("", ClientAuth::Token, vec![own], Ok((false, true))),
            ("", ClientAuth::Capability, vec![], Ok((false, false))),
            ("", ClientAuth::Capability, vec![own], Ok((false, true))),
            ("", ClientAuth::Capability, vec![own, own], Err(400)),
        ] {
            let found = outgoing(&upstream(provider, key), auth, &headers)
                .map(|outgoing| (outgoing.with_key, outgoing.headers.contains_key(own.0)))
                .map_err(|fault| fault.status.as_u16());
            assert_eq!(found, expect, "{key:?} {auth:?} {headers:?}");
        }
    }

    #[test]
    fn one_credential_goes_up() {
        matrix(Provider::Anthropic, ("x-api-key", "own"));
        matrix(Provider::Anthropic, ("authorization", "Bearer own"));
        matrix(Provider::OpenAi, ("authorization", "Bearer own"));
        matrix(Provider::Gemini, ("x-goog-api-key", "own"));
        let stray = outgoing(
            &upstream(Provider::OpenAi, ""),
            ClientAuth::Capability,
            &[("x-api-key", "t")],
        );
        assert!(!stray.unwrap().headers.contains_key("x-api-key"));
    }

    #[test]
    fn the_query_goes_up_and_wrong_settings_are_told() {
        let outgoing =
            outgoing(&upstream(Provider::Anthropic, "KEY"), ClientAuth::Token, &[]).unwrap();
        assert_eq!(outgoing.query.as_deref(), Some("beta=true"));
        let settings = bethink_config::Settings::at("/nowhere").gateway;
        let settings = GatewaySettings { openai_url: "http://192.0.2.1".into(), ..settings };
        let fault = Upstream::new(Provider::OpenAi, &settings).forwarder().map(drop).unwrap_err();
        assert_eq!((fault.status.as_u16(), fault.no_retry), (500, true));
        assert!(fault.message.contains("openai_url"), "{}", fault.message);
    }
}
