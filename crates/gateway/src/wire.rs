//! The two wires, and what differs between them apart from their messages.

use bethink_model_http::Provider;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Anthropic,
    OpenAi,
}

impl Wire {
    pub(crate) fn name(self) -> &'static str {
        self.provider().as_str()
    }

    pub(crate) fn provider(self) -> Provider {
        match self {
            Self::Anthropic => Provider::Anthropic,
            Self::OpenAi => Provider::OpenAi,
        }
    }

    /// Headers in which a client may carry its own credential.
    pub(crate) fn credentials(self) -> &'static [&'static str] {
        match self {
            Self::Anthropic => &["x-api-key", "authorization"],
            Self::OpenAi => &["authorization"],
        }
    }

    /// The header in which an answer tells its id.
    pub(crate) fn request_id(self) -> &'static str {
        match self {
            Self::Anthropic => "request-id",
            Self::OpenAi => "x-request-id",
        }
    }
}
