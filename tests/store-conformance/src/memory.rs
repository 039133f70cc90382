//! Tests of versions of memory files, and of the state of extraction, consolidation and instructions.

use bethink_transcript::{Seq, SessionId};
use bytes::Bytes;

use super::{NOW, assert_not_found, make_session};
use bethink_store::{
    ExtractedCandidates, ExtractionPlan, LastDream, MemoryAuthor, MemoryVersionFilter,
    NewMemoryVersion, PlannedWrite, RefusedStatement, SecretAllowance, Store, TopicVectors,
    VERSIONS_OF_A_FILE,
};

fn version(file: &str, content: Option<&[u8]>, session: Option<SessionId>) -> NewMemoryVersion {
    NewMemoryVersion {
        directory: "app/private".to_owned(),
        file: file.to_owned(),
        hash: content.map_or_else(String::new, |content| format!("hash of {content:?}")),
        content: content.map(Bytes::copy_from_slice),
        author: MemoryAuthor::Person,
        session,
        note: "a note with ä\n and a line".to_owned(),
        at: NOW,
    }
}

fn of(file: Option<&str>) -> MemoryVersionFilter {
    MemoryVersionFilter {
        directory: "app/private".to_owned(),
        file: file.map(str::to_owned),
        limit: 10,
        ..MemoryVersionFilter::default()
    }
}

pub async fn versions_come_back_newest_first(store: &impl Store) {
    let session = make_session(store, 1).await;
    let other = NewMemoryVersion {
        directory: "app/team".to_owned(),
        ..version("fog.md", Some(b"t"), None)
    };
    let first = version("fog.md", Some(b"\xff\x00 any bytes\r\n"), Some(session));
    let all = vec![
        first.clone(),
        version("sky.md", Some(b""), None),
        version("fog.md", None, None),
        other,
    ];
    store.add_memory_versions(all).await.unwrap();
    let found = store.memory_versions(of(None)).await.unwrap();
    let seen: Vec<_> = found.iter().map(|v| (v.file.as_str(), v.bytes)).collect();
    assert_eq!(seen, [("fog.md", None), ("sky.md", Some(0)), ("fog.md", Some(14))]);
    let fog = store.memory_versions(of(Some("fog.md"))).await.unwrap();
    assert_eq!(fog.len(), 2);
    let oldest = &fog[1];
    let numbers: Vec<_> = found.iter().map(|v| (v.file.as_str(), v.number)).collect();
    assert_eq!(numbers, [("fog.md", 2), ("sky.md", 1), ("fog.md", 1)], "each file counts its own");
    assert_eq!(
        (&oldest.hash, &oldest.note, oldest.session, oldest.at),
        (&first.hash, &first.note, Some(session), NOW)
    );
    let content =
        async |file: &str, n| store.memory_content(of(None).directory, file.to_owned(), n).await;
    assert_eq!(content("fog.md", 1).await.unwrap(), Some(first));
    assert_eq!(content("sky.md", 2).await.unwrap(), None);
    let older = MemoryVersionFilter { before: Some(fog[0].number), limit: 1, ..of(Some("fog.md")) };
    assert_eq!(store.memory_versions(older).await.unwrap(), std::slice::from_ref(oldest));
    let taught = MemoryVersionFilter { session: Some(session), ..of(None) };
    assert_eq!(store.memory_versions(taught).await.unwrap(), std::slice::from_ref(oldest));
}

pub async fn versions_outlive_their_session(store: &impl Store) {
    let session = make_session(store, 1).await;
    store.add_memory_versions(vec![version("fog.md", Some(b"x"), Some(session))]).await.unwrap();
    store.delete_session(session).await.unwrap();
    assert_eq!(store.memory_versions(of(None)).await.unwrap().len(), 1);
}

pub async fn the_oldest_of_too_many_versions_go(store: &impl Store) {
    let one = |n: usize| version("fog.md", Some(n.to_string().as_bytes()), None);
    store.add_memory_versions(vec![version("sky.md", Some(b"stays"), None)]).await.unwrap();
    let many = (0..2 * VERSIONS_OF_A_FILE).map(one).collect();
    store.add_memory_versions(many).await.unwrap();
    let all = MemoryVersionFilter { limit: usize::MAX, ..of(Some("fog.md")) };
    let left = store.memory_versions(all).await.unwrap();
    assert!(
        left.len() >= VERSIONS_OF_A_FILE && left.len() < VERSIONS_OF_A_FILE + 1_000,
        "{}",
        left.len()
    );
    assert_eq!(left[0].hash, one(2 * VERSIONS_OF_A_FILE - 1).hash, "the newest is there");
    let newest = i64::try_from(2 * VERSIONS_OF_A_FILE).unwrap();
    assert_eq!(left[0].number, newest, "numbers stay the same");
    assert_eq!(store.memory_versions(of(Some("sky.md"))).await.unwrap().len(), 1);
}

fn plan(through: u64, names: &[&str]) -> ExtractionPlan {
    let write = |name: &&str| PlannedWrite {
        name: (*name).to_owned(),
        over: None,
        text: format!("---\r\n{name} ä\n"),
        sentence: Some("Use pnpm.".to_owned()),
        seq: Some(Seq(3)),
    };
    let other = PlannedWrite {
        over: Some("hash".to_owned()),
        sentence: None,
        seq: None,
        ..write(&"proposed")
    };
    ExtractionPlan {
        strategy: "embedded".to_owned(),
        through: Seq(through),
        writes: names.iter().map(write).collect(),
        proposals: vec![other],
    }
}

pub async fn a_plan_is_replaced_until_it_is_finished(store: &impl Store) {
    let (session, other) = (make_session(store, 1).await, make_session(store, 2).await);
    assert_eq!(store.extraction_plan(session).await.unwrap(), None);
    for plan in [plan(4, &["b", "a", "c"]), plan(7, &["d"]), ExtractionPlan::default()] {
        store
            .put_extraction_plan(session, plan.clone(), ExtractedCandidates::default())
            .await
            .unwrap();
        assert_eq!(store.extraction_plan(session).await.unwrap(), Some(plan));
    }
    store
        .put_extraction_plan(other, plan(1, &["a"]), ExtractedCandidates::default())
        .await
        .unwrap();
    assert_eq!(store.extraction_mark(session).await.unwrap(), None);
    for (through, mark) in [(7, 7), (4, 7), (9, 9)] {
        store.finish_extraction(session, Seq(through)).await.unwrap();
        assert_eq!(store.extraction_mark(session).await.unwrap(), Some(Seq(mark)), "never back");
        assert_eq!(store.extraction_plan(session).await.unwrap(), None);
    }
    assert_eq!(store.extraction_plan(other).await.unwrap(), Some(plan(1, &["a"])));
    assert_eq!(store.extraction_mark(other).await.unwrap(), None);
}

pub async fn an_extraction_goes_with_its_session(store: &impl Store) {
    let session = make_session(store, 1).await;
    store.finish_extraction(session, Seq(3)).await.unwrap();
    store
        .put_extraction_plan(session, plan(4, &["a"]), ExtractedCandidates::default())
        .await
        .unwrap();
    store.delete_session(session).await.unwrap();
    assert_not_found(
        store
            .put_extraction_plan(session, plan(5, &["late"]), ExtractedCandidates::default())
            .await,
    );
    assert_not_found(store.finish_extraction(session, Seq(5)).await);
    make_session(store, 1).await;
    assert_eq!(store.extraction_plan(session).await.unwrap(), None);
    assert_eq!(store.extraction_mark(session).await.unwrap(), None);
}

pub async fn a_secret_is_allowed_once(store: &impl Store) {
    let allowance = |rule: &str, line: &str| SecretAllowance {
        file: "fog.md".to_owned(),
        rule: rule.to_owned(),
        line: line.to_owned(),
        by: MemoryAuthor::Person,
        at: NOW,
    };
    let all = [allowance("key", "a"), allowance("key", "b"), allowance("word", "a")];
    for one in all.iter().chain(&all) {
        store.allow_secret("app/private".to_owned(), one.clone()).await.unwrap();
    }
    assert_eq!(store.secret_allowances("app/private".to_owned()).await.unwrap(), all);
    assert_eq!(store.secret_allowances("app/team".to_owned()).await.unwrap(), []);
}

pub async fn a_statement_is_refused_once(store: &impl Store) {
    let refused = |words: &[&str], negative| RefusedStatement {
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        negative,
    };
    let all = [
        refused(&["pnpm", "\"ä\""], false),
        refused(&["pnpm", "\"ä\""], true),
        refused(&["x"], false),
    ];
    for one in all.iter().chain(&all[..1]) {
        store.refuse_statement("app".to_owned(), one.clone(), NOW).await.unwrap();
    }
    let found = store.refused_statements("app".to_owned()).await.unwrap();
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(all.iter().all(|one| found.contains(one)), "{found:?}");
    assert_eq!(store.refused_statements("lib".to_owned()).await.unwrap(), []);
}

pub async fn the_last_dream_is_replaced(store: &impl Store) {
    let read = |project: &str| store.last_dream(project.to_owned());
    assert_eq!(read("app").await.unwrap(), None);
    let whole = LastDream { at: Some(NOW), id: Some("id".to_owned()) };
    for last in [whole, LastDream::default()] {
        store.put_last_dream("app".to_owned(), last.clone()).await.unwrap();
        assert_eq!(read("app").await.unwrap(), Some(last));
    }
    assert_eq!(read("lib").await.unwrap(), None);
}

pub async fn vectors_of_topics_are_replaced_and_deleted(store: &impl Store) {
    let of = |topic: &str, hash: &str, vectors: &'static [u8]| TopicVectors {
        topic: topic.to_owned(),
        hash: hash.to_owned(),
        vectors: Bytes::from_static(vectors),
    };
    let put = |project: &str, encoder: &str, topics| {
        store.put_topic_vectors(project.to_owned(), encoder.to_owned(), topics)
    };
    let read = async |project: &str, encoder: &str| {
        let all = store.topic_vectors(project.to_owned(), encoder.to_owned());
        let mut all = all.await.unwrap();
        all.sort_by(|a, b| a.topic.cmp(&b.topic));
        all
    };
    let (fog, sky) = (of("private/fog", "1", &[0, 255, 7]), of("team/sky", "2", &[]));
    put("app", "one", vec![fog.clone(), sky.clone()]).await.unwrap();
    put("lib", "one", vec![fog.clone()]).await.unwrap();
    assert_eq!(read("app", "one").await, [fog.clone(), sky.clone()]);
    let newer = of("private/fog", "3", &[1]);
    put("app", "one", vec![newer.clone()]).await.unwrap();
    assert_eq!(read("app", "one").await, [newer.clone(), sky.clone()]);
    // Another encoder's replace them, because only one is in use.
    put("app", "two", vec![sky.clone()]).await.unwrap();
    assert_eq!(read("app", "one").await, [newer]);
    assert_eq!(read("app", "two").await, [sky]);
    let gone = vec!["team/sky".to_owned(), "private/none".to_owned()];
    store.delete_topic_vectors("app".to_owned(), gone).await.unwrap();
    assert_eq!(read("app", "two").await, []);
    assert_eq!(read("lib", "one").await, [fog]);
}

pub async fn the_first_lock_name_stays(store: &impl Store) {
    assert_eq!(store.lock_name("first".to_owned()).await.unwrap(), "first");
    assert_eq!(store.lock_name("second".to_owned()).await.unwrap(), "first");
}

pub async fn an_approved_import_can_be_revoked(store: &impl Store) {
    let all = |project: &str| store.import_approvals(project.to_owned());
    for (project, path) in [("app", "/b"), ("app", "/a ä"), ("lib", "/a ä"), ("app", "/b")] {
        store.approve_import(project.to_owned(), path.to_owned(), NOW).await.unwrap();
    }
    assert_eq!(all("app").await.unwrap(), ["/a ä", "/b"]);
    let revoke = || store.revoke_import("app".to_owned(), "/b".to_owned());
    assert!(revoke().await.unwrap());
    assert!(!revoke().await.unwrap(), "revoked already");
    assert_eq!(all("app").await.unwrap(), ["/a ä"]);
    assert_eq!(all("lib").await.unwrap(), ["/a ä"]);
}
