//! Opens a model with the wire format of its provider.

use std::sync::Arc;

use bethink_model::Model;

use crate::anthropic::AnthropicDialect;
use crate::call::HttpModel;
use crate::endpoint::Endpoint;
use crate::forward::Forwarder;
use crate::openai::OpenAiDialect;
use crate::provider::{EndpointError, Provider};

/// Opens the model at `endpoint`. Does not connect or read a key until the first call.
pub fn open(endpoint: &Endpoint) -> Result<Arc<dyn Model>, EndpointError> {
    let server = Forwarder::open(endpoint)?;
    let streaming = endpoint.streaming;
    Ok(match endpoint.provider {
        Provider::Anthropic => Arc::new(HttpModel::new(AnthropicDialect, server, streaming)),
        Provider::OpenAi => {
            let dialect = OpenAiDialect::new(server.base.is_openai());
            Arc::new(HttpModel::new(dialect, server, streaming))
        }
    })
}
