//! Adds the terms of messages to the index, and records how far each session is indexed.

use std::collections::BTreeMap;

use bethink_store::{
    Counts, IndexBatch, IndexLookup, IndexStore, Posting, SeqRange, StoreError, StoreFuture,
    StoreResult, TermPlaces, Terms,
};
use bethink_transcript::{Seq, SessionId};
use sqlx::{Executor, Sqlite, SqliteConnection};

use crate::postings::{StoredOccurrence, Writer, can_be_kept, doc};
use crate::sql::{not_found, sql};
use crate::store::SqliteStore;
use crate::{search, segments, tidy};

const MARKS: &str = "
    SELECT indexed_seq, last_seq
    FROM sessions
    WHERE id = ?";

const LAGGING: &str = "
    SELECT id
    FROM sessions
    WHERE indexed_seq < last_seq
    ORDER BY updated_at DESC
    LIMIT ?";

/// Never moves past the last stored message, so that messages stored later do not count as indexed.
const MOVE: &str = "
    UPDATE sessions
    SET indexed_seq = max(indexed_seq, min(?2, last_seq)),
        seal        = seal + 1048573 * (max(indexed_seq, min(?2, last_seq)) - indexed_seq)
    WHERE id = ?1";

const KNOW: &str = "
    INSERT INTO index_sessions (session)
    VALUES (?)
    ON CONFLICT DO NOTHING";

const KNOWN: &str = "
    SELECT *
    FROM index_sessions
    WHERE session = ?";

const COUNT: &str = "
    UPDATE index_sessions
    SET messages = messages + ?2,
        terms    = terms + ?3
    WHERE session = ?1
    RETURNING *";

const UNMARK: &str = "
    UPDATE sessions
    SET indexed_seq = 0,
        seal        = seal - 1048573 * indexed_seq
    WHERE id = ?";

impl IndexStore for SqliteStore {
    fn unindexed(&self, id: SessionId) -> StoreFuture<'_, Option<SeqRange>> {
        self.read(async move {
            let (indexed, last) = marks(&*self.readers.get().await, id).await?;
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
            let sorted = tokio::task::spawn_blocking(|| sorted(batch))
                .await
                .map_err(|error| StoreError::Failed(error.to_string()))?;
            self.write(move |db| Box::pin(index(db, sorted))).await
        })
    }

    fn lookup(&self, lookup: IndexLookup) -> StoreFuture<'_, TermPlaces> {
        self.read(search::lookup(&self.readers, lookup))
    }

    fn reindex(&self, id: SessionId) -> StoreFuture<'_, ()> {
        self.write(move |db| {
            Box::pin(async move {
                marks(&mut *db, id).await?;
                segments::forget(&mut *db, id).await?;
                sql(UNMARK).bind(id).run(db).await.map(drop)
            })
        })
    }

    fn tidy(&self) -> StoreFuture<'_, bool> {
        self.read(async move { tidy::tidy(self, &mut *self.tidying.lock().await).await })
    }
}

/// A batch sorted by term, to save the writer work.
struct Sorted {
    session: SessionId,
    through: Seq,
    /// Seq and number of terms of each message.
    lengths: Vec<(u32, u64)>,
    terms: BTreeMap<String, Vec<(u32, Counts, u8)>>,
}

/// Sorts a batch. Called before the write, so that sorting does not occupy the writer.
fn sorted(batch: IndexBatch) -> Sorted {
    let IndexBatch { session, entries, through } = batch;
    let mut sorted = Sorted { session, through, lengths: Vec::new(), terms: BTreeMap::new() };
    for (seq, terms) in &entries {
        // Postings have 32 bits for it; no session has four billion messages.
        if let Ok(seq) = u32::try_from(seq.0) {
            add_message(&mut sorted, seq, terms);
        }
    }
    sorted
}

fn add_message(sorted: &mut Sorted, seq: u32, terms: &Terms) {
    let fields = [&terms.user, &terms.assistant, &terms.tool_input, &terms.tool_result];
    let length = fields.iter().map(|field| field.split_ascii_whitespace().count()).sum();
    let code = Posting::length_code(length);
    let mut count = |term: &str, field: Option<usize>| {
        if !can_be_kept(term) {
            return;
        }
        if !sorted.terms.contains_key(term) {
            sorted.terms.insert(term.to_owned(), Vec::new());
        }
        let Some(places) = sorted.terms.get_mut(term) else { return };
        if places.last().is_none_or(|(last, ..)| *last != seq) {
            places.push((seq, Counts::default(), code));
        }
        if let (Some(field), Some((_, counts, _))) = (field, places.last_mut()) {
            counts.add(field);
        }
    };
    for (field, terms) in fields.into_iter().enumerate() {
        terms.split_ascii_whitespace().for_each(|term| count(term, Some(field)));
    }
    terms.marks.split_ascii_whitespace().for_each(|term| count(term, None));
    sorted.lengths.push((seq, length as u64));
}

async fn index(db: &mut SqliteConnection, sorted: Sorted) -> StoreResult<bool> {
    let (indexed, last) = marks(&mut *db, sorted.session).await?;
    let is_new = |place: u32| {
        let place = Seq(u64::from(place));
        indexed < place && place <= last.min(sorted.through)
    };
    let new = sorted.lengths.iter().filter(|(place, _)| is_new(*place));
    let (messages, terms) = new.fold((0, 0), |(n, sum), (_, length)| (n + 1, sum + length));
    let number = know(db, sorted.session, messages, terms).await?;
    let mut postings = Writer::default();
    for (term, places) in &sorted.terms {
        let new = places.iter().filter(|(place, ..)| is_new(*place));
        let occurrences: Vec<_> = new
            .map(|(place, counts, length)| StoredOccurrence {
                doc: doc(number, *place),
                counts: counts.0,
                length: *length,
            })
            .collect();
        postings.add(term.as_bytes(), &occurrences);
    }
    segments::add(db, postings.finish(), number).await?;
    sql(MOVE).bind(sorted.session).bind(sorted.through).run(&mut *db).await?;
    Ok(segments::due(&segments::live(db).await?).is_some())
}

/// Returns the last indexed message, and the last stored one.
async fn marks(db: impl Executor<'_, Database = Sqlite>, id: SessionId) -> StoreResult<(Seq, Seq)> {
    let marks = sql(MARKS).bind(id).optional(db, |row| Ok((row.get(0)?, row.get(1)?))).await?;
    marks.ok_or_else(|| not_found("session", id))
}

/// Returns the number that stands for the session in postings, and adds `messages` and `terms` to its totals.
async fn know(
    db: &mut SqliteConnection,
    session: SessionId,
    messages: u64,
    terms: u64,
) -> StoreResult<u32> {
    sql(KNOW).bind(session).run(&mut *db).await?;
    let known = sql(KNOWN).bind(session).optional(&mut *db, |row| row.get::<i64>("number")).await?;
    let number = known.ok_or_else(|| not_found("session", session))?;
    let count = sql(COUNT).bind(session).bind(messages).bind(terms);
    count.seal(db, "index_sessions").await?;
    u32::try_from(number).map_err(|_| {
        StoreError::Failed(format!("the session number {number} is too large for the index"))
    })
}
