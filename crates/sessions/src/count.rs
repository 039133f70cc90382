//! The provider's own count of a session's prompt, on request.

use bethink_api as api;
use bethink_service::{Result, ServiceError};
use bethink_transcript::SessionId;

use crate::service::SessionService;

impl SessionService {
    /// Counts the prompt (the session's last request and all messages since) with the model from the settings, or the
    /// session's own.
    pub async fn count(&self, id: SessionId) -> Result<api::PromptCount> {
        let handle = self.handle(id).await?;
        let loaded = self.lock(&handle).await?;
        loaded.require_messages("append the user's first message, then count the tokens")?;
        let conflict = |detail: &str| ServiceError::conflict(detail);
        let name = self.models.model_named("", &loaded.state.model.name).ok_or_else(|| {
            let hint =
                "set `provider` and `name` in [model]; `bethink context` without `--count` shows an estimate";
            conflict("could not count tokens: no model is configured, or its settings are invalid")
                .hint(self.models.fault().unwrap_or(hint))
        })?;
        let calibration = loaded.state.learner.calibration();
        let request = loaded.prefix()?.unchanged(name.clone());
        drop(loaded);
        let estimated = calibration.apply(bethink_models::request_tokens(&request));
        let counted = self.models.count(&request).await;
        let counted = counted.map_err(|error| {
            conflict(&format!("the provider could not count the tokens: {error}"))
        })?;
        let tokens = counted.ok_or_else(|| {
            conflict("the provider does not count tokens")
                .hint("use the context report: its estimates are corrected to match the usage that providers report")
        })?;
        Ok(api::PromptCount { tokens, estimated, model: name })
    }
}
