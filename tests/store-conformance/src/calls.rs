//! Tests of the ledger.

use bethink_transcript::{CallId, SessionId, UnixMicros};
use uuid::Uuid;

use super::{NOW, assert_conflict, make_session, session_id};
use bethink_store::{MOST_OF_A_CALL, ModelCall, Store, UsageFilter, UsageSum};

/// Makes a call that began `number` seconds after [`NOW`].
fn call(number: u64, session: Option<SessionId>, purpose: &str, model: &str) -> ModelCall {
    ModelCall {
        id: CallId(Uuid::from_u128(u128::from(number))),
        session,
        purpose: purpose.to_owned(),
        provider: "anthropic".to_owned(),
        model: model.to_owned(),
        started_at: at(number),
        millis: 1_234,
        input: 10,
        output: 20,
        cache_read: 300,
        cache_write: 4_000,
        cost: Some(50_000),
        outcome: "ok".to_owned(),
    }
}

fn at(second: u64) -> UnixMicros {
    UnixMicros(NOW.0 + i64::try_from(second).unwrap() * 1_000_000)
}

async fn usage(store: &impl Store, filter: UsageFilter) -> Vec<UsageSum> {
    store.model_usage(filter).await.unwrap()
}

pub async fn calls_are_summed_by_purpose_and_model(store: &impl Store) {
    assert_eq!(usage(store, UsageFilter::default()).await, []);
    let session = Some(make_session(store, 1).await);
    store.add_model_call(call(1, session, "summary", "large")).await.unwrap();
    let failed = ModelCall {
        output: 0,
        cost: Some(0),
        outcome: "overloaded".into(),
        ..call(2, session, "summary", "large")
    };
    store.add_model_call(failed).await.unwrap();
    store.add_model_call(call(3, None, "notes", "small")).await.unwrap();
    let free = ModelCall { cost: None, ..call(4, session, "summary", "local") };
    store.add_model_call(free).await.unwrap();
    let silent = ModelCall {
        input: 0,
        output: 0,
        cache_read: 0,
        cache_write: 0,
        cost: None,
        outcome: "unreachable".into(),
        ..call(5, session, "summary", "local")
    };
    store.add_model_call(silent).await.unwrap();
    let sums = usage(store, UsageFilter::default()).await;
    let names: Vec<_> = sums.iter().map(|sum| (&sum.purpose[..], &sum.model[..])).collect();
    assert_eq!(names, [("summary", "local"), ("notes", "small"), ("summary", "large")]);
    let large = UsageSum {
        session: None,
        purpose: "summary".into(),
        model: "large".into(),
        calls: 2,
        failed: 1,
        input: 20,
        output: 20,
        cache_read: 600,
        cache_write: 8_000,
        cost: 50_000,
        unpriced: 0,
        last_at: at(2),
    };
    assert_eq!(sums[2], large);
    let local = (sums[0].calls, sums[0].failed, sums[0].cost, sums[0].unpriced);
    assert_eq!(local, (2, 1, 0, 1), "a call that used nothing lacks no price");
}

pub async fn sums_are_of_a_session_or_of_a_time(store: &impl Store) {
    let (one, two) = (make_session(store, 1).await, make_session(store, 2).await);
    for (number, session) in [(1, Some(one)), (2, Some(two)), (3, None), (4, Some(one))] {
        store.add_model_call(call(number, session, "notes", "m")).await.unwrap();
    }
    let calls = async |filter| -> Vec<_> {
        let sums = usage(store, filter).await;
        sums.into_iter().map(|sum| (sum.session, sum.calls)).collect()
    };
    let all = UsageFilter::default();
    assert_eq!(calls(all).await, [(None, 4)]);
    let apart = UsageFilter { by_session: true, ..all };
    assert_eq!(calls(apart).await, [(Some(one), 2), (None, 1), (Some(two), 1)]);
    assert_eq!(calls(UsageFilter { session: Some(one), ..all }).await, [(None, 2)]);
    assert_eq!(calls(UsageFilter { session: Some(one), ..apart }).await, [(Some(one), 2)]);
    assert_eq!(calls(UsageFilter { since: Some(at(3)), ..all }).await, [(None, 2)]);
    let late = UsageFilter { session: Some(one), since: Some(at(2)), by_session: true };
    assert_eq!(calls(late).await, [(Some(one), 1)]);
    assert_eq!(calls(UsageFilter { since: Some(at(5)), ..all }).await, []);
    assert_eq!(calls(UsageFilter { session: Some(session_id(9)), ..all }).await, []);
}

pub async fn a_call_is_written_down_once(store: &impl Store) {
    store.add_model_call(call(1, None, "notes", "m")).await.unwrap();
    assert_conflict(store.add_model_call(call(1, None, "notes", "m")).await);
    assert_eq!(usage(store, UsageFilter::default()).await[0].calls, 1);
}

pub async fn what_was_spent_outlives_its_session(store: &impl Store) {
    let session = make_session(store, 1).await;
    store.add_model_call(call(1, Some(session), "summary", "m")).await.unwrap();
    store.delete_session(session).await.unwrap();
    // A call may end after its session was deleted.
    store.add_model_call(call(2, Some(session), "summary", "m")).await.unwrap();
    let of = UsageFilter { session: Some(session), by_session: true, ..UsageFilter::default() };
    let sums = usage(store, of).await;
    assert_eq!((sums[0].session, sums[0].calls, sums[0].cost), (Some(session), 2, 100_000));
}

pub async fn absurd_figures_break_no_sum(store: &impl Store) {
    for number in 1..=3 {
        let absurd = ModelCall {
            input: u64::MAX,
            output: u64::MAX,
            cost: Some(u64::MAX),
            millis: u64::MAX,
            ..call(number, None, "notes", "m")
        };
        store.add_model_call(absurd).await.unwrap();
    }
    let sums = usage(store, UsageFilter::default()).await;
    assert_eq!(
        (sums[0].input, sums[0].cost, sums[0].cache_read),
        (3 * MOST_OF_A_CALL, 3 * MOST_OF_A_CALL, 900)
    );
}
