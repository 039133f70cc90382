//! Runs requests to a model.
//!
//! Every request is a forked agent with a deadline. This module checks whether the request is allowed (settings, budgets,
//! breakers), records each call in the ledger, and publishes each step. If the model fails, the caller uses its embedded
//! strategy.

use std::sync::Mutex;
use std::time::Duration;

use bethink_agent::{Budget, Finished, Fork};
use bethink_config::ModelSettings;
use bethink_model::{ErrorClass, ModelError, ModelRequest};
use tokio::sync::SemaphorePermit;

use crate::caller::{self, Caller, forbidden};
use crate::client::{RECALLS_AT_ONCE, SUMMARIES_AT_ONCE};
use crate::purpose::{Errand, Purpose, deadline};
use crate::service::ModelService;

/// Token budget of an errand, including its retries, as a multiple of the size of its prompt plus its output limit.
const TOKENS_OF_PROMPTS: u64 = 12;
/// Budget of an errand, in micro-dollars. The most expensive prompt of a million tokens costs less.
const COST: u64 = 20_000_000;
/// Time limit for counting tokens. Counting takes about a second, and a person is waiting.
const PATIENCE: Duration = Duration::from_secs(30);
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
        let caller = match self.caller(errand).await {
            Ok(caller) => caller,
            Err(error) => {
                self.tell_model(errand, caller::gave_up(&error));
                return ErrandOutcome { tried: vec![error.to_string()], ended: Err(error) };
            }
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
        self.within_budget().map_err(forbidden)?;
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
