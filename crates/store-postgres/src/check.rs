//! Checks the checksums of history.

use bethink_store::{CheckStore, StoreError, StoreFuture, StoreResult};
use bethink_transcript::{SessionId, UnixMicros};
use uuid::Uuid;

use crate::import::record;
use crate::messages::message;
use crate::sql::{Row, sql};
use crate::store::PostgresStore;

const MESSAGES: &str = "
    SELECT number, session, seq, message_id, role, recorded, created_at, checksum, raw
    FROM messages
    WHERE number > $1
    ORDER BY number
    LIMIT $2";

const RECORDS: &str = "
    SELECT records.session,
           records.line,
           records.checksum,
           records.head,
           coalesce(messages.raw, records.raw, ''::bytea) AS raw,
           records.tail,
           messages.session AS message_session,
           messages.seq     AS message_seq
    FROM records
    LEFT JOIN messages
      ON messages.number = records.message
    WHERE (records.session, records.line) > ($1, $2)
    ORDER BY records.session, records.line
    LIMIT $3";

const CHECKED_AT: &str = "
    SELECT checked_at
    FROM database_state";

const SET_CHECKED_AT: &str = "
    UPDATE database_state
    SET checked_at = $1";

/// Number of rows that are read at once. They take a few megabytes.
const ROWS: usize = 256;

impl CheckStore for PostgresStore {
    fn check(&self) -> StoreFuture<'_, Option<String>> {
        Box::pin(async {
            match check(self).await {
                Ok(()) => Ok(None),
                Err(StoreError::Damaged(why)) => Ok(Some(why)),
                Err(other) => Err(other),
            }
        })
    }

    fn checked_at(&self) -> StoreFuture<'_, Option<UnixMicros>> {
        self.read(async { sql(CHECKED_AT).value(&mut *self.readers.get().await?).await })
    }

    fn set_checked_at(&self, at: Option<UnixMicros>) -> StoreFuture<'_, ()> {
        self.run(sql(SET_CHECKED_AT).bind(at))
    }
}

/// Reads every row that has a checksum. Fails at the first one that differs from what was written.
async fn check(store: &PostgresStore) -> StoreResult<()> {
    let mut after = 0_i64;
    loop {
        let read = |row: &Row| message(row).and_then(|_| row.get::<i64>("number"));
        let numbers = store.all(sql(MESSAGES).bind(after).bind(ROWS), read).await?;
        let Some(last) = numbers.last() else { break };
        after = *last;
    }
    let mut after = (SessionId(Uuid::nil()), 0_u64);
    loop {
        let (session, line) = after;
        let read = |row: &Row| Ok((row.get("session")?, record(row)?.line));
        let statement = sql(RECORDS).bind(session).bind(line).bind(ROWS);
        let places = store.all(statement, read).await?;
        let Some(last) = places.last() else { return Ok(()) };
        after = *last;
    }
}
