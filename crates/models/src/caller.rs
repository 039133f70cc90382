//! Makes the model calls of a fork: checks, times and records each call, and publishes each step to followers of the
//! session.

use std::sync::Mutex;
use std::time::Duration;

use bethink_agent::{AgentStep, Host, Waited};
use bethink_model::request::about_tokens;
use bethink_model::{Answer, Counted, ErrorClass, Model, ModelError, ModelRequest, Reply};
use bethink_service::{Event, ModelStep, locked};
use bethink_store::ModelCall;
use bethink_tokens::json_tokens;
use bethink_transcript::{CallId, Seq, TokenUsage};
use bytes::Bytes;
use tokio::sync::SemaphorePermit;
use tokio::time::Instant;
use uuid::Uuid;

use crate::breaker::Pass;
use crate::purpose::Errand;
use crate::service::ModelService;
use crate::spent::Reservation;

/// Divisor of the random extra wait: 255 / 1,280 is about a fifth.
const JITTER: u32 = 1_280;

/// Estimates the number of tokens in a request.
pub fn request_tokens(request: &ModelRequest) -> u64 {
    let fixed = |json: &Bytes| u64::from(json_tokens(&String::from_utf8_lossy(json)));
    request.prompt.tokens() + fixed(&request.system) + fixed(&request.tools)
}

/// Makes the calls of one errand.
pub(crate) struct Caller<'a> {
    pub(crate) models: &'a ModelService,
    pub(crate) model: &'a dyn Model,
    pub(crate) errand: Errand<'a>,
    pub(crate) pass: Pass<'a>,
    pub(crate) tried: Mutex<Vec<String>>,
    pub(crate) _turn: SemaphorePermit<'a>,
}

impl std::fmt::Debug for Caller<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller").field("purpose", &self.errand.purpose).finish_non_exhaustive()
    }
}

impl Caller<'_> {
    /// Returns descriptions of what failed or was denied.
    pub(crate) fn tried(&self) -> Vec<String> {
        locked(&self.tried).clone()
    }
}

impl Model for Caller<'_> {
    fn provider(&self) -> &'static str {
        self.model.provider()
    }

    fn call<'a>(&'a self, request: &'a ModelRequest) -> Answer<'a> {
        Box::pin(async move {
            if self.pass.is_void() {
                return Err(forbidden("the model is paused"));
            }
            let tokens = request_tokens(request);
            let mut entry = LedgerEntry::begin(self, request, tokens).map_err(forbidden)?;
            self.models.tell_model(self.errand, ModelStep::Asked { tokens });
            let answered = self.model.call(request).await;
            let millis = entry.end(&answered).await;
            if let Ok(reply) = &answered {
                let answered = ModelStep::Answered {
                    output_tokens: reply.usage.output_tokens,
                    cache_read_tokens: reply.usage.cache_read_input_tokens,
                    ms: millis,
                };
                self.models.tell_model(self.errand, answered);
            }
            answered
        })
    }

    fn count<'a>(&'a self, request: &'a ModelRequest) -> Counted<'a> {
        self.model.count(request)
    }
}

impl Host for Caller<'_> {
    fn wait(&self, time: Duration) -> Waited<'_> {
        // The extra wait keeps clients that were refused at the same time from retrying at the same time.
        let [chance, ..] = *Uuid::new_v4().as_bytes();
        let more = time.saturating_mul(u32::from(chance)) / JITTER;
        Box::pin(tokio::time::sleep(time + more))
    }

    fn cost(&self, model: &str, usage: &TokenUsage) -> Option<u64> {
        self.models.cost_of(model, usage)
    }

    fn record(&self, step: &AgentStep) {
        let (told, words) = event(step);
        self.models.tell_model(self.errand, told);
        if let Some(words) = words {
            locked(&self.tried).push(words);
        }
    }
}

/// An entry in the ledger. An interrupted call is recorded too, because it may have cost money.
struct LedgerEntry<'a> {
    models: &'a ModelService,
    begun: Instant,
    call: Option<ModelCall>,
    /// Estimated number of tokens in the request.
    tokens: u64,
    _reserved: Reservation<'a>,
}

impl<'a> LedgerEntry<'a> {
    /// Fails if a daily budget does not allow the call.
    fn begin(caller: &Caller<'a>, request: &ModelRequest, tokens: u64) -> Result<Self, String> {
        let reserved = caller.models.reserve(&request.model, tokens)?;
        let call = ModelCall {
            id: CallId(Uuid::now_v7()),
            session: caller.errand.session,
            purpose: caller.errand.purpose.to_string(),
            provider: caller.model.provider().to_owned(),
            model: request.model.clone(),
            started_at: caller.models.cx.now(),
            millis: 0,
            input: 0,
            output: 0,
            cache_read: 0,
            cache_write: 0,
            cost: None,
            outcome: "broken_off".to_owned(),
        };
        let (models, begun, call) = (caller.models, Instant::now(), Some(call));
        Ok(Self { models, begun, call, tokens, _reserved: reserved })
    }

    /// Ends the entry with this usage. What the provider did not report is estimated.
    fn close(&mut self, usage: Option<TokenUsage>) -> Option<ModelCall> {
        let call = self.call.take()?;
        let millis = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let Some(mut usage) = usage else { return Some(ModelCall { millis, ..call }) };
        if usage.prompt() == 0 {
            usage.input_tokens = self.tokens;
        }
        let cost = self.models.cost_of(&call.model, &usage);
        Some(ModelCall {
            millis,
            input: usage.input_tokens,
            output: usage.output_tokens,
            cache_read: usage.cache_read_input_tokens,
            cache_write: usage.cache_creation_input_tokens,
            cost,
            ..call
        })
    }

    /// Records the call and returns how many milliseconds it took.
    async fn end(&mut self, answered: &Result<Reply, ModelError>) -> u64 {
        let usage = match answered {
            Ok(reply) => Some(usage_of(reply)),
            Err(error) => used_by(error),
        };
        let Some(mut call) = self.close(usage) else { return 0 };
        call.outcome = match answered {
            Ok(_) => "ok".to_owned(),
            Err(error) => error.class.to_string(),
        };
        let millis = call.millis;
        self.models.enter_call(call).await;
        millis
    }
}

/// Returns the usage of an answer, with an estimate of the output if the provider did not report it.
fn usage_of(reply: &Reply) -> TokenUsage {
    let mut usage = reply.usage;
    if usage.output_tokens == 0 {
        let bytes = reply.content.iter().map(|block| block.json.len()).sum();
        usage.output_tokens = u64::from(about_tokens(bytes));
    }
    usage
}

/// Returns what a failed call may have used; `None` if the provider refused it or was not reached.
fn used_by(error: &ModelError) -> Option<TokenUsage> {
    // Without a status, the connection was lost after the request was sent.
    let was_sent = error.status.is_none() && error.class == ErrorClass::Broken;
    error.usage.as_deref().copied().or_else(|| was_sent.then(TokenUsage::default))
}

impl Drop for LedgerEntry<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.close(Some(TokenUsage::default())) {
            // The call counts before its reservation ends, so that no other call slips through in between.
            self.models.cx.spawn(self.models.counted(call));
        }
    }
}

impl ModelService {
    /// Publishes a step of a model call to followers of the session.
    pub fn tell_model(&self, errand: Errand<'_>, step: ModelStep) {
        let (purpose, model) = (errand.purpose, errand.request.model.clone());
        let event = Event::Model { purpose, model, step };
        let told = serde_json::to_string(&event).unwrap_or_default();
        let Some(session) = errand.session else {
            return tracing::info!(step = told, "model");
        };
        tracing::info!(%session, step = told, "model");
        self.cx.hub().publish(session, Seq::ZERO, &event);
    }
}

/// Returns an error for a call that was not made.
pub(crate) fn forbidden(reason: impl Into<String>) -> ModelError {
    ModelError::new(ErrorClass::Forbidden, reason)
}

pub(crate) fn gave_up(error: &ModelError) -> ModelStep {
    ModelStep::GaveUp { class: error.class, message: error.message.clone() }
}

/// Returns the step as an event, and a description if something went wrong.
fn event(step: &AgentStep) -> (ModelStep, Option<String>) {
    match step {
        AgentStep::Failed { error, attempt } => {
            let (class, status) = (error.class, error.status);
            let message = error.message.clone();
            let failed = ModelStep::Failed { class, status, message, attempt: *attempt };
            (failed, Some(error.to_string()))
        }
        AgentStep::Again { change, wait, weight } => {
            let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            (ModelStep::Again { change, wait_ms, bytes: *weight }, None)
        }
        AgentStep::GaveUp { error } => (gave_up(error), None),
        AgentStep::Called { tool, ok } => (ModelStep::Called { tool: tool.clone(), ok: *ok }, None),
        AgentStep::Denied(denial) => {
            let (tool, reason) = (denial.tool.clone(), denial.reason.clone());
            let words = format!("{tool} was denied: {reason}");
            (ModelStep::Denied { tool, reason }, Some(words))
        }
    }
}
