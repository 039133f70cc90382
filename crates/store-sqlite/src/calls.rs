//! Calls of models: rows that are only added, and their sums.

use bethink_store::{MOST_OF_A_CALL, ModelCall, Result, StoreError, UsageFilter, UsageSum};
use bethink_transcript::UnixMicros;
use sqlx::{FromRow, SqlitePool};

use crate::convert::{integer, session_id, unsigned};
use crate::error::{from_sqlx, is_unique_violation};
use crate::writer::Desk;

const ADD: &str = "
    INSERT INTO model_calls (
        id, session, purpose, provider, model, started_at, millis, input, output, cache_read,
        cache_write, cost, outcome
    )
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// Text by text, so that each finds its index: a condition that may be absent finds none.
const SUM_ALL: &str = "
    SELECT iif(?1, session, NULL) AS owner,
           purpose,
           model,
           count(*)                 AS calls,
           sum(outcome <> 'ok')     AS failed,
           sum(input)               AS input,
           sum(output)              AS output,
           sum(cache_read)          AS cache_read,
           sum(cache_write)         AS cache_write,
           sum(coalesce(cost, 0))   AS cost,
           sum(cost IS NULL AND input + output + cache_read + cache_write > 0) AS unpriced,
           max(started_at)          AS last_at
    FROM model_calls
    WHERE started_at >= ?2
    GROUP BY owner, purpose, model
    ORDER BY last_at DESC, owner, purpose, model";

const SUM_SESSION: &str = "
    SELECT iif(?1, session, NULL) AS owner,
           purpose,
           model,
           count(*)                 AS calls,
           sum(outcome <> 'ok')     AS failed,
           sum(input)               AS input,
           sum(output)              AS output,
           sum(cache_read)          AS cache_read,
           sum(cache_write)         AS cache_write,
           sum(coalesce(cost, 0))   AS cost,
           sum(cost IS NULL AND input + output + cache_read + cache_write > 0) AS unpriced,
           max(started_at)          AS last_at
    FROM model_calls
    WHERE started_at >= ?2
      AND session = ?3
    GROUP BY purpose, model
    ORDER BY last_at DESC, purpose, model";

#[derive(FromRow)]
struct Row {
    owner: Option<Vec<u8>>,
    purpose: String,
    model: String,
    calls: i64,
    failed: i64,
    input: i64,
    output: i64,
    cache_read: i64,
    cache_write: i64,
    cost: i64,
    unpriced: i64,
    last_at: i64,
}

pub(crate) async fn add(desk: &mut Desk, call: ModelCall) -> Result<()> {
    let added = sqlx::query(ADD)
        .bind(call.id.0.as_bytes().to_vec())
        .bind(call.session.map(|session| session.0.as_bytes().to_vec()))
        .bind(call.purpose)
        .bind(call.provider)
        .bind(call.model)
        .bind(call.started_at.0)
        .bind(figure(call.millis))
        .bind(figure(call.input))
        .bind(figure(call.output))
        .bind(figure(call.cache_read))
        .bind(figure(call.cache_write))
        .bind(call.cost.map(figure))
        .bind(call.outcome)
        .execute(&mut desk.connection)
        .await;
    added.map(drop).map_err(|error| match is_unique_violation(&error) {
        true => StoreError::Conflict(format!("the call {} is written down already", call.id)),
        false => from_sqlx(error),
    })
}

pub(crate) async fn sums(readers: &SqlitePool, filter: UsageFilter) -> Result<Vec<UsageSum>> {
    let since = filter.since.map_or(i64::MIN, |since| since.0);
    let statement = match filter.session {
        None => sqlx::query_as(SUM_ALL).bind(filter.by_session).bind(since),
        Some(session) => sqlx::query_as(SUM_SESSION)
            .bind(filter.by_session)
            .bind(since)
            .bind(session.0.as_bytes().to_vec()),
    };
    let rows: Vec<Row> = statement.fetch_all(readers).await.map_err(from_sqlx)?;
    rows.into_iter().map(Row::into_sum).collect()
}

fn figure(number: u64) -> i64 {
    integer(number.min(MOST_OF_A_CALL))
}

impl Row {
    fn into_sum(self) -> Result<UsageSum> {
        Ok(UsageSum {
            session: self.owner.as_deref().map(session_id).transpose()?,
            purpose: self.purpose,
            model: self.model,
            calls: unsigned(self.calls),
            failed: unsigned(self.failed),
            input: unsigned(self.input),
            output: unsigned(self.output),
            cache_read: unsigned(self.cache_read),
            cache_write: unsigned(self.cache_write),
            cost: unsigned(self.cost),
            unpriced: unsigned(self.unpriced),
            last_at: UnixMicros(self.last_at),
        })
    }
}
