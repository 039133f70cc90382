//! Watches the provider's prompt cache message by message. Each drop in the number of tokens read from the cache is
//! reported once, with its cause.

use std::sync::{Arc, Mutex, MutexGuard};

use bethink_api as api;
use bethink_context::History;
use bethink_context::cache::{CacheDrop, CacheWatch};
use bethink_service::{locked, rfc3339};
use bethink_transcript::Seq;

/// The cache watch of a session, shared by its handle and its loaded state. The watch survives a reload of the state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cache(Arc<Mutex<CacheWatch>>);

impl Cache {
    pub(crate) fn watch(&self) -> MutexGuard<'_, CacheWatch> {
        locked(&self.0)
    }

    pub(crate) fn report(&self) -> api::CacheReport {
        let watch = self.watch();
        api::CacheReport { breaks: watch.breaks(), last: watch.last_fall().map(cache_fall_out) }
    }

    /// Starts with the newest report before message `first`. Earlier drops are not reported.
    pub(crate) fn begin(&self, history: &History, first: Seq, model: &str) {
        let mut watch = self.watch();
        if watch.has_begun() {
            return;
        }
        let before = history.entries().iter().rev().map(|entry| &entry.message);
        let reported = before.filter(|m| m.seq < first).find(|m| m.usage.is_some());
        if let Some(message) = reported {
            watch.observe(message, model, 0);
        }
    }
}

pub(crate) fn cache_fall_out(fall: &CacheDrop) -> api::CacheFall {
    api::CacheFall {
        cause: fall.cause,
        read_before: fall.cached,
        read_now: fall.read,
        at: rfc3339(fall.at),
        expected: fall.is_expected(),
    }
}
