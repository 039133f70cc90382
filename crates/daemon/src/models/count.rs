//! The provider's own count of a session's prompt, on request.

use std::time::Duration;

use bethink_api as api;
use bethink_model::{Class, ModelError};
use bethink_transcript::{Seq, SessionId};

use super::prefix::weigh;
use crate::{Daemon, Kind, Refusal, Result};

/// A count takes a second; somebody is looking at the screen.
const PATIENCE: Duration = Duration::from_secs(30);

impl Daemon {
    /// Counts the prompt as the session's last request and all that came since, by the model that the
    /// settings name or the session's own.
    pub async fn count(&self, id: SessionId) -> Result<api::PromptCount> {
        let slot = self.hot(id).await?;
        let hot = slot.lock(self).await?;
        if hot.session.last_seq == Seq::ZERO {
            return Err(Refusal::new(Kind::Conflict, "the session has no messages yet")
                .hint("append the user's first message, then count"));
        }
        let Some(name) = self.model_named("", &hot.model.name) else {
            return Err(Refusal::new(Kind::Conflict, "no model is configured that could count")
                .hint("set provider in [model]; the report's own figures need none"));
        };
        let calibration = hot.learner.calibration();
        let request = hot.prefix()?.alone(name.clone());
        drop(hot);
        let estimated = calibration.apply(weigh(&request));
        let counted = self.ask_count(&request).await.map_err(|error| {
            Refusal::new(Kind::Conflict, format!("the provider did not count: {error}"))
        })?;
        let Some(tokens) = counted else {
            return Err(Refusal::new(Kind::Conflict, "the provider offers no count of tokens")
                .hint("the report's figures are estimates that learn from reported usage"));
        };
        Ok(api::PromptCount { tokens, estimated, model: name })
    }

    async fn ask_count(
        &self,
        request: &bethink_model::Request,
    ) -> std::result::Result<Option<u64>, ModelError> {
        let desk = self.models();
        let Some(model) = &desk.model else {
            return Err(ModelError::new(Class::Forbidden, "no model can be asked"));
        };
        let pass = desk.breaker.enter();
        let pass = pass.map_err(|reason| ModelError::new(Class::Forbidden, reason))?;
        let counted = tokio::time::timeout(PATIENCE, model.count(request)).await;
        let counted = counted.unwrap_or_else(|_| {
            Err(ModelError::new(
                Class::TimedOut,
                format!("no count within {} s", PATIENCE.as_secs()),
            ))
        });
        pass.answered(counted.as_ref().err());
        counted
    }
}
