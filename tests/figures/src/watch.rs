//! Counts calls to a model server while the daemon reports that the model is paused.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bethink_harness::Daemon;
use bethink_model_server::Server;

/// Time between two checks.
const PAUSE: Duration = Duration::from_millis(10);

/// The observations while the breaker was open.
#[derive(Clone, Copy, Debug, Default)]
pub struct Open {
    pub time: Duration,
    pub calls: u64,
}

/// One check: whether the model is paused, and until when at least.
#[derive(Clone, Copy)]
struct Look {
    at: Instant,
    until: Option<Instant>,
    calls: u64,
}

/// Observes the daemon while `work` runs.
pub fn during<T: Send>(
    daemon: &Daemon,
    server: &Server,
    work: impl FnOnce() -> T + Send,
) -> (T, Open) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| watch(daemon, server, &done));
        let made = work();
        done.store(true, Ordering::Relaxed);
        (made, watching.join().expect("who looks on"))
    })
}

fn watch(daemon: &Daemon, server: &Server, done: &AtomicBool) -> Open {
    let mut client = daemon.client();
    let mut look = || {
        let at = Instant::now();
        let model = client.get("/v1/model").ok();
        let until = rests(&model).map(|rest| at + rest);
        Look { at, until, calls: server.counts().requests }
    };
    let mut open = Open::default();
    // A call just before the breaker opened may be counted just after, so the first check is ignored.
    let (mut before, mut last) = (look(), look());
    while !done.load(Ordering::Relaxed) {
        std::thread::park_timeout(PAUSE);
        let now = look();
        if [before, last].into_iter().all(|earlier| earlier.until > Some(now.at))
            && now.until.is_some()
        {
            open.time += now.at - last.at;
            open.calls += now.calls - last.calls;
        }
        (before, last) = (last, now);
    }
    open
}

/// Returns how long the model is paused at least; `None` if it is not paused.
pub fn rests(model: &serde_json::Value) -> Option<Duration> {
    if model["state"] != "resting" {
        return None;
    }
    let detail = model["detail"].as_str().unwrap_or_default();
    let seconds = detail
        .split_once(" for another ")
        .and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
    Some(Duration::from_secs(seconds.unwrap_or_else(|| panic!("for how long? {model}"))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rest_is_read_as_it_is_told() {
        let told = |state: &str, detail: &str| rests(&json!({"state": state, "detail": detail}));
        assert_eq!(told("ready", ""), None);
        let detail = "the model is paused for another 57 s after 3 failures in a row, most recently: \
                      x for y";
        assert_eq!(told("resting", detail), Some(Duration::from_secs(57)));
    }
}
