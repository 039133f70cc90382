//! Server-sent events, and how a stream is resumed.

use bethink_harness::{Daemon, EventStream, say};
use serde_json::json;

fn path(session: &str) -> String {
    format!("/v1/sessions/{session}/events")
}

fn seqs(stream: &mut EventStream, count: usize) -> Vec<u64> {
    (0..count).map(|_| stream.next_of("message").json()["seq"].as_u64().expect("seq")).collect()
}

#[test]
fn every_append_is_told_in_order() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let other = daemon.session(200_000);
    let mut stream = daemon.client().events(&path(&session), None);
    for n in 0..5 {
        daemon.append(&other, &[say::user("elsewhere")]);
        daemon.append(&session, &say::work(n, 50));
    }
    assert_eq!(seqs(&mut stream, 20), (1..=20).collect::<Vec<u64>>());
}

#[test]
fn a_reader_that_was_away_gets_what_it_missed_once() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let mut stream = daemon.client().events(&path(&session), None);
    daemon.append(&session, &say::work(0, 50));
    let event = (0..3).map(|_| stream.next_of("message")).last().unwrap();
    assert_eq!(event.json()["seq"], 3);
    drop(stream);
    daemon.append(&session, &say::work(1, 50));
    let mut stream = daemon.client().events(&path(&session), Some(&event.id));
    daemon.append(&session, &say::work(2, 50));
    assert_eq!(seqs(&mut stream, 9), (4..=12).collect::<Vec<u64>>());
}

#[test]
fn the_place_in_the_stream_survives_a_kill() {
    let mut daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let mut stream = daemon.client().events(&path(&session), None);
    daemon.append(&session, &say::work(0, 50));
    let last = stream.next_of("message");
    assert_eq!(last.json()["seq"], 1);
    daemon.kill9();
    assert!(stream.find(|e| e.kind == "never").is_none(), "the stream ends");
    daemon.start();
    daemon.append(&session, &[say::user("after")]);
    let mut stream = daemon.client().events(&path(&session), Some(&last.id));
    assert_eq!(
        stream.next().expect("an event").kind,
        "reset",
        "todos, for example, are not replayed"
    );
    assert_eq!(seqs(&mut stream, 4), [2, 3, 4, 5]);
}

#[test]
fn a_repeated_append_is_not_told_again() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let mut stream = daemon.client().events(&path(&session), None);
    let one = say::with_id("one", say::user("x"));
    daemon.append(&session, std::slice::from_ref(&one));
    daemon.append(&session, std::slice::from_ref(&one));
    daemon.append(&session, &[say::user("y")]);
    assert_eq!(seqs(&mut stream, 2), [1, 2]);
}

#[test]
fn a_compaction_is_told() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    for n in 0..40 {
        daemon.append(&session, &say::work(n, 3000));
    }
    let mut stream = daemon.client().events(&path(&session), None);
    let made = daemon.client().post(&format!("/v1/sessions/{session}/compact"), &json!({})).ok();
    let told = stream.next_of("compaction").json();
    assert!(told.to_string().contains(made["id"].as_str().unwrap()), "{told}");
}

#[test]
fn an_id_that_is_none_is_refused() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    daemon.append(&session, &[say::user("x")]);
    let request = bethink_harness::Request::new("GET", &path(&session));
    let mut client = daemon.client();
    // Only the head is read, because a stream does not end.
    let answer = {
        let bad = request.header("Last-Event-ID", "-7 or so").header("Accept", "text/event-stream");
        client.must(&bad.header("Connection", "close"))
    };
    assert_eq!(
        answer.problem()["field"].as_str().map(str::to_lowercase).as_deref(),
        Some("last-event-id")
    );
    daemon.is_well();
}

#[test]
fn a_removed_session_ends_its_streams() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let stream = daemon.client().events(&path(&session), None);
    assert!(daemon.client().delete(&format!("/v1/sessions/{session}")).status < 300);
    assert_eq!(stream.filter(|e| e.kind == "message").count(), 0);
}

#[test]
fn readers_that_do_not_read_hold_up_nobody() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let idle: Vec<EventStream> =
        (0..20).map(|_| daemon.client().events(&path(&session), None)).collect();
    for n in 0..100 {
        daemon.append(&session, &say::work(n, 2000));
    }
    daemon.is_well();
    drop(idle);
    daemon.is_well();
}

#[test]
fn a_reader_that_missed_very_much_is_told_all_of_it_or_told_so() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let mut stream = daemon.client().events(&path(&session), None);
    daemon.append(&session, &[say::user("first")]);
    let last = stream.next_of("message").id;
    drop(stream);
    for n in 0..3 {
        let many: Vec<_> = (0..1000).map(|m| say::user(&format!("{n} {m}"))).collect();
        daemon.append(&session, &many);
    }
    let mut stream = daemon.client().events(&path(&session), Some(&last));
    daemon.append(&session, &[say::user("last")]);
    let mut expected = 2;
    let told = stream.find(|event| {
        let seq = event.json()["seq"].as_u64();
        let gap = event.kind == "message" && seq != Some(expected);
        expected += 1;
        event.kind == "reset" || gap || seq == Some(3002)
    });
    let told = told.expect("the stream goes on");
    let whole = told.kind == "reset" || expected == 3003;
    assert!(whole, "a silent gap before {}: {} events were told", told.data, expected - 2);
}

#[test]
fn who_follows_all_hears_of_every_session() {
    let daemon = Daemon::fresh();
    let mut stream = daemon.client().events("/v1/events", None);
    let (one, two) = (daemon.session(200_000), daemon.session(200_000));
    let created = |stream: &mut EventStream| stream.next_of("session").json();
    assert_eq!(created(&mut stream)["session_id"], one.as_str());
    assert_eq!(created(&mut stream)["change"], "created");
    daemon.append(&one, &[say::user("one")]);
    daemon.append(&two, &[say::user("two")]);
    let heard: Vec<_> = (0..2).map(|_| stream.next_of("message")).collect();
    let of = |event: &bethink_harness::events::Event| event.json()["session_id"].clone();
    assert_eq!(heard.iter().map(of).collect::<Vec<_>>(), [one.as_str(), two.as_str()]);
    daemon.client().post(&format!("/v1/sessions/{two}/context"), &json!({})).ok();
    let window = stream.next_of("context").json();
    assert_eq!(window["window"], 200_000);
    assert!(window["tokens"].as_u64().unwrap() > 0 && window["parts"].is_object(), "{window}");
    drop(stream);
    daemon.client().delete(&format!("/v1/sessions/{one}"));
    let mut stream = daemon.client().events("/v1/events", Some(&heard[0].id));
    assert_eq!(stream.next_of("message").json()["session_id"], two.as_str(), "what was missed");
    let deleted = stream.next_of("session").json();
    assert_eq!((&deleted["session_id"], &deleted["change"]), (&json!(one), &json!("deleted")));
}

#[test]
fn who_follows_all_and_comes_from_another_run_reads_anew() {
    let mut daemon = Daemon::fresh();
    let mut stream = daemon.client().events("/v1/events", None);
    let session = daemon.session(200_000);
    let seen = stream.next_of("session");
    daemon.kill9();
    daemon.start();
    let mut stream = daemon.client().events("/v1/events", Some(&seen.id));
    let reset = stream.next_of("reset");
    daemon.append(&session, &[say::user("again")]);
    assert_eq!(stream.next_of("message").json()["session_id"], session.as_str());
    let mut stream = daemon.client().events("/v1/events", Some(&reset.id));
    stream.next_of("message");
    let odd = daemon
        .client()
        .must(&bethink_harness::Request::new("GET", "/v1/events").header("Last-Event-ID", "3-4-5"));
    assert_eq!(odd.status, 422, "{}", odd.brief());
}
