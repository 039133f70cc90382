//! Tests of candidates.

use uuid::Uuid;

use super::{NOW, make_session};
use bethink_store::{
    CandidateFilter, CandidateState, DECIDED_CANDIDATES, ExtractedCandidates, ExtractionPlan,
    MemoryAuthor, MemoryKind, Store, StoredCandidate, WAITING_CANDIDATES,
};
use bethink_transcript::{MessageId, Seq, SessionId};

fn candidate(number: u128, project_dir: &str, session: SessionId) -> StoredCandidate {
    StoredCandidate {
        id: Uuid::from_u128(number),
        project_dir: project_dir.to_owned(),
        session,
        seq: Seq(3),
        message: MessageId::new("m3").ok(),
        sentence: "Ideally \"ä\"\nstays.".to_owned(),
        context: Some("I removed ä.".to_owned()),
        kind: MemoryKind::Feedback,
        rule: "wish".to_owned(),
        score: -4,
        said_at: NOW,
        found_at: NOW,
        state: CandidateState::Waiting,
        decided_at: None,
        decided_by: None,
        topic: None,
        offers: Vec::new(),
    }
}

async fn add(store: &impl Store, session: SessionId, new: Vec<StoredCandidate>) {
    let found = ExtractedCandidates { new, ..ExtractedCandidates::default() };
    store.put_extraction_plan(session, ExtractionPlan::default(), found).await.unwrap();
}

async fn ids(store: &impl Store, filter: CandidateFilter) -> Vec<u128> {
    let found = store.candidates(filter).await.unwrap();
    found.iter().map(|one| one.id.as_u128()).collect()
}

fn of(project_dir: &str, state: Option<CandidateState>) -> CandidateFilter {
    CandidateFilter { project_dir: Some(project_dir.to_owned()), state, session: None }
}

pub async fn candidates_come_with_their_plan_and_once(store: &impl Store) {
    let session = make_session(store, 1).await;
    let plain = StoredCandidate { message: None, context: None, ..candidate(1, "/app", session) };
    let whole = candidate(2, "/app", session);
    add(store, session, vec![plain.clone(), whole.clone()]).await;
    assert_eq!(store.candidate(plain.id).await.unwrap(), Some(plain.clone()));
    assert_eq!(store.candidate(whole.id).await.unwrap(), Some(whole.clone()));
    assert_eq!(store.candidate(Uuid::from_u128(9)).await.unwrap(), None);
    let other = make_session(store, 2).await;
    add(store, other, vec![candidate(3, "/lib", other)]).await;
    let decided = StoredCandidate {
        state: CandidateState::Kept,
        decided_at: Some(NOW),
        decided_by: Some(MemoryAuthor::Agent),
        topic: Some("fog".to_owned()),
        offers: vec!["codex/a".to_owned(), "\"ä".to_owned()],
        ..whole.clone()
    };
    let reworded = StoredCandidate { sentence: "another".to_owned(), ..decided.clone() };
    store.update_candidates(vec![reworded, candidate(9, "/app", session)]).await.unwrap();
    // An extraction that finds it again does not open it again.
    add(store, session, vec![whole.clone()]).await;
    assert_eq!(store.candidate(whole.id).await.unwrap(), Some(decided));
    assert_eq!(ids(store, CandidateFilter::default()).await, [3, 2, 1], "newest first");
    assert_eq!(ids(store, of("/app", Some(CandidateState::Waiting))).await, [1]);
    let of_session = CandidateFilter { session: Some(other), ..CandidateFilter::default() };
    assert_eq!(ids(store, of_session).await, [3]);
    let replaced = ExtractedCandidates {
        replaced: vec![plain.id, whole.id],
        ..ExtractedCandidates::default()
    };
    store.put_extraction_plan(session, ExtractionPlan::default(), replaced).await.unwrap();
    assert_eq!(ids(store, of("/app", None)).await, [2], "a decided one stays");
}

pub async fn the_oldest_of_too_many_candidates_go(store: &impl Store) {
    let session = make_session(store, 1).await;
    add(store, session, vec![candidate(1, "/lib", session)]).await;
    let many: Vec<_> = (1_000..11_000).map(|n| candidate(n, "/app", session)).collect();
    for batch in many.chunks(2_500) {
        add(store, session, batch.to_vec()).await;
    }
    let left = ids(store, of("/app", Some(CandidateState::Waiting))).await;
    assert_eq!((left.len(), left[0]), (WAITING_CANDIDATES, 10_999));
    let gone = 10_000 - WAITING_CANDIDATES as u64;
    assert_eq!(store.removed_candidates("/app".to_owned()).await.unwrap(), gone);
    assert_eq!(store.removed_candidates("/lib".to_owned()).await.unwrap(), 0);
    assert_eq!(ids(store, of("/lib", None)).await, [1]);
    let decide = |one: StoredCandidate| StoredCandidate { state: CandidateState::Dropped, ..one };
    for first in (20_000_u128..).step_by(WAITING_CANDIDATES).take(7) {
        let some = (first..).take(WAITING_CANDIDATES).map(|n| candidate(n, "/many", session));
        let some: Vec<_> = some.collect();
        add(store, session, some.clone()).await;
        store.update_candidates(some.into_iter().map(decide).collect()).await.unwrap();
    }
    let decided = ids(store, of("/many", Some(CandidateState::Dropped))).await;
    assert_eq!(decided.len(), DECIDED_CANDIDATES);
}

pub async fn candidates_go_with_their_session(store: &impl Store) {
    let (session, other) = (make_session(store, 1).await, make_session(store, 2).await);
    add(store, session, vec![candidate(1, "/app", session)]).await;
    add(store, other, vec![candidate(2, "/app", other)]).await;
    store.delete_session(session).await.unwrap();
    assert_eq!(ids(store, CandidateFilter::default()).await, [2]);
}
