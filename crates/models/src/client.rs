//! The model that the settings name, opened once, with what is known of how it has been doing.

use std::sync::Arc;
use std::time::Duration;

use bethink_config::ModelSettings;
use bethink_model::Model;
use bethink_model_http::{Endpoint, EndpointError, HttpLimits, KeySource, Provider};
use tokio::sync::Semaphore;

use crate::breaker::{Breaker, Strikes};

/// Notes that are written at the same time: nobody waits for them, and a local server has few slots.
const NOTES_AT_ONCE: usize = 2;
/// Summaries at the same time. Somebody waits for each: one more is embedded rather than queued.
pub(crate) const SUMMARIES_AT_ONCE: usize = 8;
/// Extractions at the same time, beside notes, which a compaction may wait for.
const EXTRACTIONS_AT_ONCE: usize = 2;
/// Recalls at the same time; one more is embedded.
pub(crate) const RECALLS_AT_ONCE: usize = 4;

/// The model that the settings name, and how it has been doing.
#[derive(Debug)]
pub(crate) struct ModelClient {
    pub(crate) model: Option<Arc<dyn Model>>,
    /// Why the settings name none that can be asked.
    pub(crate) fault: Option<String>,
    pub(crate) breaker: Breaker,
    pub(crate) strikes: Strikes,
    pub(crate) notes: Semaphore,
    pub(crate) summaries: Semaphore,
    pub(crate) recalls: Semaphore,
    pub(crate) extractions: Semaphore,
}

impl ModelClient {
    /// Never fails: what is wrong with the settings is told by `health`, and everything is embedded.
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

    /// The provider failed, and is left alone for a while.
    pub(crate) fn rests(&self) -> Option<String> {
        self.breaker.rests().map(|rests| format!("the model is {rests}"))
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
