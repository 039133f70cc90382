//! Opens a model with the wire format of its provider.

use std::sync::Arc;

use bethink_model::Model;

use crate::anthropic::AnthropicDialect;
use crate::call::HttpModel;
use crate::endpoint::Endpoint;
use crate::forward::{Forwarder, OutgoingRequest};
use crate::openai::OpenAiDialect;
use crate::provider::{EndpointError, Provider};

/// Opens the model at `endpoint`. Does not connect or read a key until the first call.
pub fn open(endpoint: &Endpoint) -> Result<Arc<dyn Model>, EndpointError> {
    let server = Arc::new(Forwarder::open(endpoint)?);
    let streaming = endpoint.streaming;
    Ok(match endpoint.provider {
        Provider::Anthropic => Arc::new(HttpModel::new(AnthropicDialect, server, streaming)),
        Provider::OpenAi => {
            let dialect = OpenAiDialect::new(server.base.is_openai());
            Arc::new(HttpModel::new(dialect, server, streaming))
        }
        provider @ Provider::Gemini => {
            return Err(EndpointError::Provider(provider.as_str().to_owned()));
        }
    })
}

/// Opens the model that a client calls through `server`, with the headers, the query and the credential of its request.
/// Returns `None` for a provider that bethink's own calls do not use.
pub fn open_for_client(
    server: Arc<Forwarder>,
    mut client: OutgoingRequest,
) -> Option<Arc<dyn Model>> {
    // Nothing prints a sensitive value, and one of them is the client's key.
    client.headers.values_mut().for_each(|value| value.set_sensitive(true));
    Some(match server.provider {
        Provider::Anthropic => {
            Arc::new(HttpModel::new(AnthropicDialect, server, true).on_behalf_of(client))
        }
        Provider::OpenAi => {
            let dialect = OpenAiDialect::new(server.base.is_openai());
            Arc::new(HttpModel::new(dialect, server, true).on_behalf_of(client))
        }
        Provider::Gemini => return None,
    })
}
