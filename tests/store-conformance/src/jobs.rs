//! Tests of jobs.

use bethink_transcript::{JobId, UnixMicros};
use futures_util::future::join_all;
use uuid::Uuid;

use super::imports::{batch, record};
use super::{assert_conflict, assert_not_found, make_session, message, session_id};
use bethink_store::{ImportBatch, JobOutcome, JobState, Lease, NewJob, Progress, Store};

pub async fn a_job_comes_back_as_queued(store: &impl Store) {
    enqueue(store, 1, 10).await;
    let job = store.job(job_id(1)).await.unwrap();
    assert_eq!((job.state, job.owner, job.attempts), (JobState::Queued, None, 0));
    assert_eq!((&job.kind[..], &job.payload[..]), ("work", "{}"));
    assert_eq!(job.session, Some(session_id(1)));
    assert_eq!((job.created_at, job.progress), (UnixMicros(10), Progress::default()));
    assert_conflict(store.enqueue(new_job(1, 10)).await);
    assert_not_found(store.job(job_id(2)).await);
}

pub async fn the_newest_jobs_come_first(store: &impl Store) {
    assert_eq!(store.jobs(10).await.unwrap(), []);
    for number in 1..=3 {
        enqueue(store, number, 10).await;
    }
    let ids: Vec<JobId> = store.jobs(2).await.unwrap().iter().map(|job| job.id).collect();
    assert_eq!(ids, [job_id(3), job_id(2)]);
    assert_eq!(store.jobs(usize::MAX).await.unwrap().len(), 3);
}

pub async fn the_oldest_job_is_leased_once(store: &impl Store) {
    enqueue(store, 1, 20).await;
    enqueue(store, 2, 10).await;
    let takers = (0..8).map(|n| store.lease(lease(&format!("owner{n}"), 100, 200)));
    let taken = join_all(takers).await;
    let taken: Vec<_> = taken.into_iter().filter_map(Result::unwrap).collect();
    let ids: Vec<JobId> = taken.iter().map(|job| job.id).collect();
    assert_eq!(ids, [job_id(2), job_id(1)], "each once, the oldest first");
    assert!(taken.iter().all(|job| job.state == JobState::Running && job.attempts == 1));
    assert_ne!(taken[0].owner, taken[1].owner);
}

pub async fn a_lease_that_ran_out_is_taken_over(store: &impl Store) {
    enqueue(store, 1, 10).await;
    take(store, "first", 100, 200).await;
    assert_eq!(store.lease(lease("second", 200, 300)).await.unwrap(), None, "not before");
    let job = store.lease(lease("second", 201, 300)).await.unwrap().unwrap();
    assert_eq!((job.owner.as_deref(), job.attempts), (Some("second"), 2));
    let late = store.heartbeat(job.id, lease("first", 202, 400), Progress::default()).await;
    assert_conflict(late);
}

pub async fn a_heartbeat_keeps_the_lease(store: &impl Store) {
    enqueue(store, 1, 10).await;
    let id = take(store, "owner", 100, 200).await;
    let progress =
        Progress { done: 3, total: 9, unit: "lines".into(), watermark: Some("{}".into()) };
    store.heartbeat(id, lease("owner", 150, 500), progress.clone()).await.unwrap();
    assert_eq!(store.job(id).await.unwrap().progress, progress);
    assert_eq!(store.lease(lease("other", 300, 400)).await.unwrap(), None);
    let other = store.heartbeat(id, lease("other", 300, 400), Progress::default()).await;
    assert_conflict(other);
    assert_eq!(store.job(id).await.unwrap().progress, progress);
    let nothing = store.heartbeat(job_id(9), lease("x", 1, 2), Progress::default()).await;
    assert_not_found(nothing);
}

pub async fn only_the_owner_finishes(store: &impl Store) {
    enqueue(store, 1, 10).await;
    enqueue(store, 2, 20).await;
    let finish =
        |id, owner: &str, outcome| store.finish(id, owner.to_owned(), outcome, UnixMicros(300));
    let done = || JobOutcome::Done("[1]".into());
    assert_conflict(finish(job_id(1), "owner", done()).await);
    let id = take(store, "owner", 100, 200).await;
    assert_conflict(finish(id, "other", done()).await);
    finish(id, "owner", done()).await.unwrap();
    let job = store.job(id).await.unwrap();
    assert_eq!((job.state, job.result.as_deref()), (JobState::Done, Some("[1]")));
    assert_eq!(job.updated_at, UnixMicros(300));
    assert_conflict(finish(id, "owner", done()).await);
    let id = take(store, "owner", 100, 200).await;
    finish(id, "owner", JobOutcome::Failed("why".into())).await.unwrap();
    let job = store.job(id).await.unwrap();
    assert_eq!((job.state, job.error.as_deref()), (JobState::Failed, Some("why")));
    assert_eq!(store.lease(lease("other", 900, 999)).await.unwrap(), None, "nothing is left");
    assert_not_found(finish(job_id(9), "owner", done()).await);
}

pub async fn released_work_is_queued_again(store: &impl Store) {
    for number in 1..=3 {
        enqueue(store, number, 10).await;
    }
    let mine = take(store, "leaving", 100, 200).await;
    let theirs = take(store, "staying", 100, 200).await;
    let finished = take(store, "leaving", 100, 200).await;
    let done = JobOutcome::Done("1".into());
    store.finish(finished, "leaving".into(), done, UnixMicros(150)).await.unwrap();
    store.release("leaving".into()).await.unwrap();
    assert_eq!(store.job(mine).await.unwrap().state, JobState::Queued);
    assert_eq!(store.job(theirs).await.unwrap().state, JobState::Running);
    assert_eq!(store.job(finished).await.unwrap().state, JobState::Done);
    assert_eq!(take(store, "next", 110, 210).await, mine, "without waiting for the lease");
}

pub async fn work_in_the_background_goes_last(store: &impl Store) {
    let background = NewJob { background: true, ..new_job(1, 10) };
    store.enqueue(background).await.unwrap();
    enqueue(store, 2, 20).await;
    assert_eq!(take(store, "owner", 100, 200).await, job_id(2), "though it is younger");
    let waited_for = Lease { background: false, ..lease("owner", 100, 200) };
    assert_eq!(store.lease(waited_for).await.unwrap(), None);
    assert_eq!(take(store, "owner", 100, 200).await, job_id(1));
}

pub async fn an_import_notes_its_progress(store: &impl Store) {
    let session = make_session(store, 1).await;
    enqueue(store, 1, 10).await;
    let progress =
        Progress { done: 1, total: 2, unit: "lines".into(), watermark: Some("1".into()) };
    let records = vec![record(session, 1, message("a", "a"))];
    let noted =
        ImportBatch { progress: Some((job_id(1), progress.clone())), ..batch(session, records) };
    store.import(noted).await.unwrap();
    assert_eq!(store.job(job_id(1)).await.unwrap().progress, progress);
    let records = vec![record(session, 2, message("b", "b"))];
    let stray = ImportBatch { progress: Some((job_id(9), progress)), ..batch(session, records) };
    assert_not_found(store.import(stray).await);
    assert_eq!(store.records(session, 0, 9).await.unwrap().len(), 1, "all or nothing");
}

fn job_id(number: u128) -> JobId {
    JobId(Uuid::from_u128(number))
}

fn new_job(number: u128, created_at: i64) -> NewJob {
    NewJob {
        id: job_id(number),
        kind: "work".into(),
        session: Some(session_id(1)),
        payload: "{}".into(),
        background: false,
        created_at: UnixMicros(created_at),
    }
}

async fn enqueue(store: &impl Store, number: u128, created_at: i64) {
    store.enqueue(new_job(number, created_at)).await.unwrap();
}

fn lease(owner: &str, now: i64, until: i64) -> Lease {
    Lease { owner: owner.into(), background: true, now: UnixMicros(now), until: UnixMicros(until) }
}

async fn take(store: &impl Store, owner: &str, now: i64, until: i64) -> JobId {
    store.lease(lease(owner, now, until)).await.unwrap().unwrap().id
}
