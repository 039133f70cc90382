//! The provider's prompt cache, watched message by message: a break is told once, with its cause.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bethink_api as api;
use bethink_context::cache::{CacheFall, CacheWatch};
use bethink_context::{History, Shape};
use bethink_transcript::{Message, Seq};

use crate::Daemon;
use crate::clock::rfc3339;
use crate::hot::HotSession;

const MINUTE_MICROS: i64 = 60_000_000;

/// The watch of a session, shared by its slot and its hot state: it outlives a state that is loaded anew
/// because the session's model was changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cache(Arc<Mutex<CacheWatch>>);

impl Cache {
    fn watch(&self) -> MutexGuard<'_, CacheWatch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn handed_out(&self, shape: &Shape, changed_by: Option<&str>) {
        self.watch().handed_out(shape.system, shape.tools, changed_by);
    }

    pub(crate) fn compacted(&self) {
        self.watch().compacted();
    }

    pub(crate) fn report(&self) -> api::CacheReport {
        let watch = self.watch();
        api::CacheReport { breaks: watch.breaks(), last: watch.last_fall().map(out) }
    }

    /// What was told before `first` is only compared with: nobody waits to hear of it.
    fn begin(&self, history: &History, first: Seq, model: &str) {
        let mut watch = self.watch();
        if watch.has_begun() {
            return;
        }
        let before = history.entries().iter().rev().map(|entry| &entry.message);
        let told = before.filter(|m| m.seq < first).find(|m| m.usage.is_some());
        if let Some(message) = told {
            watch.observe(message, model, 0);
        }
    }
}

impl Daemon {
    /// Looks at messages that have just arrived, in order.
    pub(crate) fn watch_cache(&self, hot: &HotSession, new: &[Arc<Message>]) {
        let Some(first) = new.iter().map(|message| message.seq).min() else { return };
        let model = &hot.model.name;
        hot.cache.begin(&hot.history, first, model);
        let minutes = i64::try_from(self.settings().context.cache_ttl_minutes).unwrap_or(i64::MAX);
        let ttl = minutes.saturating_mul(MINUTE_MICROS);
        for message in new {
            let fall = hot.cache.watch().observe(message, model, ttl);
            if let Some(fall) = fall {
                self.tell_cache(hot, &fall);
            }
        }
    }

    fn tell_cache(&self, hot: &HotSession, fall: &CacheFall) {
        let told = out(fall);
        if !told.expected {
            metrics::counter!("bethink_cache_breaks_total", "cause" => told.cause.clone())
                .increment(1);
        }
        let data = serde_json::json!({
            "cause": told.cause, "read_before": told.read_before, "read_now": told.read_now,
            "at": told.at, "expected": told.expected,
        });
        self.hub().publish(hot.session.id, "cache", fall.seq, &data);
    }
}

fn out(fall: &CacheFall) -> api::CacheFall {
    api::CacheFall {
        cause: fall.cause.as_str().to_owned(),
        read_before: fall.cached,
        read_now: fall.read,
        at: rfc3339(fall.at),
        expected: fall.cause.is_expected(),
    }
}
