//! The server's state: its script, the received requests, and counts.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bethink_harness::Rng;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;

use crate::answer::digest;
use crate::ask::{Ask, Purpose, Wire};
use crate::check;
use crate::fault::Fault;
use crate::http::Incoming;
use crate::script::Script;

/// Number of earlier prompts to compare with.
const PROMPTS: usize = 32;

/// A received request.
#[derive(Clone, Debug, Serialize)]
pub struct Seen {
    pub number: u64,
    pub path: String,
    pub wire: Wire,
    pub purpose: Purpose,
    pub headers: Vec<(String, String)>,
    /// The body as JSON, with the input of earlier requests that it continues; `null` if it was not JSON.
    pub json: Value,
    #[serde(skip)]
    pub body: Vec<u8>,
    pub stream: bool,
    /// Tokens of the prompt, as counted by this server.
    pub tokens: u64,
    /// The fault; `null` if there was none.
    pub fault: Option<Fault>,
    /// Why the request was rejected, if it was too large or invalid.
    pub refused: Option<String>,
    pub prompt_faults: Vec<String>,
    pub envelope_faults: Vec<String>,
    /// The client disconnected before the end.
    pub left: bool,
}

/// Counts since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub connections: u64,
    /// Number of requests for an answer.
    pub requests: u64,
    pub by_purpose: BTreeMap<&'static str, u64>,
    pub count_tokens: u64,
    pub models: u64,
    pub answered_well: u64,
    pub failed: BTreeMap<&'static str, u64>,
    /// Number of requests that exceeded the window.
    pub over_window: u64,
    /// Number of requests with invalid messages.
    pub invalid_prompts: u64,
    /// Number of requests with other problems.
    pub invalid_envelopes: u64,
    /// Number of requests that were retried unchanged after a permanent error.
    pub repeated: u64,
    /// Number of clients that disconnected before the end.
    pub left: u64,
    /// Number of requests to the target of a redirect.
    pub elsewhere: u64,
}

#[derive(Debug)]
pub(crate) struct State {
    inner: Mutex<Inner>,
    pub(crate) elsewhere: String,
    held: watch::Sender<bool>,
}

#[derive(Debug)]
struct Inner {
    script: Script,
    rng: Rng,
    counts: Counts,
    seen: VecDeque<Seen>,
    prompts: VecDeque<String>,
    /// Bodies that were rejected with a permanent error.
    dead: HashSet<String>,
    /// The items through each answer of the Responses API that is kept.
    responses: BTreeMap<String, Vec<Value>>,
}

/// The decision about a request before it is answered.
#[derive(Debug)]
pub(crate) struct Decided {
    pub(crate) number: u64,
    pub(crate) fault: Option<Fault>,
    /// Size of the prefix shared with an earlier prompt, in bytes.
    pub(crate) cached: usize,
    pub(crate) script: Script,
    pub(crate) prompt_faults: Vec<String>,
}

impl State {
    pub(crate) fn new(script: Script, elsewhere: String) -> Self {
        let inner = Inner {
            rng: Rng::new(script.seed),
            script,
            counts: Counts::default(),
            seen: VecDeque::new(),
            prompts: VecDeque::new(),
            dead: HashSet::new(),
            responses: BTreeMap::new(),
        };
        Self { inner: Mutex::new(inner), elsewhere, held: watch::Sender::new(false) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.lock().counts);
    }

    pub(crate) fn counts(&self) -> Counts {
        self.lock().counts.clone()
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.lock().seen.iter().cloned().collect()
    }

    pub(crate) fn set_script(&self, script: Script) {
        let mut inner = self.lock();
        inner.rng = Rng::new(script.seed);
        inner.script = script;
    }

    pub(crate) fn hold(&self, held: bool) {
        self.held.send_replace(held);
    }

    /// Waits until answers are no longer held back.
    pub(crate) async fn released(&self) {
        // The sender is not dropped before `self`.
        drop(self.held.subscribe().wait_for(|held| !held).await);
    }

    /// Returns the items through an answer that is kept.
    pub(crate) fn response(&self, id: &str) -> Option<Vec<Value>> {
        self.lock().responses.get(id).cloned()
    }

    pub(crate) fn keep_response(&self, id: String, items: Vec<Value>) {
        self.lock().responses.insert(id, items);
    }

    pub(crate) fn delete_response(&self, id: &str) -> bool {
        self.lock().responses.remove(id).is_some()
    }

    pub(crate) fn draw_unread(&self) -> Option<Fault> {
        let mut inner = self.lock();
        let fault = inner.script.draw_unread()?;
        inner.counts.requests += 1;
        *inner.counts.failed.entry(fault.name()).or_default() += 1;
        Some(fault)
    }

    /// Checks, counts and keeps a request, and chooses its fault.
    pub(crate) fn decide(&self, incoming: &Incoming, body: &Value, asked: &Ask) -> Decided {
        let faults = check::faults(asked.wire, &incoming.headers, body);
        let mut inner = self.lock();
        let Inner { script, rng, counts, .. } = &mut *inner;
        let fault = script.draw(asked.purpose, rng);
        counts.requests += 1;
        *counts.by_purpose.entry(asked.purpose.name()).or_default() += 1;
        counts.invalid_prompts += u64::from(!faults.prompt.is_empty());
        counts.invalid_envelopes += u64::from(!faults.envelope.is_empty());
        let key = digest(&String::from_utf8_lossy(&incoming.body));
        inner.counts.repeated += u64::from(inner.dead.contains(&key));
        let number = inner.counts.requests;
        let cached = inner.cached(&asked.pieces.text);
        let seen = Seen {
            number,
            path: incoming.path.clone(),
            wire: asked.wire,
            purpose: asked.purpose,
            headers: incoming.headers.clone(),
            json: body.clone(),
            body: incoming.body.clone(),
            stream: asked.stream,
            tokens: asked.tokens(),
            fault,
            refused: None,
            prompt_faults: faults.prompt.clone(),
            envelope_faults: faults.envelope,
            left: false,
        };
        inner.keep(seen);
        let script = inner.script.clone();
        Decided { number, fault, cached, script, prompt_faults: faults.prompt }
    }

    /// Records how a request ended: with success, with a fault, or rejected.
    pub(crate) fn ended(&self, decided: &Decided, asked: &Ask, refused: Option<&str>) {
        let mut inner = self.lock();
        match (refused, decided.fault) {
            (Some(reason), _) => inner.refused(decided.number, reason),
            (None, Some(fault)) => {
                *inner.counts.failed.entry(fault.name()).or_default() += 1;
                if fault.is_permanent() {
                    inner.bury(decided.number);
                }
            }
            (None, None) => {
                inner.counts.answered_well += 1;
                inner.prompts.push_back(asked.pieces.text.clone());
                if inner.prompts.len() > PROMPTS {
                    inner.prompts.pop_front();
                }
            }
        }
    }

    pub(crate) fn left(&self, number: u64) {
        let mut inner = self.lock();
        inner.counts.left += 1;
        let seen = inner.seen.iter_mut().find(|seen| seen.number == number);
        seen.into_iter().for_each(|seen| seen.left = true);
    }
}

impl Inner {
    fn keep(&mut self, seen: Seen) {
        self.seen.push_back(seen);
        while self.seen.len() > self.script.keep.max(1) {
            self.seen.pop_front();
        }
    }

    /// Returns the length of the longest prefix that an earlier prompt shares.
    fn cached(&self, text: &str) -> usize {
        let common =
            |known: &String| known.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
        self.prompts.iter().map(common).max().unwrap_or(0)
    }

    fn refused(&mut self, number: u64, reason: &str) {
        let seen = self.seen.iter_mut().find(|seen| seen.number == number);
        seen.into_iter().for_each(|seen| seen.refused = Some(reason.to_owned()));
        self.bury(number);
    }

    fn bury(&mut self, number: u64) {
        let body = self.seen.iter().find(|seen| seen.number == number).map(|seen| &seen.body);
        let key = body.map(|body| digest(&String::from_utf8_lossy(body)));
        self.dead.extend(key);
    }
}

impl Purpose {
    pub fn name(self) -> &'static str {
        match self {
            Purpose::Summary => "summary",
            Purpose::Notes => "notes",
            Purpose::Recall => "recall",
            Purpose::Other => "other",
        }
    }
}
