//! A run from its beginning to its end, and one that is dropped.

use super::*;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn one_answer_without_calls_is_the_end() {
    let (script, world) = (Script::new([says("a summary")]), World::default());
    let done = forked(&script, &world, &[], BUDGET).unwrap();
    assert_eq!((done.text.as_str(), &done.ended, done.turns), ("a summary", &Ended::Done, 1));
    assert_eq!(done.usage.total(), 15);
    assert_eq!(script.asked()[0].messages_json(), instruction().messages_json());
    assert!(world.steps.lock().unwrap().is_empty());
}

/// A model that never answers, and records when its caller stops waiting.
#[derive(Debug, Default)]
struct Hangs {
    dropped: Arc<AtomicBool>,
}

struct Notice(Arc<AtomicBool>);

impl Drop for Notice {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Model for Hangs {
    fn provider(&self) -> &'static str {
        "openai"
    }

    fn call<'a>(&'a self, _: &'a ModelRequest) -> Answer<'a> {
        let notice = Notice(self.dropped.clone());
        Box::pin(async move {
            let _notice = notice;
            std::future::pending().await
        })
    }

    fn count<'a>(&'a self, _: &'a ModelRequest) -> Counted<'a> {
        Box::pin(async { Ok(None) })
    }
}

#[test]
fn to_drop_a_run_is_to_drop_its_call() {
    let (model, world, request) = (Hangs::default(), World::default(), instruction());
    let fork = Fork { request: &request, budget: BUDGET, tools: &[] };
    let mut running: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(run(fork, &model, &world));
    let mut context = Context::from_waker(Waker::noop());
    assert!(running.as_mut().poll(&mut context).is_pending());
    assert!(!model.dropped.load(Ordering::SeqCst));
    drop(running);
    assert!(model.dropped.load(Ordering::SeqCst));
}
