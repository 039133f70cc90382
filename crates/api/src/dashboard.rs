//! Each of these holds something that opens a door, so none is ever printed.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `POST /v1/dashboard/launch`.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct Launch {
    /// To be opened in a browser, once, within a minute.
    pub url: String,
}

/// `POST /v1/dashboard/login`.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Login {
    pub launch: String,
}

/// A cookie comes with it; further requests need both.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct LoggedIn {
    /// To be sent as `X-Bethink-Page`.
    pub page: String,
}

/// `GET /v1/gateway`: base addresses for clients that keep their own credential for the provider.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct GatewayAddresses {
    /// As `ANTHROPIC_BASE_URL`.
    pub anthropic: String,
    /// As `OPENAI_BASE_URL`.
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
