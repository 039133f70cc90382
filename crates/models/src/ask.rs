//! Runs requests to a model.
//!
//! Every request is a forked agent with a deadline. This module checks whether the request is allowed (settings, budgets,
//! breakers), records each call in the ledger, and publishes each step. If the model fails, the caller uses its embedded
//! strategy.

use std::borrow::Cow;
use std::sync::Mutex;
use std::time::Duration;

use bethink_agent::{Budget, Finished, Fork};
use bethink_config::ModelSettings;
use bethink_model::{ErrorClass, ModelError, ModelRequest, shrink};
use tokio::sync::SemaphorePermit;

use crate::caller::{self, Caller, forbidden, request_tokens};
use crate::client::{RECALLS_AT_ONCE, SUMMARIES_AT_ONCE};
use crate::purpose::{Errand, Purpose, deadline};
use crate::service::ModelService;

/// Token budget of an errand, including its retries, as a multiple of the size of its prompt plus its output limit.
const TOKENS_OF_PROMPTS: u64 = 12;
/// Budget of an errand, in micro-dollars. The most expensive prompt of a million tokens costs less.
const COST: u64 = 20_000_000;
/// Time limit for counting tokens. Counting takes about a second, and a person is waiting.
const PATIENCE: Duration = Duration::from_secs(30);
/// Minimum room for an answer in a model's window, in tokens.
const MIN_OUTPUT: u64 = 512;
/// Maximum number of tool calls in one answer.
const CALLS: usize = 32;

/// The result of an errand, and descriptions of the steps that failed.
#[derive(Debug)]
pub struct ErrandOutcome {
    pub ended: Result<Finished, ModelError>,
    pub tried: Vec<String>,
}

impl ModelService {
    /// Asks the model. The caller checks the answer and reports the result with [`ModelService::judged`].
    pub async fn ask(&self, errand: Errand<'_>) -> ErrandOutcome {
        let refused = |error: ModelError| {
            self.tell_model(errand, caller::gave_up(&error));
            ErrandOutcome { tried: vec![error.to_string()], ended: Err(error) }
        };
        let fitting = self.fitting(errand);
        let errand = Errand { request: &fitting, ..errand };
        let caller = match self.caller(errand).await {
            Ok(caller) => caller,
            Err(error) => return refused(error),
        };
        let settings = &self.cx.settings().model;
        let fork =
            Fork { request: errand.request, budget: budget(errand, settings), tools: errand.tools };
        let deadline = deadline(errand.purpose, settings);
        let run = tokio::time::timeout(deadline, bethink_agent::run(fork, &caller, &caller));
        let closed = self.cx.closing();
        let ended = tokio::select! {
            biased;
            () = closed.cancelled() => Err(forbidden("the daemon is stopping")),
            ended = run => ended.unwrap_or_else(|_| {
                let limit = deadline.as_millis();
                let before = caller.tried().pop();
                let before = before.map_or_else(String::new, |told| {
                    format!("; the last problem before that: {told}")
                });
                Err(ModelError::new(ErrorClass::TimedOut, format!("the request took longer than {limit} ms{before}")))
            }),
        };
        caller.pass.leave(&ended);
        let mut tried = caller.tried();
        if let Err(error) = &ended {
            self.client.strikes.count(errand.session, errand.purpose, false);
            let told = error.to_string();
            // Errors outside the agent, such as the deadline or a stop, have not been published yet.
            if tried.last() != Some(&told) {
                self.tell_model(errand, caller::gave_up(error));
                tried.push(told);
            }
        }
        ErrandOutcome { ended, tried }
    }

    /// Asks the provider to count the tokens of a request; `None` if the provider cannot count them.
    pub async fn count(&self, request: &ModelRequest) -> Result<Option<u64>, ModelError> {
        let desk = &self.client;
        let Some(model) = &desk.model else {
            return Err(forbidden("no model is configured, or its settings are invalid"));
        };
        let pass = desk.breaker.enter(&request.model).map_err(forbidden)?;
        let counted = tokio::time::timeout(PATIENCE, model.count(request)).await;
        let counted = counted.unwrap_or_else(|_| {
            let late = format!("counting tokens took longer than {} s", PATIENCE.as_secs());
            Err(ModelError::new(ErrorClass::TimedOut, late))
        });
        pass.answered(counted.as_ref().err());
        counted
    }

    /// Returns the request with an output limit that fits into the configured window of its model. If there is no room for
    /// an answer, the request stays as it is: after the provider's error, the oldest rounds are dropped.
    fn fitting<'a>(&self, errand: Errand<'a>) -> Cow<'a, ModelRequest> {
        let request = errand.request;
        let window = self.cx.settings().context.window_of(&request.model);
        let Some(window) = window.filter(|_| errand.client.is_none()) else {
            return Cow::Borrowed(request);
        };
        let room = window.saturating_sub(request_tokens(request));
        if room < MIN_OUTPUT {
            return Cow::Borrowed(request);
        }
        shrink::shrink_output(request, room).map_or(Cow::Borrowed(request), Cow::Owned)
    }

    /// Checks settings, budgets and the breaker. Fails with the reason if the model may not be called.
    async fn caller<'a>(&'a self, errand: Errand<'a>) -> Result<Caller<'a>, ModelError> {
        let desk = &self.client;
        let (model, breaker) = match (errand.client, desk.model.as_deref()) {
            (Some(client), _) => (&*client.model, &*client.breaker),
            (None, Some(model)) => (model, &desk.breaker),
            (None, None) => {
                let reason = desk.fault.as_deref().unwrap_or("no model is configured");
                return Err(forbidden(reason));
            }
        };
        // Each call is checked again. A refusal here does not count as a failure of the model.
        let tokens = request_tokens(errand.request);
        drop(self.reserve(&errand.request.model, tokens).map_err(forbidden)?);
        let turn = self.turn_of(errand.purpose).await.map_err(forbidden)?;
        let pass = breaker.enter(&errand.request.model).map_err(forbidden)?;
        let tried = Mutex::default();
        Ok(Caller { models: self, model, errand, pass, tried, _turn: turn })
    }

    /// Waits until another request for this purpose may run. Summaries and recalls fail instead of waiting, because their
    /// callers wait for them.
    async fn turn_of(&self, purpose: Purpose) -> Result<SemaphorePermit<'_>, String> {
        let client = &self.client;
        let places = match purpose {
            Purpose::Summary => {
                return client.summaries.try_acquire().map_err(|_| {
                    format!("{SUMMARIES_AT_ONCE} summaries are already being written")
                });
            }
            Purpose::Recall => {
                return client
                    .recalls
                    .try_acquire()
                    .map_err(|_| format!("{RECALLS_AT_ONCE} recalls are already running"));
            }
            Purpose::Notes => &client.notes,
            Purpose::Extraction | Purpose::Dream => &client.extractions,
        };
        let deadline = Duration::from_millis(self.cx.settings().model.deadline_ms);
        tokio::select! {
            () = self.cx.closing().cancelled() => Err("the daemon is stopping".to_owned()),
            turn = tokio::time::timeout(deadline, places.acquire()) => turn
                .ok()
                .and_then(Result::ok)
                .ok_or_else(|| format!("timed out while waiting for {purpose} requests from other sessions")),
        }
    }
}

fn budget(errand: Errand<'_>, settings: &ModelSettings) -> Budget {
    let prompt = errand.request.prompt.tokens() + settings.max_output;
    Budget {
        turns: errand.turns,
        tokens: prompt.saturating_mul(TOKENS_OF_PROMPTS),
        cost: COST,
        calls: CALLS,
        max_output: settings.max_output_ceiling,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bethink_config::Settings;
    use bethink_model::Model;
    use bethink_service::ServiceContext;
    use bethink_service_testing::Scripted;
    use bethink_transcript::{PromptMessage, Seq, ValidPrompt};
    use bytes::Bytes;

    use super::*;

    const MODEL: &str = "qwen3-small";

    fn request(tokens: u32) -> ModelRequest {
        ModelRequest {
            model: MODEL.to_owned(),
            system: Bytes::from_static(b"[]"),
            tools: Bytes::from_static(b"[]"),
            prompt: ValidPrompt::check(vec![PromptMessage::said("Go.", Seq(1), tokens)]).unwrap(),
            marks: Vec::new(),
            max_tokens: 2_000,
            form: Arc::default(),
        }
    }

    fn errand(request: &ModelRequest) -> Errand<'_> {
        let purpose = Purpose::Summary;
        Errand { session: None, purpose, request, tools: &[], turns: 1, client: None }
    }

    async fn open(
        home: &tempfile::TempDir,
        model: &Arc<Scripted>,
        change: impl FnOnce(&mut Settings),
    ) -> (ServiceContext, ModelService) {
        let mut settings = Settings::at(home.path());
        change(&mut settings);
        let cx = bethink_service_testing::context_with(settings).await;
        let model = Arc::clone(model) as Arc<dyn Model>;
        let models = ModelService::open(cx.clone(), Some(model)).await.unwrap();
        (cx, models)
    }

    /// A running call counts with its estimate, and so does one that was broken off.
    #[tokio::test]
    async fn calls_at_the_same_time_share_a_budget() {
        let (home, model) = (tempfile::tempdir().unwrap(), Scripted::new([]));
        let (cx, models) =
            open(&home, &model, |settings| settings.model.daily_tokens = 10_000).await;
        let large = request(10_001);
        let refused = models.ask(errand(&large)).await.ended.unwrap_err();
        assert!(refused.message.contains("`model.daily_tokens`"), "{refused}");
        let request = request(6_000);
        let first = tokio::spawn({
            let (models, request) = (models.clone(), request.clone());
            async move { models.ask(errand(&request)).await }
        });
        model.called.notified().await;
        let refused = models.ask(errand(&request)).await.ended.unwrap_err();
        assert_eq!((refused.class, model.asked().len()), (ErrorClass::Forbidden, 1));
        first.abort();
        assert!(first.await.is_err());
        let spent = models.spent_today();
        assert!(spent.calls == 1 && spent.tokens >= 6_000, "it counts at once: {spent:?}");
        let refused = models.ask(errand(&request)).await.ended.unwrap_err();
        assert_eq!((refused.class, model.asked().len()), (ErrorClass::Forbidden, 1));
        cx.stop().await;
    }

    #[tokio::test]
    async fn a_request_fits_into_the_configured_window() {
        let answers = [Ok("Done.".into()), Ok("Done.".into())];
        let (home, model) = (tempfile::tempdir().unwrap(), Scripted::new(answers));
        let windows = vec![("qwen3".to_owned(), 8_192)];
        let (cx, models) = open(&home, &model, |settings| settings.context.windows = windows).await;
        models.ask(errand(&request(7_000))).await.ended.unwrap();
        assert!(model.asked()[0].max_tokens < 1_200);
        // Without room, the request is sent as it is.
        models.ask(errand(&request(8_000))).await.ended.unwrap();
        assert_eq!(model.asked()[1].max_tokens, 2_000);
        cx.stop().await;
    }
}
