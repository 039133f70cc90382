//! Where requests of a wire go, and whose credential goes with them.

use bethink_config::GatewaySettings;
use bethink_model_http::{
    Endpoint, EndpointError, Forwarder, HttpLimits, KeySource, Letter, Provider,
};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use std::time::Duration;

use crate::fault::GatewayFault;
use crate::headers;

#[derive(Debug)]
pub(crate) struct Upstream {
    provider: Provider,
    /// Settings that cannot work are reported to every client that asks.
    forwarder: Result<Forwarder, EndpointError>,
}

/// How a client came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// By the daemon's token, which took the place of a credential, or by its socket.
    Token,
    /// By an address that lets it in, so that its credentials are its own.
    Capability,
}

impl Upstream {
    pub(crate) fn new(provider: Provider, settings: &GatewaySettings) -> Self {
        let forwarder = Forwarder::open(&endpoint(provider, settings));
        match &forwarder {
            Ok(forwarder) => {
                let (origin, key) = (forwarder.origin(), forwarder.has_key());
                tracing::debug!(wire = provider.as_str(), origin, key, "gateway");
            }
            Err(error) => {
                tracing::warn!(wire = provider.as_str(), %error, "the gateway's upstream settings are broken");
            }
        }
        Self { provider, forwarder }
    }

    pub(crate) fn forwarder(&self) -> Result<&Forwarder, GatewayFault> {
        self.forwarder.as_ref().map_err(|error| {
            let section = format!("{}_url and its neighbours in [gateway]", self.provider.as_str());
            let what = format!("bethink's settings name no valid upstream ({section}): {error}");
            GatewayFault::new(StatusCode::INTERNAL_SERVER_ERROR, "upstream_settings", what)
                .in_vain()
        })
    }

    /// The request as it goes up, without its body. The daemon's own token is not among the headers any more: the
    /// guard took it out.
    pub(crate) fn letter(
        &self,
        parts: &Parts,
        route: &'static str,
        way: Way,
    ) -> Result<Letter, GatewayFault> {
        let forwarder = self.forwarder()?;
        let names = credentials(self.provider);
        let own = has_own(&parts.headers, names)?;
        let with_key = forwarder.has_key() && (way == Way::Token || !own);
        if !with_key && !own && way == Way::Token {
            return Err(self.no_credential());
        }
        let mut headers = headers::up(&parts.headers, if with_key { names } else { &[] });
        if self.provider == Provider::OpenAi {
            // Means nothing there, and a client of both may hold anything in it.
            headers.remove("x-api-key");
        }
        let query = parts.uri.query().map(str::to_owned);
        let method = parts.method.clone();
        Ok(Letter { method, route, query, headers, body: Bytes::new(), with_key })
    }

    fn no_credential(&self) -> GatewayFault {
        let name = self.provider.as_str();
        let what = format!(
            "bethink let you in, but has no key for the provider: set {name}_key_env or {name}_key_command in [gateway] of its settings, or use an address with a capability (/{name}/k/…), over which your own key goes up"
        );
        GatewayFault::new(StatusCode::UNAUTHORIZED, "no_upstream_key", what)
    }
}

/// Headers in which a client may carry its own credential.
fn credentials(provider: Provider) -> &'static [&'static str] {
    match provider {
        Provider::Anthropic => &["x-api-key", "authorization"],
        Provider::OpenAi => &["authorization"],
    }
}

/// Whether the client sent a credential of its own. Of two in one header nobody could say which one is meant.
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
    };
    // The provider's usual variable is not looked at: a key that nobody configured must not take a client's place.
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
            &GatewaySettings { anthropic_key_env: env.clone(), openai_key_env: env, ..settings },
        )
    }

    fn letter(
        upstream: &Upstream,
        way: Way,
        headers: &[(&str, &str)],
    ) -> Result<Letter, GatewayFault> {
        let mut request = Request::post("/x?beta=true");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        upstream.letter(&request.body(()).unwrap().into_parts().0, "messages", way)
    }

    /// Which credential goes up: the configured key, the client's own, or none.
    fn matrix(provider: Provider, own: (&str, &str)) {
        for (key, way, headers, expect) in [
            ("KEY", Way::Token, vec![], Ok((true, false))),
            ("KEY", Way::Token, vec![own], Ok((true, false))),
            ("KEY", Way::Capability, vec![], Ok((true, false))),
            ("KEY", Way::Capability, vec![own], Ok((false, true))),
            ("", Way::Token, vec![], Err(401)),
            ("", Way::Token, vec![own], Ok((false, true))),
            ("", Way::Capability, vec![], Ok((false, false))),
            ("", Way::Capability, vec![own], Ok((false, true))),
            ("", Way::Capability, vec![own, own], Err(400)),
        ] {
            let found = letter(&upstream(provider, key), way, &headers)
                .map(|letter| (letter.with_key, letter.headers.contains_key(own.0)))
                .map_err(|fault| fault.status.as_u16());
            assert_eq!(found, expect, "{key:?} {way:?} {headers:?}");
        }
    }

    #[test]
    fn one_credential_goes_up() {
        matrix(Provider::Anthropic, ("x-api-key", "own"));
        matrix(Provider::Anthropic, ("authorization", "Bearer own"));
        matrix(Provider::OpenAi, ("authorization", "Bearer own"));
        let stray = letter(&upstream(Provider::OpenAi, ""), Way::Capability, &[("x-api-key", "t")]);
        assert!(!stray.unwrap().headers.contains_key("x-api-key"));
    }

    #[test]
    fn the_query_goes_up_and_wrong_settings_are_told() {
        let letter = letter(&upstream(Provider::Anthropic, "KEY"), Way::Token, &[]).unwrap();
        assert_eq!(letter.query.as_deref(), Some("beta=true"));
        let settings = bethink_config::Settings::at("/nowhere").gateway;
        let settings = GatewaySettings { openai_url: "http://192.0.2.1".into(), ..settings };
        let fault = Upstream::new(Provider::OpenAi, &settings).forwarder().map(drop).unwrap_err();
        assert_eq!((fault.status.as_u16(), fault.in_vain), (500, true));
        assert!(fault.message.contains("openai_url"), "{}", fault.message);
    }
}
