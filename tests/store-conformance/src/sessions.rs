//! Tests of sessions, decisions, compactions and receipts.

use bethink_transcript::{CompactionId, Seq, SessionId, UnixMicros};
use uuid::Uuid;

use super::{
    NOW, append, assert_conflict, assert_not_found, finish_index, found, ids, make_session,
    message, new_session, receipt, say, session_id,
};
use bethink_store::{
    CompactionRecord, NewDecision, NewSession, PageRequest, SeqRange, SessionChange, SessionFilter,
    SessionLocation, SessionRecord, Store, StoreError,
};

pub async fn a_session_comes_back_as_made(store: &impl Store) {
    let new = NewSession {
        title: Some("Größe".into()),
        tags: vec!["a".into(), "b\"c".into()],
        parent: Some(session_id(7)),
        forked_at: Some(Seq(12)),
        content_hash: Some("hash".into()),
        project: Some("mill".into()),
        ..new_session(1)
    };
    let created = store.create_session(new.clone(), None).await.unwrap();
    let expect = SessionRecord {
        id: new.id,
        project_dir: new.project_dir,
        project: new.project,
        title: new.title,
        titled: false,
        tags: new.tags,
        parent: new.parent,
        forked_at: new.forked_at,
        model: new.model,
        state: "{}".into(),
        content_hash: new.content_hash,
        last_seq: Seq(0),
        created_at: NOW,
        updated_at: NOW,
    };
    assert_eq!(created.session, expect);
    assert_eq!(store.session(expect.id).await.unwrap(), expect);
}

pub async fn a_session_is_made_once(store: &impl Store) {
    make_session(store, 1).await;
    assert_conflict(store.create_session(new_session(1), None).await);
    assert_not_found(store.session(session_id(2)).await);
}

pub async fn creation_is_repeated_under_its_receipt(store: &impl Store) {
    let create = |number, print: &str| {
        store.create_session(new_session(number), Some(receipt("key", print)))
    };
    let first = create(1, "one").await.unwrap();
    let again = create(2, "one").await.unwrap();
    assert!(!first.repeated && again.repeated);
    assert_eq!(again.session.id, first.session.id);
    assert_not_found(store.session(session_id(2)).await);
    assert_conflict(create(3, "two").await);
    assert_not_found(store.session(session_id(3)).await);
}

pub async fn what_is_some_changes(store: &impl Store) {
    let id = make_session(store, 1).await;
    say(store, id, &["a"]).await;
    let later = UnixMicros(NOW.0 + 5);
    let change = SessionChange {
        title: Some("named".into()),
        titled: Some(true),
        updated_at: later,
        ..SessionChange::default()
    };
    let session = store.update_session(id, change).await.unwrap();
    assert_eq!((session.title.as_deref(), session.titled), (Some("named"), true));
    assert_eq!((session.updated_at, session.last_seq), (later, Seq(1)));
    let change = SessionChange {
        tags: Some(vec!["t".into()]),
        model: Some("{}".into()),
        state: Some(r#"{"plan":1}"#.into()),
        updated_at: later,
        ..SessionChange::default()
    };
    let session = store.update_session(id, change).await.unwrap();
    assert_eq!(session.title.as_deref(), Some("named"), "None leaves it");
    assert_eq!((&session.tags[..], &session.model[..]), (&["t".to_owned()][..], "{}"));
    assert_eq!(session.state, r#"{"plan":1}"#);
    assert_eq!(store.session(id).await.unwrap(), session);
    assert_not_found(store.update_session(session_id(9), SessionChange::default()).await);
}

pub async fn pages_cover_the_list_once(store: &impl Store) {
    for number in 0..23 {
        // Sessions with equal times are ordered by id.
        let created_at = UnixMicros(NOW.0 + i64::try_from(number / 3).unwrap());
        let new = NewSession { created_at, ..new_session(number) };
        store.create_session(new, None).await.unwrap();
    }
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let page = PageRequest { limit: 5, cursor };
        let (sessions, next) = store.sessions(SessionFilter::default(), page).await.unwrap();
        assert!(!sessions.is_empty() && sessions.len() <= 5);
        seen.extend(sessions.iter().map(|session| (session.updated_at, session.id)));
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen.len(), 23);
    assert!(seen.windows(2).all(|pair| pair[0] > pair[1]), "newest first, then by id");
}

fn in_project(dir: &str, project: Option<&str>, number: u128) -> NewSession {
    let project = project.map(Into::into);
    NewSession { project_dir: dir.into(), project, ..new_session(number) }
}

pub async fn the_projects_of_earlier_sessions_are_set(store: &impl Store) {
    for new in [
        in_project("/mill", None, 1),
        in_project("/mill", Some("old"), 2),
        in_project("/sail", None, 3),
    ] {
        store.create_session(new, None).await.unwrap();
    }
    let project = |dir: &str| store.project_of_directory(dir.into());
    assert_eq!(project("/sail").await.unwrap(), None);
    assert_eq!(store.directories_without_project().await.unwrap(), ["/mill", "/sail"]);
    store.set_project_of_directory("/mill".into(), "mill".into()).await.unwrap();
    assert_eq!(store.directories_without_project().await.unwrap(), ["/sail"]);
    let of = |number| async move { store.session(session_id(number)).await.unwrap().project };
    assert_eq!((of(1).await.as_deref(), of(2).await.as_deref()), (Some("mill"), Some("old")));
    // The newest session decides.
    assert_eq!(project("/mill").await.unwrap().as_deref(), Some("old"));
}

pub async fn filters_select(store: &impl Store) {
    let news = [
        NewSession { title: Some("Über Alles".into()), ..new_session(1) },
        NewSession { tags: vec!["red".into(), "blue".into()], ..new_session(2) },
        NewSession { project_dir: "/other".into(), ..new_session(3) },
        NewSession { parent: Some(session_id(1)), ..new_session(4) },
        in_project("/mill/fix", Some("mill"), 5),
        in_project("/mill/fix", None, 6),
        in_project("/sail", Some("sail"), 7),
    ];
    for new in news {
        store.create_session(new, None).await.unwrap();
    }
    let list = |filter| async move {
        let page = PageRequest { limit: 10, cursor: None };
        let (sessions, _) = store.sessions(filter, page).await.unwrap();
        sessions.iter().map(|session| session.id).collect::<Vec<SessionId>>()
    };
    let q = |text: &str| SessionFilter { q: Some(text.into()), ..SessionFilter::default() };
    assert_eq!(list(q("über")).await, [session_id(1)]);
    assert_eq!(list(q("ALLES")).await, [session_id(1)]);
    assert_eq!(list(q(&session_id(3).to_string().to_uppercase())).await, [session_id(3)]);
    assert_eq!(list(q("nothing like it")).await, []);
    assert_eq!(list(q("%")).await, [], "no wildcards");
    let tag = SessionFilter { tag: Some("blue".into()), ..SessionFilter::default() };
    assert_eq!(list(tag).await, [session_id(2)]);
    let within = |location| SessionFilter { location: Some(location), ..SessionFilter::default() };
    let of = |dir: &str, keys: &[&str], exact_dir| {
        let project_keys = Some(keys.iter().map(|&key| key.into()).collect());
        within(SessionLocation { dir: dir.into(), project_keys, exact_dir })
    };
    assert_eq!(list(within(SessionLocation::directory("/other"))).await, [session_id(3)]);
    let at_the_fix = list(within(SessionLocation::directory("/mill/fix"))).await;
    assert_eq!(at_the_fix, [session_id(6), session_id(5)]);
    // What began in the directory belongs to its project, unless it is known to belong to another one.
    let [fifth, sixth, seventh] = [5, 6, 7].map(session_id);
    assert_eq!(list(of("/mill/fix", &["mill"], false)).await, [sixth, fifth]);
    assert_eq!(list(of("/mill/fix", &["sail"], false)).await, [seventh, sixth]);
    assert_eq!(list(of("/mill/fix", &["sail"], true)).await, [sixth]);
    assert_eq!(list(of("/mill", &["mill"], true)).await, []);
    assert_eq!(list(of("/none", &["mill", "sail"], false)).await, [seventh, fifth]);
    assert_eq!(list(of("/none", &[], false)).await, []);
    let parent = SessionFilter { parent: Some(session_id(1)), ..SessionFilter::default() };
    assert_eq!(list(parent).await, [session_id(4)]);
}

pub async fn a_cursor_of_elsewhere_is_refused(store: &impl Store) {
    for cursor in ["", "x", "12.", "12.not-an-id", "99999999999999999999.0"] {
        let page = PageRequest { limit: 5, cursor: Some(cursor.into()) };
        assert_conflict(store.sessions(SessionFilter::default(), page).await);
    }
}

pub async fn projects_are_counted(store: &impl Store) {
    for (number, dir) in ["/b", "/a", "/b"].iter().enumerate() {
        let new = NewSession { project_dir: (*dir).into(), ..new_session(number as u128) };
        store.create_session(new, None).await.unwrap();
    }
    assert_eq!(store.projects().await.unwrap(), [("/a".into(), 1), ("/b".into(), 2)]);
}

pub async fn a_deleted_session_is_gone_everywhere(store: &impl Store) {
    let (id, other) = (make_session(store, 1).await, make_session(store, 2).await);
    say(store, id, &["apple", "pear"]).await;
    say(store, other, &["apple"]).await;
    finish_index(store, id).await;
    finish_index(store, other).await;
    store.add_decisions(id, vec![decision("k")]).await.unwrap();
    store.add_compaction(compaction(id, 1), Vec::new()).await.unwrap();
    store.delete_session(id).await.unwrap();
    assert_not_found(store.session(id).await);
    assert_not_found(store.messages(id, SeqRange::all()).await);
    assert_not_found(store.decisions(id).await);
    assert_not_found(store.compactions(id).await);
    assert_not_found(store.records(id, 0, 5).await);
    assert_not_found(store.append(append(id, vec![message("x", "x")])).await);
    assert_not_found(store.delete_session(id).await);
    assert_eq!(ids(store, other).await, ["apple"]);
    assert_eq!(found(store, other, "apple").await, [Seq(1)]);
    // A new session with the same id is empty.
    make_session(store, 1).await;
    assert_eq!(found(store, id, "apple").await, []);
    assert_eq!(say(store, id, &["apple"]).await.last_seq, Seq(1));
    assert_eq!(store.decisions(id).await.unwrap(), []);
}

pub async fn decisions_come_in_order(store: &impl Store) {
    let id = make_session(store, 1).await;
    assert_eq!(store.decisions(id).await.unwrap(), []);
    store.add_decisions(id, vec![decision("a"), decision("b")]).await.unwrap();
    store.add_decisions(id, Vec::new()).await.unwrap();
    store.add_decisions(id, (0..70).map(|_| decision("c")).collect()).await.unwrap();
    let stored = store.decisions(id).await.unwrap();
    assert_eq!(stored.len(), 72);
    assert!(stored.windows(2).all(|pair| pair[0].id < pair[1].id));
    let kinds: Vec<&str> = stored.iter().take(3).map(|decision| &decision.kind[..]).collect();
    assert_eq!(kinds, ["a", "b", "c"]);
    let first = &stored[0];
    assert_eq!((&first.data[..], first.made_after, first.created_at), ("{}", Seq(1), NOW));
    assert_not_found(store.add_decisions(session_id(9), vec![decision("a")]).await);
}

pub async fn a_compaction_comes_with_its_decisions_or_not_at_all(store: &impl Store) {
    let id = make_session(store, 1).await;
    let new = compaction(id, 1);
    store.add_compaction(new.clone(), vec![decision("with")]).await.unwrap();
    assert_eq!(store.compactions(id).await.unwrap(), vec![new.clone()]);
    assert_eq!(store.decisions(id).await.unwrap().len(), 1);
    assert_conflict(store.add_compaction(new, vec![decision("again")]).await);
    assert_eq!(store.decisions(id).await.unwrap().len(), 1, "all or nothing");
    let nowhere = compaction(session_id(9), 2);
    assert_not_found(store.add_compaction(nowhere, Vec::new()).await);
    store.add_compaction(compaction(id, 3), Vec::new()).await.unwrap();
    let order: Vec<_> = store.compactions(id).await.unwrap().iter().map(|c| c.id).collect();
    assert_eq!(order, [compaction_id(1), compaction_id(3)], "oldest first");
}

pub async fn undoing_twice_is_undoing_once(store: &impl Store) {
    let id = make_session(store, 1).await;
    store.add_compaction(compaction(id, 1), Vec::new()).await.unwrap();
    let first = store
        .undo_compaction(id, compaction_id(1), UnixMicros(5), vec![decision("undone")])
        .await
        .unwrap();
    let again = store
        .undo_compaction(id, compaction_id(1), UnixMicros(9), vec![decision("undone")])
        .await
        .unwrap();
    assert_eq!(first.undone_at, Some(UnixMicros(5)));
    assert_eq!(first, again);
    assert_eq!(store.compactions(id).await.unwrap(), [first], "undone ones included");
    assert_eq!(
        store.decisions(id).await.unwrap().len(),
        1,
        "one entry says so, however often it is undone"
    );
    assert_not_found(
        store.undo_compaction(id, compaction_id(2), NOW, vec![decision("undone")]).await,
    );
    let other = make_session(store, 2).await;
    assert_not_found(
        store.undo_compaction(other, compaction_id(1), NOW, vec![decision("undone")]).await,
    );
}

pub async fn other_receipts_are_kept(store: &impl Store) {
    assert_eq!(store.receipt("key".into()).await.unwrap(), None);
    store.put_receipt(receipt("key", "one"), "answer".into(), NOW).await.unwrap();
    let stored = store.receipt("key".into()).await.unwrap().unwrap();
    assert_eq!((&stored.fingerprint[..], &stored.answer[..]), ("one", "answer"));
    assert_conflict(store.put_receipt(receipt("key", "two"), "other".into(), NOW).await);
    assert_eq!(store.receipt("key".into()).await.unwrap(), Some(stored));
    let tomorrow = UnixMicros(NOW.0 + 25 * 3600 * 1_000_000);
    store.put_receipt(receipt("next", "x"), "y".into(), tomorrow).await.unwrap();
    assert_eq!(store.receipt("key".into()).await.unwrap(), None, "kept for a day");
}

pub async fn a_closed_store_says_so(store: &impl Store) {
    let id = make_session(store, 1).await;
    let pending = store.append(append(id, vec![message("a", "a")]));
    let (appended, closed) = futures_util::future::join(pending, store.close()).await;
    assert!(appended.is_ok(), "what waits is flushed");
    closed.unwrap();
    let late = store.append(append(id, vec![message("b", "b")])).await;
    assert!(matches!(late, Err(StoreError::Closed)), "{late:?}");
    let late = store.session(id).await;
    assert!(matches!(late, Err(StoreError::Closed)), "{late:?}");
}

fn decision(kind: &str) -> NewDecision {
    NewDecision { kind: kind.into(), data: "{}".into(), made_after: Seq(1), created_at: NOW }
}

fn compaction_id(number: u128) -> CompactionId {
    CompactionId(Uuid::from_u128(number))
}

fn compaction(session: SessionId, number: u128) -> CompactionRecord {
    CompactionRecord {
        id: compaction_id(number),
        session,
        trigger: "auto".into(),
        level: "embedded".into(),
        first_seq: Seq(1),
        last_seq: Seq(8),
        kept_from: Seq(9),
        made_after: Seq(12),
        tokens_before: 1000,
        tokens_after: 100,
        summary: "What happened.".into(),
        summary_tokens: 3,
        fidelity: 0.75,
        detail: "{}".into(),
        created_at: NOW,
        undone_at: None,
    }
}
