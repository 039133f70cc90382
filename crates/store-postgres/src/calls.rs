//! Model calls: append-only rows, and their totals.

use bethink_store::{LedgerStore, MOST_OF_A_CALL, ModelCall, StoreFuture, UsageFilter, UsageSum};
use bethink_transcript::UnixMicros;
use sqlx::AssertSqlSafe;

use crate::record::Record;
use crate::sql::sql;
use crate::store::PostgresStore;

const ADD: &str = "
    INSERT INTO model_calls (
        id, session, purpose, provider, model, started_at, millis, input, output, cache_read,
        cache_write, cost, outcome
    )
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";

const SUM: &str = "
    SELECT CASE WHEN $1 THEN session END               AS owner,
           purpose,
           model,
           count(*)                                    AS calls,
           count(*) FILTER (WHERE outcome <> 'ok')     AS failed,
           sum(input)::BIGINT                          AS input,
           sum(output)::BIGINT                         AS output,
           sum(cache_read)::BIGINT                     AS cache_read,
           sum(cache_write)::BIGINT                    AS cache_write,
           sum(coalesce(cost, 0))::BIGINT              AS cost,
           count(*) FILTER (
               WHERE cost IS NULL
                 AND input + output + cache_read + cache_write > 0
           )                                           AS unpriced,
           max(started_at)                             AS last_at
    FROM model_calls
    WHERE started_at >= $2";

const GROUPS: &str = "
    GROUP BY owner, purpose, model
    ORDER BY last_at DESC, owner NULLS FIRST, purpose, model";

impl LedgerStore for PostgresStore {
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
                add.insert(db, || format!("the call {} is already recorded", call.id)).await
            })
        })
    }

    fn model_usage(&self, filter: UsageFilter) -> StoreFuture<'_, Vec<UsageSum>> {
        let since = filter.since.unwrap_or(UnixMicros(i64::MIN));
        // A condition on an optional parameter would not use an index.
        let of_session = if filter.session.is_some() { "AND session = $3" } else { "" };
        let mut sums = sql(AssertSqlSafe(format!("{SUM} {of_session} {GROUPS}")));
        sums = sums.bind(filter.by_session).bind(since);
        if let Some(session) = filter.session {
            sums = sums.bind(session);
        }
        self.all(sums, Record::read)
    }
}
