//! The dashboard login and the gateway addresses. Each of these types holds a secret, so none is ever printed.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::percent::percent_encode;

/// A URL that logs in one browser tab, once.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct Launch {
    /// Open this URL in a browser within a minute. It works once.
    pub url: String,
}

/// A request to log in.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Login {
    /// The token from the launch URL.
    pub launch: String,
}

/// A successful login. The response also sets a cookie; further requests need both the cookie and `page`.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct LoggedIn {
    /// The value to send in the header `X-Bethink-Page`.
    pub page: String,
}

/// Base URLs for clients that use their own credentials for the provider.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct GatewayAddresses {
    /// For `ANTHROPIC_BASE_URL`.
    pub anthropic: String,
    /// For `OPENAI_BASE_URL`.
    pub openai: String,
    /// For `GOOGLE_GEMINI_BASE_URL`.
    pub gemini: String,
}

impl GatewayAddresses {
    /// Returns the addresses that contain this project directory, for clients that do not send one themselves.
    #[must_use]
    pub fn for_project(&self, dir: &str) -> Self {
        let dir = percent_encode(dir);
        let below = |url: &str| format!("{url}/p/{dir}");
        let openai = self.openai.strip_suffix("/v1").unwrap_or(&self.openai);
        Self {
            anthropic: below(&self.anthropic),
            openai: format!("{}/v1", below(openai)),
            gemini: below(&self.gemini),
        }
    }
}

macro_rules! never_printed {
    ($($name:ident),*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(…)"))
            }
        }
    )*};
}

never_printed!(Launch, Login, LoggedIn, GatewayAddresses);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_project() {
        let address = |wire: &str, rest: &str| format!("http://127.0.0.1:1/{wire}/k/s{rest}");
        let all = GatewayAddresses {
            anthropic: address("anthropic", ""),
            openai: address("openai", "/v1"),
            gemini: address("gemini", ""),
        };
        let own = all.for_project("/home/a b");
        assert_eq!(own.anthropic, address("anthropic", "/p/%2Fhome%2Fa%20b"));
        assert_eq!(own.openai, address("openai", "/p/%2Fhome%2Fa%20b/v1"));
        assert_eq!(own.gemini, address("gemini", "/p/%2Fhome%2Fa%20b"));
    }
}
