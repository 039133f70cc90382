//! Start, stop, and two daemons with the same home.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bethink_harness::{Daemon, Home, Request, daemon, http, kill_loop, say, until};
use serde_json::json;

#[test]
fn a_second_daemon_on_one_home_leaves_at_once_and_says_who_holds_it() {
    let first = Daemon::fresh();
    let session = first.session(200_000);
    let start = Instant::now();
    let output = first.home.command().stderr(std::process::Stdio::piped()).output().unwrap();
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert!(!output.status.success());
    let told = String::from_utf8_lossy(&output.stderr);
    let pid = first.pid().unwrap().to_string();
    assert!(told.contains(&pid), "names the holder {pid}: {told}");
    assert!(!told.contains("panicked"), "{told}");
    first.append(&session, &[say::user("still mine")]);
    // The first daemon's files are unchanged.
    let file = std::fs::read_to_string(first.home.path().join("daemon.json")).unwrap();
    assert!(file.contains(&pid), "{file}");
    first.is_well();
}

#[test]
fn a_stop_finishes_what_is_under_way() {
    let mut daemon = Daemon::fresh();
    let sessions: Vec<String> = (0..4).map(|_| daemon.session(60_000)).collect();
    let acknowledged = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let status = std::thread::scope(|scope| {
        for session in &sessions {
            let (mut client, acknowledged, stop) = (daemon.client(), &acknowledged, &stop);
            scope.spawn(move || {
                for n in 0.. {
                    let messages: Vec<_> = say::work(n, 500)
                        .into_iter()
                        .enumerate()
                        .map(|(i, m)| say::with_id(&format!("m{n}-{i}"), m))
                        .collect();
                    let path = format!("/v1/sessions/{session}/messages");
                    let request = Request::new("POST", &path).json(&json!({"messages": messages}));
                    match client.send(&request) {
                        Ok(answer) if answer.status == 200 => {
                            acknowledged.fetch_add(4, Ordering::SeqCst);
                        }
                        Ok(answer) => {
                            assert_eq!(answer.problem()["status"], 503);
                            break;
                        }
                        Err(_) => break,
                    }
                    if stop.load(Ordering::SeqCst) {
                        break;
                    }
                }
            });
        }
        let busy = until(bethink_harness::wait::PATIENCE, || {
            (acknowledged.load(Ordering::SeqCst) > 200).then_some(())
        });
        assert!(busy.is_some(), "the writers write");
        let start = Instant::now();
        let status = daemon.terminate();
        assert!(start.elapsed() < daemon::STOP, "{:?}", start.elapsed());
        stop.store(true, Ordering::SeqCst);
        status
    });
    assert!(status.success(), "{status:?}\n{}", daemon.home.log());
    daemon.start();
    let stored: usize =
        sessions.iter().map(|s| kill_loop::stored(&mut daemon.client(), s).len()).sum();
    let promised = acknowledged.load(Ordering::SeqCst);
    // At most the last append of each writer was stored but not acknowledged.
    assert!((promised..=promised + 16).contains(&stored), "{promised} promised, {stored} stored");
    daemon.is_well();
}

#[test]
fn a_stop_waits_for_no_reader() {
    let mut daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let stream = daemon.client().events(&format!("/v1/sessions/{session}/events"), None);
    let _half_a_request = {
        let mut open = http::connect(daemon.addr()).unwrap();
        open.write_all(b"GET /health HT").unwrap();
        open
    };
    let start = Instant::now();
    assert!(daemon.terminate().success());
    assert!(start.elapsed() < daemon::STOP, "{:?}", start.elapsed());
    assert_eq!(stream.filter(|e| e.kind == "message").count(), 0, "the stream ends");
}

#[test]
fn a_stop_takes_its_files_along() {
    let mut daemon = Daemon::fresh();
    let home = daemon.home.path().to_path_buf();
    let token = daemon.token().to_owned();
    assert!(home.join("daemon.json").exists() && home.join("daemon.sock").exists());
    assert!(daemon.terminate().success());
    assert!(!home.join("daemon.json").exists(), "nobody serves there any more");
    daemon.start();
    assert_eq!(daemon.token(), token, "clients stay welcome");
}

#[test]
fn half_a_head_is_closed_in_time() {
    let home = Home::new().with("BETHINK_DAEMON__HEADER_TIMEOUT_MS", "300");
    let daemon = home.start();
    let mut open = http::connect(daemon.addr()).unwrap();
    open.write_all(b"GET /health HTTP/1.1\r\nHost: x").unwrap();
    let mut rest = Vec::new();
    open.read_to_end(&mut rest).expect("closed, not left hanging");
    daemon.is_well();
}

#[test]
fn the_socket_serves_the_same_routes() {
    let daemon = Daemon::fresh();
    let mut socket = UnixStream::connect(daemon.home.path().join("daemon.sock")).unwrap();
    let request = format!(
        "GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        daemon.token()
    );
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("sessions"), "{answer}");
}

#[test]
fn health_and_metrics_tell_how_it_is() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    daemon.append(&session, &say::work(1, 100));
    let health = daemon.client().get("/health").ok();
    assert!(health["version"].is_string(), "{health}");
    let metrics = daemon.client().get("/metrics");
    assert_eq!(metrics.status, 200);
    let text = metrics.text();
    let samples = text.lines().filter(|l| !l.starts_with('#') && !l.is_empty());
    assert!(samples.clone().count() > 0, "{text}");
    assert!(
        samples.clone().all(|l| l.rsplit(' ').next().unwrap().parse::<f64>().is_ok()),
        "{text}"
    );
}

#[test]
fn kills_and_stops_in_turn_keep_every_message() {
    let mut daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    for n in 0..6 {
        daemon.append(&session, &say::work(n, 300));
        if n % 2 == 0 {
            daemon.kill9();
        } else {
            assert!(daemon.terminate().success());
        }
        daemon.start();
    }
    assert_eq!(kill_loop::stored(&mut daemon.client(), &session).len(), 24);
}
