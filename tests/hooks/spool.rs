//! A daemon that is not there, hangs, or dies: nothing is lost, nothing counts twice, nobody waits.

use std::time::Duration;

use bethink_harness::{Daemon, Home, until};
use rustix::process::{Pid, Signal, kill_process};

use crate::agent::{Agent, PATIENCE, followed, is_emptied, waiting};

/// Far above any deadline, far below a hang: a loaded machine starts processes slowly.
const NOT_A_HANG: Duration = Duration::from_secs(5);

fn stop(daemon: &Daemon, signal: Signal) {
    let pid = daemon.pid().and_then(|pid| Pid::from_raw(i32::try_from(pid).unwrap()));
    kill_process(pid.unwrap(), signal).unwrap();
}

/// How often the daemon says that it took an event from the spool.
fn delivered(daemon: &Daemon) -> u64 {
    let metrics = daemon.client().get("/metrics").text();
    let line = metrics.lines().find(|line| line.starts_with("bethink_hook_events_spooled_total"));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0)
}

#[test]
fn what_no_daemon_took_is_delivered_by_the_next_one_in_order_and_once() {
    let mut daemon = Daemon::fresh();
    daemon.terminate();
    let agent = Agent::new(&daemon.home, "down");
    for n in 1..=5 {
        agent.say("user", &format!("u{n}"), "while nobody listens");
        agent.hook("Stop").is_silent();
        assert_eq!(waiting(daemon.home.path()).len(), n);
    }
    daemon.start();
    is_emptied(&daemon);
    assert_eq!(followed(&daemon, 5).1, ["u1", "u2", "u3", "u4", "u5"]);
    assert_eq!(delivered(&daemon), 5);
    daemon.kill9();
    daemon.start();
    followed(&daemon, 5);
    assert_eq!(delivered(&daemon), 0);
}

#[test]
fn an_event_that_the_daemon_took_and_the_hook_spooled_counts_once() {
    let mut daemon = Daemon::fresh();
    let agent = Agent::new(&daemon.home, "hangs");
    agent.say("user", "u1", "before");
    agent.hook("Stop").is_silent();
    followed(&daemon, 1);
    is_emptied(&daemon);
    stop(&daemon, Signal::STOP);
    agent.say("user", "u2", "while it hangs");
    let ran = agent.hook("Stop");
    ran.is_silent();
    assert!(ran.took < NOT_A_HANG, "{:?}", ran.took);
    assert_eq!(waiting(daemon.home.path()).len(), 1);
    // The request lies in its socket: it is the sign to look into the spool, though nobody waits any more.
    stop(&daemon, Signal::CONT);
    followed(&daemon, 2);
    agent.say("user", "u3", "after");
    agent.hook("Stop").is_silent();
    assert_eq!(followed(&daemon, 3).1, ["u1", "u2", "u3"]);
    is_emptied(&daemon);
    daemon.kill9();
}

#[test]
fn the_next_hook_that_gets_through_has_the_rest_delivered() {
    let daemon = Daemon::fresh();
    let agent = Agent::new(&daemon.home, "later");
    stop(&daemon, Signal::STOP);
    let other = Agent::new(&daemon.home, "other");
    other.say("user", "o1", "said to nobody");
    other.hook("SessionEnd").is_silent();
    assert_eq!(waiting(daemon.home.path()).len(), 1);
    stop(&daemon, Signal::CONT);
    agent.hook("SessionStart");
    is_emptied(&daemon);
    assert_eq!(followed(&daemon, 1).1, ["o1"]);
}

#[test]
fn a_session_that_starts_has_a_daemon_started_and_does_not_wait_for_it() {
    let home = Home::new();
    let agent = Agent::new(&home, "starts");
    agent.say("user", "u1", "hello");
    agent.hook("SessionStart").is_silent();
    let started = until(PATIENCE, || {
        let file = std::fs::read(home.path().join("daemon.json")).ok()?;
        let file: serde_json::Value = serde_json::from_slice(&file).ok()?;
        let pid = Pid::from_raw(i32::try_from(file["pid"].as_i64()?).ok()?)?;
        waiting(home.path()).is_empty().then_some(pid)
    });
    let started = started.expect("a daemon that took the event");
    kill_process(started, Signal::TERM).unwrap();
    let ended = until(PATIENCE, || rustix::process::test_kill_process(started).err());
    assert!(ended.is_some());
}

#[test]
fn other_events_start_no_daemon() {
    let home = Home::new();
    let agent = Agent::new(&home, "quiet");
    for event in ["UserPromptSubmit", "PostToolUse", "PreCompact", "Stop", "SessionEnd"] {
        agent.hook(event).is_silent();
    }
    assert_eq!(waiting(home.path()).len(), 5);
    assert!(!home.path().join("start.lock").exists() && !home.path().join("daemon.log").exists());
}

#[test]
fn only_the_owner_can_read_what_waits() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let agent = Agent::new(&home, "modes");
    agent.hook("Stop").is_silent();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&waiting(home.path())[0]), 0o600);
    assert_eq!(mode(&home.path().join("spool/hooks")), 0o700);
    assert_eq!(mode(home.path()), 0o700);
}
