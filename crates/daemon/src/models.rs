//! The desk at which a model is asked: the only way from the daemon to a provider.
//!
//! Every errand is a forked agent with a deadline; the desk adds what no engine knows: whether asking is
//! allowed at all (settings, budgets, breakers), who writes down each call, and who is told of each step.
//! A model that fails costs time and never an answer: whoever asks has an embedded strategy to fall back on.
//!
//! Reading order: [`breaker`] → [`prefix`] → [`caller`] → here → `count` →
//! [`state`].

mod breaker;
mod caller;
mod count;
mod prefix;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use bethink_agent::{Budget, Finished, Fork, Tool};
use bethink_config::ModelSettings;
use bethink_model::{Class, Model, ModelError, Request, Silence};
use bethink_model_http::{Endpoint, EndpointError, KeySource, Limits, Provider};
use bethink_transcript::SessionId;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

use crate::Daemon;
use crate::sessions::UNNAMED_MODEL;
use breaker::{Breaker, Strikes};
use caller::Caller;

pub(crate) use prefix::{Prefix, Sent};

/// Notes that are written at the same time: nobody waits for them, and a local server has few slots.
const NOTES_AT_ONCE: usize = 2;
/// Summaries at the same time. Somebody waits for each: one more is embedded rather than queued.
const SUMMARIES_AT_ONCE: usize = 8;
/// Extractions at the same time, beside notes, which a compaction may wait for.
const EXTRACTIONS_AT_ONCE: usize = 2;
/// Recalls at the same time; one more is embedded.
const RECALLS_AT_ONCE: usize = 4;
/// A choice of memories that comes later finds the work it was for done.
const RECALL_DEADLINE: Duration = Duration::from_secs(20);
/// Tokens that one errand may use, as a multiple of its own prompt: the errand itself and its retries.
const TOKENS_OF_PROMPTS: u64 = 12;
/// Micro-dollars that one errand may cost; the dearest full prompt of a million tokens is below it.
const COST: u64 = 20_000_000;
/// Calls of tools in one answer.
const CALLS: usize = 32;

/// What a model is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    Summary,
    Notes,
    /// Which memories help with what the user said.
    Recall,
    /// What of a conversation is worth remembering.
    Extraction,
    /// A project's memory brought into order.
    Dream,
}

impl Purpose {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Purpose::Summary => "summary",
            Purpose::Notes => "notes",
            Purpose::Recall => "recall",
            Purpose::Extraction => "extraction",
            Purpose::Dream => "dream",
        }
    }

    /// What comes later is of no use.
    fn deadline(self, settings: &ModelSettings) -> Duration {
        let whole = Duration::from_millis(settings.deadline_ms);
        match self {
            Purpose::Summary | Purpose::Notes | Purpose::Extraction | Purpose::Dream => whole,
            Purpose::Recall => whole.min(RECALL_DEADLINE),
        }
    }
}

/// The model that the settings name, and how it has been doing.
#[derive(Debug)]
pub(crate) struct ModelDesk {
    model: Option<Arc<dyn Model>>,
    /// Why the settings name none that can be asked.
    fault: Option<String>,
    breaker: Breaker,
    strikes: Strikes,
    notes: Semaphore,
    summaries: Semaphore,
    recalls: Semaphore,
    extractions: Semaphore,
    /// Nobody is asked any more.
    closed: CancellationToken,
}

impl ModelDesk {
    /// Never fails: what is wrong with the settings is told by `health`, and everything is embedded.
    pub(crate) fn open(settings: &ModelSettings) -> Self {
        let (model, fault) = match endpoint(settings) {
            None => (None, None),
            Some(endpoint) => {
                match endpoint.and_then(|endpoint| bethink_model_http::open(&endpoint)) {
                    Ok(model) => (Some(model), None),
                    Err(error) => (None, Some(format!("[model]: {error}"))),
                }
            }
        };
        if let Some(fault) = &fault {
            tracing::error!(%fault, "no model can be asked; the embedded strategies are used");
        }
        Self::new(model, fault)
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
            closed: CancellationToken::new(),
        }
    }

    pub(crate) fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    pub(crate) fn close(&self) {
        self.closed.cancel();
    }

    pub(crate) fn closed(&self) -> CancellationToken {
        self.closed.clone()
    }

    /// Why everything is embedded for now, for a person.
    pub(crate) fn notice(&self) -> Option<String> {
        self.fault.clone().or_else(|| self.rests())
    }

    /// What the provider did the last time it was asked, where it failed.
    fn fails(&self) -> Option<(String, &'static str)> {
        self.breaker.failing()
    }

    /// The provider failed, and is left alone for a while.
    fn rests(&self) -> Option<String> {
        self.breaker.rests().map(|rests| format!("the model is {rests}"))
    }
}

fn endpoint(settings: &ModelSettings) -> Option<Result<Endpoint, EndpointError>> {
    if !settings.is_on() {
        return None;
    }
    let limits = Limits {
        connect: Duration::from_millis(settings.connect_timeout_ms),
        idle: Duration::from_millis(settings.idle_timeout_ms),
        ..Limits::default()
    };
    let (base_url, env) = (&settings.base_url, &settings.api_key_env);
    Some(Provider::parse(&settings.provider).map(|provider| Endpoint {
        base_url: base_url.clone(),
        key: KeySource::chosen(provider, base_url, env, &settings.api_key_command),
        allow_plain_http: settings.allow_plain_http,
        streaming: settings.stream,
        limits,
        ..Endpoint::own(provider)
    }))
}

/// One thing that a model is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Errand<'a> {
    /// None where a person asks outside of any.
    pub(crate) session: Option<SessionId>,
    pub(crate) purpose: Purpose,
    pub(crate) request: &'a Request,
    pub(crate) tools: &'a [&'a dyn Tool],
    pub(crate) turns: u32,
}

/// How an errand ended, and in words what was tried on the way.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) ended: Result<Finished, ModelError>,
    pub(crate) tried: Vec<String>,
}

impl Daemon {
    /// The model for a purpose, in a session that talks to `own`; `None` where the strategy is embedded.
    pub(crate) fn model_for(&self, purpose: Purpose, own: &str) -> Option<String> {
        let settings = &self.settings().model;
        let (wanted, small) = match purpose {
            Purpose::Summary => (settings.summaries_by_model(), ""),
            Purpose::Notes => (settings.notes_by_model(), settings.small_name.as_str()),
            // By the session's own model, which finds the prompt in its cache.
            Purpose::Extraction => (self.extracts_by_model(), ""),
            Purpose::Dream => (self.dreams_by_model(), ""),
            Purpose::Recall => (
                settings.is_on() && self.settings().memory.recall == "model",
                settings.small_name.as_str(),
            ),
        };
        self.model_named(small, own).filter(|_| wanted)
    }

    pub(crate) fn dreams_by_model(&self) -> bool {
        self.settings().model.is_on() && self.settings().memory.dream == "model"
    }

    /// The first that has a name: `preferred`, the one of the settings, the session's `own`.
    fn model_named(&self, preferred: &str, own: &str) -> Option<String> {
        self.models().model.as_ref()?;
        let names = [preferred, &self.settings().model.name, own];
        let named = |name: &&str| !name.is_empty() && *name != UNNAMED_MODEL;
        names.into_iter().find(named).map(str::to_owned)
    }

    /// Why a model is not to be asked unbidden; a person may ask all the same.
    pub(crate) fn model_rests(
        &self,
        session: impl Into<Option<SessionId>>,
        purpose: Purpose,
    ) -> Option<String> {
        self.models().strikes.out(session.into(), purpose)
    }

    /// Asks. What was said is for the asker to judge: [`Daemon::judged`] tells the desk.
    pub(crate) async fn ask(&self, errand: Errand<'_>) -> Told {
        let caller = match self.caller(errand).await {
            Ok(caller) => caller,
            Err(error) => {
                self.tell_model(errand, &caller::gave_up(&error));
                return Told { tried: vec![error.to_string()], ended: Err(error) };
            }
        };
        let settings = &self.settings().model;
        let fork = Fork {
            request: errand.request,
            budget: budget(errand, settings),
            tools: errand.tools,
            heard: &Silence,
        };
        let deadline = errand.purpose.deadline(settings);
        let run = tokio::time::timeout(deadline, bethink_agent::run(fork, &caller, &caller));
        let closed = self.models().closed();
        let ended = tokio::select! {
            biased;
            () = closed.cancelled() => Err(ModelError::new(Class::Forbidden, "the daemon is stopping")),
            ended = run => ended.unwrap_or_else(|_| {
                let limit = deadline.as_millis();
                let before = caller.tried().pop();
                let before = before.map_or_else(String::new, |told| format!("; before that {told}"));
                Err(ModelError::new(Class::TimedOut, format!("not done within {limit} ms{before}")))
            }),
        };
        caller.pass.leave(&ended);
        let mut tried = caller.tried();
        if let Err(error) = &ended {
            self.models().strikes.count(errand.session, errand.purpose, false);
            let told = error.to_string();
            // What ended outside of the ladder, at the deadline or a stop, is news to those who follow.
            if tried.last() != Some(&told) {
                self.tell_model(errand, &caller::gave_up(error));
                tried.push(told);
            }
        }
        Told { ended, tried }
    }

    /// Whether what a model said could be used.
    pub(crate) fn judged(
        &self,
        session: impl Into<Option<SessionId>>,
        purpose: Purpose,
        good: bool,
    ) {
        self.models().strikes.count(session.into(), purpose, good);
    }

    /// Past settings, budgets and breaker, or the reason why not.
    async fn caller<'a>(&'a self, errand: Errand<'a>) -> Result<Caller<'a>, ModelError> {
        let forbidden = |reason: String| ModelError::new(Class::Forbidden, reason);
        let desk = self.models();
        let Some(model) = desk.model.as_deref() else {
            let reason = desk.fault.clone();
            return Err(forbidden(reason.unwrap_or_else(|| "no model is configured".to_owned())));
        };
        self.within_budget().map_err(forbidden)?;
        let turn = self.turn_of(errand.purpose).await.map_err(forbidden)?;
        let pass = desk.breaker.enter().map_err(forbidden)?;
        Ok(Caller::new(self, model, errand, pass, turn))
    }

    /// A place among those that are served.
    async fn turn_of(&self, purpose: Purpose) -> Result<SemaphorePermit<'_>, String> {
        let desk = self.models();
        let deadline = Duration::from_millis(self.settings().model.deadline_ms);
        match purpose {
            Purpose::Summary => desk
                .summaries
                .try_acquire()
                .map_err(|_| format!("{SUMMARIES_AT_ONCE} summaries are being written already")),
            Purpose::Recall => desk
                .recalls
                .try_acquire()
                .map_err(|_| format!("{RECALLS_AT_ONCE} recalls are being made already")),
            // Nobody waits for these.
            Purpose::Notes | Purpose::Extraction | Purpose::Dream => {
                let places =
                    if purpose == Purpose::Notes { &desk.notes } else { &desk.extractions };
                tokio::select! {
                    () = desk.closed.cancelled() => Err("the daemon is stopping".to_owned()),
                    turn = tokio::time::timeout(deadline, places.acquire()) => turn
                        .ok()
                        .and_then(Result::ok)
                        .ok_or_else(|| format!("{} of other sessions took all the time", purpose.as_str())),
                }
            }
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
