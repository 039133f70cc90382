//! The service handle, and which model is used for each purpose.

use std::sync::Arc;

use bethink_model::Model;
use bethink_service::ServiceContext;
use bethink_transcript::SessionId;

use crate::client::ModelClient;
use crate::purpose::Purpose;
use crate::spent::Ledger;

/// The model name of a session whose client did not give one.
pub const UNNAMED_MODEL: &str = "unknown";

/// Calls models, and keeps the ledger of their costs. Clones share the same state.
#[derive(Clone, Debug)]
pub struct ModelService {
    pub(crate) cx: ServiceContext,
    pub(crate) client: Arc<ModelClient>,
    pub(crate) ledger: Arc<Ledger>,
}

impl ModelService {
    /// Opens the service with `model`, or else with the configured model. Invalid settings are not an error: `health`
    /// reports them, and the embedded strategies are used.
    pub async fn open(
        cx: ServiceContext,
        model: Option<Arc<dyn Model>>,
    ) -> bethink_store::StoreResult<Self> {
        let opened = Self::new(cx, model);
        opened.load_ledger().await?;
        Ok(opened)
    }

    /// Does the same without the ledger, which [`load_ledger`](Self::load_ledger) reads as soon as the database can be read.
    pub fn new(cx: ServiceContext, model: Option<Arc<dyn Model>>) -> Self {
        let client = match model {
            Some(model) => ModelClient::new(Some(model), None),
            None => ModelClient::open(&cx.settings().model),
        };
        Self { cx, client: Arc::new(client), ledger: Arc::default() }
    }

    /// Reads how much the model calls of today have cost.
    pub async fn load_ledger(&self) -> bethink_store::StoreResult<()> {
        self.ledger.load(&self.cx).await
    }

    /// Returns why the configured model cannot be used; `None` if it can be used, or if no model is configured.
    pub fn fault(&self) -> Option<&str> {
        self.client.fault.as_deref()
    }

    /// Returns why the embedded strategies are used for now, as text for a person; `None` if the model is used, or if
    /// no model is configured.
    pub fn notice(&self) -> Option<String> {
        self.client.fault.clone().or_else(|| self.client.rests())
    }

    /// Returns the model for a purpose in a session that uses the model `own`; `None` if the strategy is embedded.
    pub fn model_for(&self, purpose: Purpose, own: &str) -> Option<String> {
        let settings = &self.cx.settings().model;
        let (wanted, small) = match purpose {
            Purpose::Summary => (settings.summaries_by_model(), ""),
            Purpose::Notes => (settings.notes_by_model(), settings.small_name.as_str()),
            // Uses the session's own model, which has the prompt in its cache.
            Purpose::Extraction => (self.extracts_by_model(), ""),
            Purpose::Dream => (self.dreams_by_model(), ""),
            Purpose::Recall => (
                settings.is_on() && self.cx.settings().memory.recall == "model",
                settings.small_name.as_str(),
            ),
        };
        self.model_named(small, own).filter(|_| wanted)
    }

    pub fn extracts_by_model(&self) -> bool {
        self.cx.settings().model.is_on() && self.cx.settings().memory.extraction == "model"
    }

    pub fn dreams_by_model(&self) -> bool {
        self.cx.settings().model.is_on() && self.cx.settings().memory.dream == "model"
    }

    /// Returns the first name that is set: `preferred`, the configured name, or the session's `own`.
    pub fn model_named(&self, preferred: &str, own: &str) -> Option<String> {
        self.client.model.as_ref()?;
        let names = [preferred, &self.cx.settings().model.name, own];
        let named = |name: &&str| !name.is_empty() && *name != UNNAMED_MODEL;
        names.into_iter().find(named).map(str::to_owned)
    }

    /// Returns why a model is not called automatically; `None` if it is called.
    pub fn model_rests(
        &self,
        session: impl Into<Option<SessionId>>,
        purpose: Purpose,
    ) -> Option<String> {
        self.client.strikes.out(session.into(), purpose)
    }

    /// Records whether a model's answer was usable.
    pub fn judged(&self, session: impl Into<Option<SessionId>>, purpose: Purpose, good: bool) {
        self.client.strikes.count(session.into(), purpose, good);
    }
}
