//! Tests of appending, reading and finding messages.

use std::collections::BTreeSet;

use bethink_transcript::{Role, Seq};
use bytes::Bytes;
use futures_util::future::join_all;

use super::{
    append, assert_conflict, assert_not_found, finish_index, found, history, ids, look_up,
    make_session, message, places, receipt, say, seqs, session_id,
};
use bethink_store::{
    Append, IndexBatch, IndexLookup, SearchScope, SeqRange, Store, StoreError, Terms,
};

pub async fn seqs_have_no_gaps_under_concurrent_appenders(store: &impl Store) {
    const APPENDERS: usize = 32;
    const SESSIONS: u128 = 5;
    const EACH: usize = 12;
    for number in 0..SESSIONS {
        make_session(store, number).await;
    }
    let appender = |appender: usize| async move {
        for turn in 0..EACH {
            let session = session_id((appender as u128 + turn as u128) % SESSIONS);
            let first = format!("{appender}-{turn}");
            let second = format!("{first}-again");
            let answer = say(store, session, &[&first, &second]).await;
            let [(one, true), (two, true)] = answer.places[..] else { panic!("{answer:?}") };
            assert_eq!(two, one.next(), "messages of a request stay together");
        }
    };
    join_all((0..APPENDERS).map(appender)).await;
    let mut total = 0;
    for number in 0..SESSIONS {
        let messages = history(store, session_id(number)).await;
        let expect: Vec<Seq> = (1..=messages.len() as u64).map(Seq).collect();
        assert_eq!(seqs(&messages), expect);
        let distinct: BTreeSet<_> = messages.iter().map(|message| &message.id).collect();
        assert_eq!(distinct.len(), messages.len());
        let last = store.session(session_id(number)).await.unwrap().last_seq;
        assert_eq!(last.0, messages.len() as u64);
        total += messages.len();
    }
    assert_eq!(total, APPENDERS * EACH * 2);
}

pub async fn an_id_is_stored_once(store: &impl Store) {
    let session = make_session(store, 1).await;
    say(store, session, &["a", "b"]).await;
    let answer = say(store, session, &["b", "c", "a"]).await;
    assert_eq!(places(&answer), [(2, false), (3, true), (1, false)]);
    assert_eq!(answer.last_seq, Seq(3));
    assert!(!answer.repeated);
    assert_eq!(ids(store, session).await, ["a", "b", "c"]);
}

pub async fn an_id_twice_in_one_request_is_stored_once(store: &impl Store) {
    let session = make_session(store, 1).await;
    let messages = vec![message("a", "first"), message("a", "second"), message("b", "third")];
    let answer = store.append(append(session, messages)).await.unwrap();
    assert_eq!(places(&answer), [(1, true), (1, false), (2, true)]);
    let stored = history(store, session).await;
    assert_eq!(stored[0].raw, message("a", "first").raw, "the first one counts");
}

pub async fn an_append_of_new_messages_is_stored_only_if_all_are_new(store: &impl Store) {
    let session = make_session(store, 1).await;
    let request = |ids: &[&str]| Append {
        only_new: true,
        ..append(session, ids.iter().map(|id| message(id, id)).collect())
    };
    store.append(request(&["a", "b"])).await.unwrap();
    let refused = store.append(request(&["c", "b", "a"])).await.unwrap_err();
    let StoreError::AlreadyStored(stored) = refused else { panic!("{refused}") };
    assert_eq!(stored, [(1, Seq(2)), (2, Seq(1))]);
    assert_eq!(ids(store, session).await, ["a", "b"]);
    // A repeated request still gets its answer.
    let keyed = || Append { receipt: Some(receipt("key", "print")), ..request(&["d"]) };
    store.append(keyed()).await.unwrap();
    assert!(store.append(keyed()).await.unwrap().repeated);
}

pub async fn an_id_is_new_in_another_session(store: &impl Store) {
    let (one, two) = (make_session(store, 1).await, make_session(store, 2).await);
    assert_eq!(places(&say(store, one, &["a"]).await), [(1, true)]);
    assert_eq!(places(&say(store, two, &["a"]).await), [(1, true)]);
}

pub async fn a_receipt_is_honoured_once(store: &impl Store) {
    let session = make_session(store, 1).await;
    let request = |ids: &[&str]| Append {
        receipt: Some(receipt("key", "print")),
        ..append(session, ids.iter().map(|id| message(id, id)).collect())
    };
    let first = store.append(request(&["a", "b"])).await.unwrap();
    say(store, session, &["c"]).await;
    let again = store.append(request(&["a", "b"])).await.unwrap();
    assert!(!first.repeated && again.repeated);
    assert_eq!(places(&again), [(1, true), (2, true)], "the places given then");
    assert_eq!(ids(store, session).await, ["a", "b", "c"]);
}

pub async fn a_receipt_with_another_request_is_refused(store: &impl Store) {
    let session = make_session(store, 1).await;
    let request = |id: &str, fingerprint: &str| Append {
        receipt: Some(receipt("key", fingerprint)),
        ..append(session, vec![message(id, id)])
    };
    store.append(request("a", "one")).await.unwrap();
    assert_conflict(store.append(request("b", "two")).await);
    assert_eq!(ids(store, session).await, ["a"]);
}

pub async fn concurrent_requests_under_one_receipt_are_one(store: &impl Store) {
    let session = make_session(store, 1).await;
    let request = |number: usize| {
        let id = format!("m{number}");
        let receipt = Some(receipt("key", "print"));
        store.append(Append { receipt, ..append(session, vec![message(&id, "x")]) })
    };
    let answers = join_all((0..16).map(request)).await;
    let fresh = answers.iter().filter(|answer| !answer.as_ref().unwrap().repeated).count();
    assert_eq!(fresh, 1);
    assert_eq!(history(store, session).await.len(), 1);
}

pub async fn a_refused_append_spoils_no_neighbour(store: &impl Store) {
    let session = make_session(store, 1).await;
    let nowhere = session_id(99);
    let request = |number: usize| {
        let to = if number % 4 == 3 { nowhere } else { session };
        let id = format!("m{number}");
        store.append(append(to, vec![message(&id, "x")]))
    };
    let answers = join_all((0..32).map(request)).await;
    for (number, answer) in answers.into_iter().enumerate() {
        match number % 4 {
            3 => assert_not_found(answer),
            _ => assert!(answer.unwrap().places[0].1),
        }
    }
    assert_eq!(history(store, session).await.len(), 24);
}

pub async fn an_append_to_no_session_is_not_found(store: &impl Store) {
    let nowhere = session_id(99);
    assert_not_found(store.append(append(nowhere, vec![message("a", "a")])).await);
    assert_not_found(store.append(append(nowhere, Vec::new())).await);
    assert_not_found(store.messages(nowhere, SeqRange::all()).await);
    let lookup = IndexLookup {
        scope: SearchScope::Session(nowhere),
        terms: vec!["a".into()],
        families: Vec::new(),
        marks: Vec::new(),
        most: 5,
    };
    assert_not_found(store.lookup(lookup).await);
}

pub async fn an_empty_append_changes_nothing(store: &impl Store) {
    let session = make_session(store, 1).await;
    say(store, session, &["a"]).await;
    let before = store.session(session).await.unwrap();
    let answer = store.append(append(session, Vec::new())).await.unwrap();
    assert_eq!((places(&answer), answer.last_seq), (Vec::new(), Seq(1)));
    assert_eq!(store.session(session).await.unwrap(), before);
}

pub async fn a_long_append_is_whole(store: &impl Store) {
    let session = make_session(store, 1).await;
    for count in [63, 64, 65, 129, 500] {
        let messages =
            (0..count).map(|n| message(&format!("{count}-{n}"), "long")).collect::<Vec<_>>();
        let before = store.session(session).await.unwrap().last_seq.0;
        let answer = store.append(append(session, messages.clone())).await.unwrap();
        assert_eq!(answer.last_seq.0, before + count);
        let stored = store.messages(session, SeqRange::from(Seq(before + 1))).await.unwrap();
        assert_eq!(stored.len() as u64, count);
        assert!(stored.iter().zip(&messages).all(|(stored, new)| stored.id == new.id));
    }
}

pub async fn bytes_come_back_as_they_came(store: &impl Store) {
    let session = make_session(store, 1).await;
    let raws: [&[u8]; 5] = [
        b"{ \"role\" : \"user\",\t\"content\": \"\\u00e9\" }",
        "{\"role\":\"user\",\"content\":\"größer 🦀\"}".as_bytes(),
        b"not even JSON \xff\xfe\x00 end",
        b"",
        &[b'x'; 300_000],
    ];
    let messages = raws.iter().enumerate().map(|(n, raw)| bethink_store::NewMessage {
        raw: Bytes::from_static(b"").into_iter().chain(raw.iter().copied()).collect(),
        role: if n % 2 == 0 { Role::User } else { Role::Assistant },
        ..message(&format!("m{n}"), "x")
    });
    store.append(append(session, messages.collect())).await.unwrap();
    for (n, stored) in history(store, session).await.iter().enumerate() {
        assert_eq!(&stored.raw[..], raws[n]);
        assert_eq!(stored.role, if n % 2 == 0 { Role::User } else { Role::Assistant });
        assert_eq!((stored.recorded, stored.created_at), (false, super::NOW));
    }
}

pub async fn ranges_are_open_and_limited(store: &impl Store) {
    let session = make_session(store, 1).await;
    let names: Vec<String> = (1..=10).map(|n| format!("m{n}")).collect();
    say(store, session, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let read = |after, before, limit, newest| async move {
        let (after, before) = (Some(Seq(after)), Some(Seq(before)));
        let range = SeqRange { after, before, limit, newest, ..SeqRange::all() };
        let messages = store.messages(session, range).await.unwrap();
        messages.iter().map(|message| message.seq.0).collect::<Vec<_>>()
    };
    assert_eq!(read(3, 7, 99, false).await, [4, 5, 6]);
    assert_eq!(read(3, 9, 2, false).await, [4, 5]);
    assert_eq!(read(3, 9, 2, true).await, [7, 8], "ascending either way");
    assert_eq!(read(9, 10, 99, false).await, Vec::<u64>::new());
    assert_eq!(read(0, u64::MAX, usize::MAX, true).await.len(), 10);
    let newest = store.messages(session, SeqRange::from(Seq(8))).await.unwrap();
    assert_eq!(newest.len(), 3);
    let two: usize = newest[..2].iter().map(|message| message.raw.len()).sum();
    for (bytes, count) in [(0, 1), (two - 1, 1), (two, 2), (2 * two, 3)] {
        let range = SeqRange { bytes, ..SeqRange::from(Seq(8)) };
        assert_eq!(store.messages(session, range).await.unwrap(), newest[..count], "{bytes} bytes");
    }
}

pub async fn an_answered_append_is_marked_and_found_once_indexed(store: &impl Store) {
    let session = make_session(store, 1).await;
    for n in 0..20 {
        let word = format!("word{n}");
        let seq = say(store, session, &[&word]).await.last_seq;
        let mark = SeqRange { before: Some(seq.next()), ..SeqRange::from(seq) };
        assert_eq!(store.unindexed(session).await.unwrap(), Some(mark));
        let terms = match n % 4 {
            0 => Terms { user: word.clone(), ..Terms::default() },
            1 => Terms { assistant: word.clone(), ..Terms::default() },
            2 => Terms { tool_input: word.clone(), ..Terms::default() },
            _ => Terms { tool_result: word.clone(), ..Terms::default() },
        };
        let batch = IndexBatch { session, entries: vec![(seq, terms)], through: seq };
        store.index(batch).await.unwrap();
        assert_eq!(found(store, session, &word).await, [seq]);
    }
}

pub async fn a_search_stays_in_its_session(store: &impl Store) {
    let (one, two) = (make_session(store, 1).await, make_session(store, 2).await);
    say(store, one, &["apple"]).await;
    say(store, two, &["apple", "pear"]).await;
    finish_index(store, one).await;
    finish_index(store, two).await;
    assert_eq!(found(store, one, "apple").await.len(), 1);
    assert_eq!(found(store, one, "pear").await.len(), 0);
    let id = two.0.simple().to_string();
    assert_eq!(found(store, two, &id).await.len(), 0, "an id is no word of a message");
}

pub async fn a_search_term_is_never_syntax(store: &impl Store) {
    let session = make_session(store, 1).await;
    say(store, session, &["apple"]).await;
    finish_index(store, session).await;
    let long = "x".repeat(100_000);
    for term in
        ["\"", "apple\" OR \"x", "user:", "*", "NEAR(", "", "\0", "größe'", "a-b", "%", &long]
    {
        assert_eq!(found(store, session, term).await, [], "{term:?}");
    }
    let nothing = look_up(store, SearchScope::Session(session), &[]).await;
    assert_eq!((nothing.sessions.len(), nothing.lists.len()), (1, 0));
}

pub async fn messages_are_picked_in_the_order_asked(store: &impl Store) {
    let (one, two) = (make_session(store, 1).await, make_session(store, 2).await);
    say(store, one, &["a", "b", "c"]).await;
    say(store, two, &["d"]).await;
    let places = [(one, 3), (two, 1), (one, 9), (session_id(7), 1), (one, 1)];
    let places = places.map(|(session, seq)| (session, Seq(seq))).to_vec();
    let picked = store.messages_at(places).await.unwrap();
    let names: Vec<_> = picked.iter().map(|(of, message)| (*of, message.id.as_str())).collect();
    assert_eq!(names, [(one, "c"), (two, "d"), (one, "a")], "what is not there is left out");
    assert_eq!(store.messages_at(Vec::new()).await.unwrap(), []);
}
