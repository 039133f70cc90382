//! Asking a model.
//!
//! Every errand is a forked agent with a deadline; the desk adds what no engine knows: whether asking is
//! allowed at all (settings, budgets, breakers), who writes down each call, and who is told of each step.
//! A model that fails costs time and never an answer: whoever asks has an embedded strategy to fall back on.

use std::sync::Mutex;
use std::time::Duration;

use bethink_agent::{Budget, Finished, Fork};
use bethink_config::ModelSettings;
use bethink_model::{ErrorClass, ModelError, ModelRequest};
use tokio::sync::SemaphorePermit;

use crate::caller::{self, Caller, forbidden};
use crate::client::{RECALLS_AT_ONCE, SUMMARIES_AT_ONCE};
use crate::purpose::{Errand, Purpose};
use crate::service::ModelService;

/// Tokens that one errand may use, as a multiple of its own prompt: the errand itself and its retries.
const TOKENS_OF_PROMPTS: u64 = 12;
/// Micro-dollars that one errand may cost; the dearest full prompt of a million tokens is below it.
const COST: u64 = 20_000_000;
/// A count takes a second; somebody is looking at the screen.
const PATIENCE: Duration = Duration::from_secs(30);
/// Calls of tools in one answer.
const CALLS: usize = 32;

/// How an errand ended, and in words what was tried on the way.
#[derive(Debug)]
pub struct ErrandOutcome {
    pub ended: Result<Finished, ModelError>,
    pub tried: Vec<String>,
}

impl ModelService {
    /// Asks. What was said is for the asker to judge: [`ModelService::judged`] tells the desk.
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
        let deadline = errand.purpose.deadline(settings);
        let run = tokio::time::timeout(deadline, bethink_agent::run(fork, &caller, &caller));
        let closed = self.cx.closing();
        let ended = tokio::select! {
            biased;
            () = closed.cancelled() => Err(forbidden("the daemon is stopping")),
            ended = run => ended.unwrap_or_else(|_| {
                let limit = deadline.as_millis();
                let before = caller.tried().pop();
                let before = before.map_or_else(String::new, |told| format!("; before that {told}"));
                Err(ModelError::new(ErrorClass::TimedOut, format!("the request took longer than {limit} ms{before}")))
            }),
        };
        caller.pass.leave(&ended);
        let mut tried = caller.tried();
        if let Err(error) = &ended {
            self.client.strikes.count(errand.session, errand.purpose, false);
            let told = error.to_string();
            // What ended outside of the ladder, at the deadline or a stop, is news to those who follow.
            if tried.last() != Some(&told) {
                self.tell_model(errand, caller::gave_up(error));
                tried.push(told);
            }
        }
        ErrandOutcome { ended, tried }
    }

    /// The provider's own count of a request; `None` where it offers none.
    pub async fn count(&self, request: &ModelRequest) -> Result<Option<u64>, ModelError> {
        let desk = &self.client;
        let Some(model) = &desk.model else {
            return Err(forbidden("no model can be asked"));
        };
        let pass = desk.breaker.enter().map_err(forbidden)?;
        let counted = tokio::time::timeout(PATIENCE, model.count(request)).await;
        let counted = counted.unwrap_or_else(|_| {
            let late = format!("counting tokens took longer than {} s", PATIENCE.as_secs());
            Err(ModelError::new(ErrorClass::TimedOut, late))
        });
        pass.answered(counted.as_ref().err());
        counted
    }

    /// Past settings, budgets and breaker, or the reason why not.
    async fn caller<'a>(&'a self, errand: Errand<'a>) -> Result<Caller<'a>, ModelError> {
        let desk = &self.client;
        let Some(model) = desk.model.as_deref() else {
            let reason = desk.fault.as_deref().unwrap_or("no model is configured");
            return Err(forbidden(reason));
        };
        self.within_budget().map_err(forbidden)?;
        let turn = self.turn_of(errand.purpose).await.map_err(forbidden)?;
        let pass = desk.breaker.enter().map_err(forbidden)?;
        let tried = Mutex::default();
        Ok(Caller { models: self, model, errand, pass, tried, _turn: turn })
    }

    /// A place among those that are served. Nobody waits for notes, extractions and dreams, so that these wait for it.
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
                .ok_or_else(|| format!("the time ran out while {} of other sessions were running", purpose.as_str())),
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
