//! Adds the terms of messages to the index, and records how far each session is indexed. A transaction that changes a
//! session's part of the index locks the session.

use bethink_store::{
    IndexBatch, IndexLookup, IndexStore, SeqRange, StoreError, StoreFuture, StoreResult, TermPlaces,
};
use bethink_store_format::{SortedBatch, due};
use bethink_transcript::{Seq, SessionId};
use sqlx::{Executor, PgConnection, Postgres};

use crate::background::blocking;
use crate::sql::{not_found, sql};
use crate::store::PostgresStore;
use crate::{search, segments, sessions, tidy};

const MARKS: &str = "
    SELECT indexed_seq, last_seq
    FROM sessions
    WHERE id = $1";

const LAGGING: &str = "
    SELECT id
    FROM sessions
    WHERE indexed_seq < last_seq
    ORDER BY updated_at DESC
    LIMIT $1";

/// Never moves past the last stored message, so that messages stored later do not count as indexed.
const MOVE: &str = "
    UPDATE sessions
    SET indexed_seq = greatest(indexed_seq, least($2, last_seq))
    WHERE id = $1";

const KNOWN: &str = "
    SELECT number
    FROM index_sessions
    WHERE session = $1";

const KNOW: &str = "
    INSERT INTO index_sessions (session)
    VALUES ($1)
    RETURNING number";

const COUNT: &str = "
    UPDATE index_sessions
    SET messages = messages + $2,
        terms    = terms + $3
    WHERE session = $1";

const UNMARK: &str = "
    UPDATE sessions
    SET indexed_seq = 0
    WHERE id = $1";

impl IndexStore for PostgresStore {
    fn unindexed(&self, id: SessionId) -> StoreFuture<'_, Option<SeqRange>> {
        self.read(async move {
            let (indexed, last) = marks(&mut *self.readers.get().await?, id).await?;
            Ok((indexed < last).then(|| SeqRange {
                after: Some(indexed),
                before: Some(last.next()),
                ..SeqRange::all()
            }))
        })
    }

    fn lagging(&self, limit: usize) -> StoreFuture<'_, Vec<SessionId>> {
        self.all(sql(LAGGING).bind(limit), |row| row.get("id"))
    }

    fn index(&self, batch: IndexBatch) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let sorted = blocking(|| SortedBatch::new(batch)).await?;
            self.write(move |db| Box::pin(index(db, sorted))).await
        })
    }

    fn lookup(&self, lookup: IndexLookup) -> StoreFuture<'_, TermPlaces> {
        Box::pin(search::lookup(&self.readers, lookup))
    }

    fn reindex(&self, id: SessionId) -> StoreFuture<'_, ()> {
        self.write(move |db| {
            Box::pin(async move {
                sessions::lock_any(&mut *db, id).await?;
                segments::forget(&mut *db, id).await?;
                sql(UNMARK).bind(id).run(db).await.map(drop)
            })
        })
    }

    fn tidy(&self) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let _alone = self.tidying.lock().await;
            self.write(|db| Box::pin(tidy::tidy(db))).await
        })
    }
}

async fn index(db: &mut PgConnection, sorted: SortedBatch) -> StoreResult<bool> {
    sessions::lock_any(&mut *db, sorted.session).await?;
    let (indexed, last) = marks(&mut *db, sorted.session).await?;
    let (messages, terms) = sorted.new_counts(indexed, last);
    let number = know(db, sorted.session, messages, terms).await?;
    segments::add(db, &sorted.pages(number, indexed, last), (number.into(), number.into())).await?;
    sql(MOVE).bind(sorted.session).bind(sorted.through).run(&mut *db).await?;
    Ok(due(&segments::live(db).await?).is_some())
}

/// Returns the last indexed message, and the last stored one.
async fn marks(
    db: impl Executor<'_, Database = Postgres>,
    id: SessionId,
) -> StoreResult<(Seq, Seq)> {
    let marks = sql(MARKS).bind(id).optional(db, |row| Ok((row.get(0)?, row.get(1)?))).await?;
    marks.ok_or_else(|| not_found("session", id))
}

/// Returns the number that stands for the session in postings, and adds `messages` and `terms` to its totals.
async fn know(
    db: &mut PgConnection,
    session: SessionId,
    messages: u64,
    terms: u64,
) -> StoreResult<u32> {
    // Not with ON CONFLICT, which would use up a number each time.
    let known = sql(KNOWN).bind(session).optional(&mut *db, |row| row.get::<i64>(0)).await?;
    let number = match known {
        Some(number) => number,
        None => sql(KNOW).bind(session).value(&mut *db).await?,
    };
    sql(COUNT).bind(session).bind(messages).bind(terms).run(db).await?;
    u32::try_from(number).map_err(|_| {
        StoreError::Failed(format!("the session number {number} is too large for the index"))
    })
}
