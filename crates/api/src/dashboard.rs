//! The dashboard login and the gateway addresses. Each of these types holds a secret, so none is ever printed.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A URL that logs in one browser.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct Launch {
    /// Open it in a browser within a minute. It works once.
    pub url: String,
}

/// A request to log in.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Login {
    /// The token from the launch URL.
    pub launch: String,
}

/// A login. The answer also sets a cookie; further requests need both.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct LoggedIn {
    /// Send it in the header `X-Bethink-Page`.
    pub page: String,
}

/// Base URLs for clients that use their own credentials for the provider.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct GatewayAddresses {
    /// For `ANTHROPIC_BASE_URL`.
    pub anthropic: String,
    /// For `OPENAI_BASE_URL`.
    pub openai: String,
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
