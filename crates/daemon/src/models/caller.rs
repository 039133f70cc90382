//! Stands between a fork and its model: each call is let through, timed, paid for and written down, and
//! each step is told to whoever follows the session.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bethink_agent::{Host, Step, Waited};
use bethink_model::{Answer, Class, Counted, Hearer, Model, ModelError, Reply, Request};
use bethink_store::ModelCall;
use bethink_transcript::{CallId, Seq, Usage};
use serde_json::{Value, json};
use tokio::sync::SemaphorePermit;
use tokio::time::Instant;
use uuid::Uuid;

use super::Errand;
use super::breaker::Pass;
use crate::Daemon;

/// A wait is longer by a chance share of up to a fifth: 255 of this.
const JITTER: u32 = 1_280;

/// A byte by chance, from where ids have theirs.
fn rand_byte() -> u8 {
    Uuid::new_v4().as_bytes().first().copied().unwrap_or_default()
}

/// One errand's way to the model.
pub(crate) struct Caller<'a> {
    daemon: &'a Daemon,
    model: &'a dyn Model,
    errand: Errand<'a>,
    pub(crate) pass: Pass<'a>,
    tried: Mutex<Vec<String>>,
    _turn: SemaphorePermit<'a>,
}

impl std::fmt::Debug for Caller<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller").field("purpose", &self.errand.purpose).finish_non_exhaustive()
    }
}

impl<'a> Caller<'a> {
    pub(crate) fn new(
        daemon: &'a Daemon,
        model: &'a dyn Model,
        errand: Errand<'a>,
        pass: Pass<'a>,
        turn: SemaphorePermit<'a>,
    ) -> Self {
        Self { daemon, model, errand, pass, tried: Mutex::default(), _turn: turn }
    }

    /// What failed or was denied, in words.
    pub(crate) fn tried(&self) -> Vec<String> {
        self.tried.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Model for Caller<'_> {
    fn provider(&self) -> &'static str {
        self.model.provider()
    }

    fn call<'a>(&'a self, request: &'a Request, heard: &'a dyn Hearer) -> Answer<'a> {
        Box::pin(async move {
            if self.pass.is_void() {
                return Err(ModelError::new(Class::Forbidden, "the model is being left alone"));
            }
            let allowed = self.daemon.within_budget();
            allowed.map_err(|reason| ModelError::new(Class::Forbidden, reason))?;
            let asked = json!({ "step": "asked", "tokens": super::prefix::weigh(request) });
            self.daemon.tell_model(self.errand, &asked);
            let mut entry = Entry::begin(self, request);
            let answered = self.model.call(request, heard).await;
            let millis = entry.end(&answered).await;
            if let Ok(reply) = &answered {
                let told = json!({ "step": "answered", "output_tokens": reply.usage.output_tokens,
                    "cache_read_tokens": reply.usage.cache_read_input_tokens, "ms": millis });
                self.daemon.tell_model(self.errand, &told);
            }
            answered
        })
    }

    fn count<'a>(&'a self, request: &'a Request) -> Counted<'a> {
        self.model.count(request)
    }
}

impl Host for Caller<'_> {
    fn wait(&self, time: Duration) -> Waited<'_> {
        // A little more, so that daemons that were refused together don't come back together.
        let more = time.saturating_mul(u32::from(rand_byte())) / JITTER;
        Box::pin(tokio::time::sleep(time + more))
    }

    fn cost(&self, model: &str, usage: &Usage) -> Option<u64> {
        self.daemon.cost_of(model, usage)
    }

    fn record(&self, step: &Step) {
        let (told, words) = event(step);
        self.daemon.tell_model(self.errand, &told);
        if let Some(words) = words {
            self.tried.lock().unwrap_or_else(PoisonError::into_inner).push(words);
        }
    }
}

/// An entry of the ledger. A call that is broken off leaves one too: it may have cost money.
struct Entry<'a> {
    daemon: &'a Daemon,
    begun: Instant,
    call: Option<ModelCall>,
}

impl<'a> Entry<'a> {
    fn begin(caller: &Caller<'a>, request: &Request) -> Self {
        let call = ModelCall {
            id: CallId(Uuid::now_v7()),
            session: caller.errand.session,
            purpose: caller.errand.purpose.as_str().to_owned(),
            provider: caller.model.provider().to_owned(),
            model: request.model.clone(),
            started_at: caller.daemon.now(),
            millis: 0,
            input: 0,
            output: 0,
            cache_read: 0,
            cache_write: 0,
            cost: None,
            outcome: "broken_off".to_owned(),
        };
        Self { daemon: caller.daemon, begun: Instant::now(), call: Some(call) }
    }

    fn close(&mut self) -> Option<ModelCall> {
        let millis = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.call.take().map(|call| ModelCall { millis, ..call })
    }

    /// Milliseconds that the call took.
    async fn end(&mut self, answered: &Result<Reply, ModelError>) -> u64 {
        let Some(mut call) = self.close() else { return 0 };
        match answered {
            Ok(reply) => {
                call.outcome = "ok".to_owned();
                call.input = reply.usage.input_tokens;
                call.output = reply.usage.output_tokens;
                call.cache_read = reply.usage.cache_read_input_tokens;
                call.cache_write = reply.usage.cache_creation_input_tokens;
                call.cost = self.daemon.cost_of(&call.model, &reply.usage);
            }
            Err(error) => call.outcome = error.class.as_str().to_owned(),
        }
        let millis = call.millis;
        self.daemon.enter_call(call).await;
        millis
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.close() {
            let daemon = self.daemon.clone();
            self.daemon.spawn(async move { daemon.enter_call(call).await });
        }
    }
}

impl Daemon {
    /// A step on the way to a model's answer, for those who follow the session.
    pub(crate) fn tell_model(&self, errand: Errand<'_>, told: &Value) {
        let mut data = json!({ "purpose": errand.purpose.as_str(), "model": errand.request.model });
        if let (Value::Object(data), Value::Object(told)) = (&mut data, told) {
            data.extend(told.clone());
        }
        let Some(session) = errand.session else {
            return tracing::info!(step = %data, "model");
        };
        tracing::info!(%session, step = %data, "model");
        self.hub().publish(session, "model", Seq::ZERO, &data);
    }
}

pub(crate) fn gave_up(error: &ModelError) -> Value {
    json!({ "step": "gave_up", "class": error.class.as_str(), "message": error.message })
}

/// The step as an event, and in words where something went wrong.
fn event(step: &Step) -> (Value, Option<String>) {
    match step {
        Step::Failed { error, attempt } => (
            json!({ "step": "failed", "class": error.class.as_str(), "status": error.status,
                "message": error.message, "attempt": attempt }),
            Some(error.to_string()),
        ),
        Step::Again { change, wait, weight } => (
            json!({ "step": "again", "change": change, "wait_ms": wait.as_millis() as u64,
                "bytes": weight }),
            None,
        ),
        Step::GaveUp { error } => (gave_up(error), None),
        Step::Called { tool, ok } => (json!({ "step": "called", "tool": tool, "ok": ok }), None),
        Step::Denied(denial) => (
            json!({ "step": "denied", "tool": denial.tool, "reason": denial.reason }),
            Some(format!("{} was denied: {}", denial.tool, denial.reason)),
        ),
    }
}
