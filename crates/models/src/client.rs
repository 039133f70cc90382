//! The client of the configured model, with its breaker and its limits.

use std::sync::Arc;
use std::time::Duration;

use bethink_config::ModelSettings;
use bethink_model::Model;
use bethink_model_http::{Endpoint, EndpointError, HttpLimits, KeySource, Provider};
use tokio::sync::Semaphore;

use crate::breaker::{Breaker, Strikes};

/// Maximum number of concurrent notes updates. These run in the background, and a local server has few slots.
const NOTES_AT_ONCE: usize = 2;
/// Maximum number of concurrent summaries. A client waits for each summary, so further summaries use the embedded
/// strategy at once.
pub(crate) const SUMMARIES_AT_ONCE: usize = 8;
/// Maximum number of concurrent extractions and dreams. This limit is separate from that for notes, because a
/// compaction may wait for notes.
const EXTRACTIONS_AT_ONCE: usize = 2;
/// Maximum number of concurrent recalls; further recalls use the embedded strategy.
pub(crate) const RECALLS_AT_ONCE: usize = 4;

/// The model that a client calls through bethink, with the server and the credential of the client's current request.
/// The credential is never stored.
#[derive(Clone, Debug)]
pub struct ClientModel {
    pub(crate) model: Arc<dyn Model>,
    /// The model's name in the client's request.
    pub name: String,
    /// A separate breaker, because failures with the client's credential must not pause other calls.
    pub(crate) breaker: Arc<Breaker>,
}

impl ClientModel {
    pub fn new(model: Arc<dyn Model>, name: String) -> Self {
        Self { model, name, breaker: Arc::new(Breaker::of_client()) }
    }
}

/// The configured model and its state.
#[derive(Debug)]
pub(crate) struct ModelClient {
    pub(crate) model: Option<Arc<dyn Model>>,
    /// Why the configured model cannot be used.
    pub(crate) fault: Option<String>,
    pub(crate) breaker: Breaker,
    pub(crate) strikes: Strikes,
    pub(crate) notes: Semaphore,
    pub(crate) summaries: Semaphore,
    pub(crate) recalls: Semaphore,
    pub(crate) extractions: Semaphore,
}

impl ModelClient {
    /// Opens the configured model. If the settings are invalid, `health` reports the problem and the embedded strategies are
    /// used.
    pub(crate) fn open(settings: &ModelSettings) -> Self {
        let opened = if settings.is_on() { open(settings).map(Some) } else { Ok(None) };
        opened.map_or_else(
            |error| {
                let fault = format!("[model]: {error}");
                tracing::error!(%fault, "could not set up the model; using the built-in strategies");
                Self::new(None, Some(fault))
            },
            |model| Self::new(model, None),
        )
    }

    pub(crate) fn new(model: Option<Arc<dyn Model>>, fault: Option<String>) -> Self {
        Self {
            model,
            fault,
            breaker: Breaker::default(),
            strikes: Strikes::default(),
            notes: Semaphore::new(NOTES_AT_ONCE),
            summaries: Semaphore::new(SUMMARIES_AT_ONCE),
            recalls: Semaphore::new(RECALLS_AT_ONCE),
            extractions: Semaphore::new(EXTRACTIONS_AT_ONCE),
        }
    }

    /// Returns why the provider or one of its models is paused; `None` if none is.
    pub(crate) fn rests(&self) -> Option<String> {
        self.breaker.rests()
    }
}

fn open(settings: &ModelSettings) -> Result<Arc<dyn Model>, EndpointError> {
    let provider = Provider::parse(&settings.provider)?;
    let (base_url, env) = (&settings.base_url, &settings.api_key_env);
    bethink_model_http::open(&Endpoint {
        provider,
        base_url: base_url.clone(),
        key: KeySource::chosen(provider, base_url, env, &settings.api_key_command),
        allow_plain_http: settings.allow_plain_http,
        streaming: settings.stream,
        limits: HttpLimits {
            connect: Duration::from_millis(settings.connect_timeout_ms),
            idle: Duration::from_millis(settings.idle_timeout_ms),
            ..HttpLimits::default()
        },
    })
}
