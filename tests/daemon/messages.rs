//! Appends and reads of history.

use bethink_harness::{Daemon, Request, Rng, kill_loop, say};
use serde_json::{Value, json};

#[test]
fn an_append_answers_its_place_and_the_level() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let first = daemon.append(&session, &say::work(1, 1000));
    assert_eq!(
        (&first["appended"], &first["first_seq"], &first["last_seq"]),
        (&json!(4), &json!(1), &json!(4))
    );
    assert_eq!(first["context"]["level"], "comfortable");
    let before = first["context"]["tokens"].as_u64().unwrap();
    let second = daemon.append(&session, &say::work(2, 1000));
    assert_eq!((&second["first_seq"], &second["last_seq"]), (&json!(5), &json!(8)));
    assert!(second["context"]["tokens"].as_u64().unwrap() > before);
    let session = daemon.client().get(&format!("/v1/sessions/{session}")).ok();
    assert_eq!((&session["messages"], &session["last_seq"]), (&json!(8), &json!(8)));
}

#[test]
fn history_gives_back_the_very_bytes() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let messages = [
        r#"{"role":"user" ,"x": 1e3,"content":[ {"type":"advisor", "z":[1, 2.50]},{"text":"hi\u0021","type":"text","citations": null}]}"#,
        r#"{"content":"\ud83e\udd80 \/ é","zeta":{"b":1,"a":2},"role":"assistant","id":"own-id","big":123456789012345678901234567890}"#,
        r#"{"role":"user","content":""}"#,
        r#"{"role":"user","content":[],"created_at":"2026-01-23T14:21:44.016Z"}"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s=="}]}"#,
    ];
    let body = format!(r#"{{"messages":[{}]}}"#, messages.join(",\n "));
    let path = format!("/v1/sessions/{session}/messages");
    let mut client = daemon.client();
    let sent = Request::new("POST", &path).bytes("application/json", body.as_bytes());
    assert_eq!(client.must(&sent).ok()["appended"], 5);
    let check = |text: String| {
        for message in messages {
            assert!(text.contains(message), "{message}\nnot in\n{text}");
        }
    };
    check(client.get(&path).text());
    let page = client.get(&path).ok();
    assert_eq!(page["messages"][1]["id"], "own-id");
    assert_eq!(
        page["messages"][3]["created_at"].as_str().map(|t| &t[..19]),
        Some("2026-01-23T14:21:44")
    );

    let mut daemon = daemon;
    daemon.kill9();
    daemon.start();
    check(daemon.client().get(&path).text());
}

#[test]
fn a_message_id_is_stored_once() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let one = say::with_id("m-1", say::user("one"));
    let two = say::with_id("m-2", say::user("two"));
    assert_eq!(daemon.append(&session, std::slice::from_ref(&one))["appended"], 1);
    let both = daemon.append(&session, &[one.clone(), two.clone()]);
    assert_eq!(
        (&both["appended"], &both["first_seq"], &both["last_seq"]),
        (&json!(1), &json!(1), &json!(2))
    );
    let twice = daemon.append(&session, &[say::with_id("m-3", say::user("x")), two, one]);
    assert_eq!(twice["appended"], 1);
    // The same id in another session is another message.
    let other = daemon.session(200_000);
    assert_eq!(daemon.append(&other, &[say::with_id("m-1", say::user("o"))])["appended"], 1);
    let ids: Vec<String> =
        kill_loop::stored(&mut daemon.client(), &session).into_iter().map(|(_, id)| id).collect();
    assert_eq!(ids, ["m-1", "m-2", "m-3"]);
}

#[test]
fn the_same_key_appends_once_and_another_request_under_it_is_a_conflict() {
    let mut daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let path = format!("/v1/sessions/{session}/messages");
    let append = |text: &str| {
        let body = json!({"messages": [say::user(text)]});
        Request::new("POST", &path).json(&body).header("Idempotency-Key", "key-1")
    };
    let first = daemon.client().must(&append("one")).ok();
    daemon.append(&session, &[say::user("between")]);
    let again = daemon.client().must(&append("one")).ok();
    for member in ["first_seq", "last_seq"] {
        assert_eq!(first[member], again[member]);
    }
    assert_eq!(daemon.client().must(&append("two")).problem()["type"], "key_reused");
    daemon.kill9();
    daemon.start();
    assert_eq!(daemon.client().must(&append("one")).ok()["first_seq"], first["first_seq"]);
    assert_eq!(kill_loop::stored(&mut daemon.client(), &session).len(), 2);
}

#[test]
fn history_is_paged_both_ways() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let many: Vec<Value> = (0..1200).map(|n| say::user(&format!("n {n}"))).collect();
    daemon.append(&session, &many);
    let mut client = daemon.client();
    let mut seqs = |query: &str| -> Vec<u64> {
        let page = client.get(&format!("/v1/sessions/{session}/messages?{query}")).ok();
        page["messages"].as_array().unwrap().iter().map(|m| m["seq"].as_u64().unwrap()).collect()
    };
    assert_eq!(seqs("after_seq=10&before_seq=14"), [11, 12, 13]);
    assert_eq!(seqs("after_seq=1198"), [1199, 1200]);
    assert_eq!(seqs("after_seq=0&limit=2"), [1, 2]);
    assert_eq!(seqs("after_seq=1200"), [0; 0]);
    let newest = seqs("before_seq=1201&limit=3");
    assert!(newest == [1198, 1199, 1200] || newest == [1, 2, 3], "{newest:?}");
    assert_eq!(kill_loop::stored(&mut client, &session).len(), 1200);
}

#[test]
fn an_append_is_searchable_when_it_is_answered() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let mut client = daemon.client();
    for n in 0..30 {
        daemon.append(&session, &say::work(n, 400));
        let hits = client.get(&format!("/v1/sessions/{session}/search?q=handler_{n}")).ok();
        let hits = hits["hits"].as_array().unwrap();
        assert!(!hits.is_empty(), "handler_{n} is not found");
        let seq = hits[0]["seq"].as_u64().unwrap() as usize;
        assert!((n * 4 + 1..=n * 4 + 4).contains(&seq), "handler_{n} is at {seq}");
        assert!(hits[0]["snippet"].as_str().unwrap().contains(&format!("{n}")));
    }
    let limited = client.get(&format!("/v1/sessions/{session}/search?q=mended&limit=3")).ok();
    assert_eq!(limited["hits"].as_array().unwrap().len(), 3);
    for odd in ["%22", "a%20AND%20(", "*", "%27%3B--", "NEAR(", "%F0%9F%A6%80", "-x", "col:y"] {
        assert_eq!(
            client.get(&format!("/v1/sessions/{session}/search?q={odd}")).status,
            200,
            "{odd}"
        );
    }
}

#[test]
fn many_writers_of_one_session_leave_no_gap() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (daemon, session) = (&daemon, &session);
            scope.spawn(move || {
                for n in 0..25 {
                    let id = format!("w{writer}-{n}");
                    daemon.append(session, &[say::with_id(&id, say::user(&id))]);
                }
            });
        }
    });
    let stored = kill_loop::stored(&mut daemon.client(), &session);
    assert_eq!(stored.len(), 200);
    assert!(stored.iter().zip(1..).all(|((seq, _), n)| *seq == n));
    // The messages of each writer are in the order in which they were acknowledged.
    for writer in 0..8 {
        let mine: Vec<usize> = stored
            .iter()
            .filter_map(|(_, id)| id.strip_prefix(&format!("w{writer}-"))?.parse().ok())
            .collect();
        assert!(mine.is_sorted(), "{mine:?}");
    }
}

#[test]
fn a_batch_is_all_or_nothing() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let path = format!("/v1/sessions/{session}/messages");
    let bad = json!({"messages": [say::user("good"), {"role": "robot", "content": "x"}]});
    let problem = daemon.client().post(&path, &bad).problem();
    assert_eq!(problem["field"], "messages[1].role", "{problem}");
    assert!(kill_loop::stored(&mut daemon.client(), &session).is_empty());
    assert_eq!(
        daemon.client().get(&format!("/v1/sessions/{session}/search?q=good")).ok()["hits"],
        json!([])
    );
}

#[test]
fn no_order_of_appends_and_retries_changes_history() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let mut rng = Rng::new(11);
    let mut expected: Vec<String> = Vec::new();
    for _ in 0..60 {
        let batch: Vec<String> =
            (0..1 + rng.below(4)).map(|_| format!("m{}", rng.below(80))).collect();
        let messages: Vec<Value> =
            batch.iter().map(|id| say::with_id(id, say::user(&format!("text {id}")))).collect();
        let answer = daemon
            .client()
            .post(&format!("/v1/sessions/{session}/messages"), &json!({"messages": messages}));
        // An id that occurs twice in one batch is refused or stored once, never twice.
        if answer.status < 300 {
            for id in batch {
                if !expected.contains(&id) {
                    expected.push(id);
                }
            }
        } else {
            answer.problem();
        }
    }
    let stored = kill_loop::stored(&mut daemon.client(), &session);
    assert_eq!(stored.into_iter().map(|(_, id)| id).collect::<Vec<_>>(), expected);
}

#[test]
fn a_client_that_leaves_without_its_answer_and_tries_again_is_in_the_prompt() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let mut client = daemon.client();
    let mut stream = client.events(&format!("/v1/sessions/{session}/events"), None);
    let path = format!("/v1/sessions/{session}/messages");
    for n in 0..150_u64 {
        let id = format!("m{n}");
        let body = json!({"messages": [say::with_id(&id, say::user(&format!("marker_{n}_here")))]});
        let request = Request::new("POST", &path).json(&body);
        client.abandon(&request);
        assert_eq!(client.must(&request).ok()["last_seq"], n + 1);
        let context = client.post(&format!("/v1/sessions/{session}/context"), &json!({})).ok();
        let text = bethink_harness::prompt::readable(&context);
        assert!(text.contains(&format!("marker_{n}_here")), "message {n} is stored and not shown");
    }
    for n in 0..150_u64 {
        assert_eq!(stream.next_of("message").json()["seq"], n + 1, "an event is missing");
    }
}

/// The search index is written after the answer; the message itself is stored before it.
#[test]
fn an_answered_append_is_found_after_a_kill() {
    let mut daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    daemon.append(&session, &[say::user("the walrus keeps the ledger")]);
    daemon.kill9();
    daemon.start();
    let found = daemon.client().get(&format!("/v1/sessions/{session}/search?q=walrus+ledger")).ok();
    assert_eq!(found["hits"][0]["seq"], 1, "{found}");
}
