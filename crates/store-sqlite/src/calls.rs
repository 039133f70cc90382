//! Model calls: append-only rows, and their totals.

use bethink_store::{LedgerStore, MOST_OF_A_CALL, ModelCall, StoreFuture, UsageFilter, UsageSum};
use bethink_transcript::UnixMicros;
use sqlx::AssertSqlSafe;

use crate::record::Record;
use crate::sql::sql;
use crate::store::SqliteStore;

const ADD: &str = "
    INSERT INTO model_calls (
        id, session, purpose, provider, model, started_at, millis, input, output, cache_read,
        cache_write, cost, outcome
    )
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

const READ: &str = "
    SELECT *
    FROM model_calls
    WHERE id = ?";

/// Reads the rows to sum up, after a row number.
const ROWS: &str = "
    SELECT *
    FROM model_calls
    WHERE started_at >= ?1
      AND number > ?2";

const NEXT: &str = "
    ORDER BY number
    LIMIT 1000";

const SUM: &str = "
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
    WHERE started_at >= ?2";

const GROUPS: &str = "
    GROUP BY owner, purpose, model
    ORDER BY last_at DESC, owner, purpose, model";

impl LedgerStore for SqliteStore {
    fn add_model_call(&self, call: ModelCall) -> StoreFuture<'_, ()> {
        let add = sql(ADD)
            .bind(call.id)
            .bind(call.session)
            .bind(call.purpose)
            .bind(call.provider)
            .bind(call.model)
            .bind(call.started_at)
            .bind(call.millis.min(MOST_OF_A_CALL))
            .bind(call.input.min(MOST_OF_A_CALL))
            .bind(call.output.min(MOST_OF_A_CALL))
            .bind(call.cache_read.min(MOST_OF_A_CALL))
            .bind(call.cache_write.min(MOST_OF_A_CALL))
            .bind(call.cost.map(|cost| cost.min(MOST_OF_A_CALL)))
            .bind(call.outcome);
        self.write(move |db| {
            Box::pin(async move {
                let conflict = || format!("the call {} is already recorded", call.id);
                add.insert(&mut *db, conflict).await?;
                sql(READ).bind(call.id).seal(db, "model_calls").await.map(drop)
            })
        })
    }

    fn model_usage(&self, filter: UsageFilter) -> StoreFuture<'_, Vec<UsageSum>> {
        let since = filter.since.unwrap_or(UnixMicros(i64::MIN));
        // A condition on an optional parameter would not use an index.
        let of_session = if filter.session.is_some() { "AND session = ?3" } else { "" };
        let rows = format!("{ROWS} {of_session} {NEXT}");
        let sums = sql(AssertSqlSafe(format!("{SUM} {of_session} {GROUPS}")));
        let sums = sums.bind(filter.by_session).bind(since).bind(filter.session);
        self.read(async move {
            let mut after = 0_i64;
            loop {
                let rows = sql(AssertSqlSafe(rows.clone()));
                let rows = rows.bind(since).bind(after).bind(filter.session);
                let numbers = rows.all(&*self.readers.get().await, |row| row.get("number")).await?;
                let Some(last) = numbers.last() else { break };
                after = *last;
            }
            sums.all(&*self.readers.get().await, Record::read).await
        })
    }
}
