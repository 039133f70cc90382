//! Another program listens at the daemon's address.

use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;

use bethink_harness::{Daemon, Home};
use serde_json::json;

use crate::person::{PROMPT, Person, token};
use crate::stranger::Stranger;

/// A home whose daemon serves no socket, so that clients use TCP.
fn without_socket() -> Home {
    Home::new().with("BETHINK_DAEMON__SOCKET", "false")
}

/// Every kind of client, after the daemon has gone and a stranger has taken its port.
#[track_caller]
fn gets_nothing(daemon: &Daemon) {
    let stranger = Stranger::at(daemon.addr());
    let person = Person::of(&daemon.home);
    person.prompts().is_silent();
    assert_eq!(person.waiting(), 1, "the event waits for the daemon");
    assert_eq!(person.run(&["status"]).code, Some(3));
    // These start a daemon of their own.
    let listed = person.run(&["session", "ls", "--all"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let answer = person.calls();
    assert!(answer["result"].is_object(), "{answer}");
    assert_eq!(person.run(&["down"]).code, Some(0));
    assert_eq!(stranger.heard(), "", "nobody connected to it");
}

#[test]
fn a_stranger_on_the_port_of_a_killed_daemon_gets_nothing() {
    let mut daemon = Daemon::fresh();
    daemon.kill9();
    assert!(daemon.home.path().join("daemon.sock").exists(), "a killed daemon leaves its files");
    gets_nothing(&daemon);
}

#[test]
fn without_a_socket_the_address_that_a_killed_daemon_left_is_not_used() {
    let mut daemon = without_socket().start();
    daemon.kill9();
    assert!(daemon.home.path().join("daemon.json").exists());
    gets_nothing(&daemon);
}

#[test]
fn a_stranger_on_the_port_of_a_stopped_daemon_gets_nothing() {
    let mut daemon = Daemon::fresh();
    daemon.terminate();
    gets_nothing(&daemon);
}

/// A home whose daemon seems to run at this address.
fn pretend(home: &Home, addr: SocketAddr) -> File {
    std::fs::create_dir_all(home.path()).unwrap();
    let secret = "0123456789abcdef0123456789abcdef";
    std::fs::write(home.path().join("token"), secret).unwrap();
    announce(home.path(), addr);
    let lock = File::create(home.path().join("lock")).unwrap();
    lock.lock().unwrap();
    lock
}

fn announce(home: &Path, addr: SocketAddr) {
    let file =
        json!({ "url": format!("http://{addr}"), "pid": std::process::id(), "version": "0" });
    std::fs::write(home.join("daemon.json"), file.to_string()).unwrap();
}

/// Every kind of client refuses the stranger, and says so.
#[track_caller]
fn is_refused(person: &Person, why: &str) {
    person.prompts().is_silent();
    assert_eq!(person.waiting(), 1, "the event waits for the daemon");
    let faults = std::fs::read_to_string(person.home.join("hooks.log")).unwrap();
    assert!(faults.contains(why), "{faults}");
    for words in [&["session", "ls"][..], &["remember", PROMPT], &["status"], &["down"]] {
        let ran = person.run(words);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains(why) && !ran.err.contains("evil"), "{ran:?}");
    }
    let listed = person.run(&["session", "ls"]);
    assert!(listed.err.contains("bethink token rotate"), "{listed:?}");
    let answer = person.calls();
    let detail = answer["error"]["message"].as_str().unwrap();
    assert!(detail.contains(why), "{answer}");
}

#[test]
fn a_stranger_that_cannot_prove_to_be_the_daemon_gets_nothing() {
    let home = Home::new();
    let stranger = Stranger::at(SocketAddr::from(([127, 0, 0, 1], 0)));
    let _lock = pretend(&home, stranger.addr);
    let why = format!("did not prove that it is the daemon of {}", home.path().display());
    is_refused(&Person::of(&home), &why);
    stranger.got_nothing(&token(home.path()));
    assert!(stranger.heard().contains("GET /v1/proof"), "it was asked");
}

#[test]
fn a_stranger_that_passes_the_question_on_to_the_daemon_gets_nothing() {
    let daemon = without_socket().start();
    let stranger = Stranger::relaying_to(daemon.addr());
    announce(daemon.home.path(), stranger.addr);
    is_refused(&Person::of(&daemon.home), "its proof is wrong");
    stranger.got_nothing(daemon.token());
    let home = Home::new();
    let person = Person::of(&home)
        .with("BETHINK_URL", &format!("http://{}", stranger.addr))
        .with("BETHINK_TOKEN", daemon.token());
    let listed = person.run(&["session", "ls"]);
    assert!(listed.err.contains("its proof is wrong"), "{listed:?}");
    stranger.got_nothing(daemon.token());
}

#[test]
fn a_daemon_that_proves_itself_is_used_over_tcp() {
    let daemon = without_socket().start();
    daemon.session(200_000);
    let person = Person::of(&daemon.home);
    let port = daemon.addr().port();
    let away = Home::new();
    let named = Person::of(&away)
        .with("BETHINK_URL", &format!("http://localhost:{port}"))
        .with("BETHINK_TOKEN", daemon.token());
    for person in [person, named] {
        let listed = person.run(&["session", "ls", "--all"]);
        assert!(listed.code == Some(0) && listed.out.lines().count() > 1, "{listed:?}");
        assert_eq!(person.prompts().code, Some(0));
        person.has_delivered();
        let answer = person.calls();
        assert!(answer["result"].is_object(), "{answer}");
    }
}

#[test]
fn without_a_token_nothing_is_sent() {
    let stranger = Stranger::at(SocketAddr::from(([127, 0, 0, 1], 0)));
    let home = Home::new();
    let person = Person::of(&home).with("BETHINK_URL", &format!("http://{}", stranger.addr));
    person.prompts().is_silent();
    let listed = person.run(&["session", "ls"]);
    assert!(listed.code == Some(1) && listed.err.contains("BETHINK_TOKEN"), "{listed:?}");
    assert_eq!(stranger.heard(), "");
}

/// Clients would only try the socket that a killed daemon left.
#[test]
fn a_daemon_without_a_socket_removes_that_of_an_earlier_one() {
    let mut earlier = Daemon::fresh();
    earlier.kill9();
    let home = Home::at(earlier.home.path()).with("BETHINK_DAEMON__SOCKET", "false");
    let daemon = home.start();
    assert!(!daemon.home.path().join("daemon.sock").exists());
    assert_eq!(Person::of(&daemon.home).run(&["status"]).code, Some(0));
}

/// With the socket there, no command and no hook uses TCP.
#[test]
fn the_socket_comes_first() {
    let daemon = Daemon::fresh();
    let stranger = Stranger::at(SocketAddr::from(([127, 0, 0, 1], 0)));
    announce(daemon.home.path(), stranger.addr);
    let person = Person::of(&daemon.home);
    assert_eq!(person.run(&["session", "ls", "--all"]).code, Some(0));
    assert_eq!(person.prompts().code, Some(0));
    person.has_delivered();
    assert!(person.calls()["result"].is_object());
    assert_eq!(stranger.heard(), "");
}
