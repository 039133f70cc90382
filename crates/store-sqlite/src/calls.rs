//! Model calls: rows that are only added, and their sums.

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
        let conflict = move || format!("the call {} is already recorded", call.id);
        self.write(move |db| Box::pin(add.insert(db, conflict)))
    }

    fn model_usage(&self, filter: UsageFilter) -> StoreFuture<'_, Vec<UsageSum>> {
        let since = filter.since.unwrap_or(UnixMicros(i64::MIN));
        // A condition on an optional parameter would not use an index.
        let of_session = if filter.session.is_some() { "AND session = ?3" } else { "" };
        let sums = sql(AssertSqlSafe(format!("{SUM} {of_session} {GROUPS}")));
        self.all(sums.bind(filter.by_session).bind(since).bind(filter.session), Record::read)
    }
}
