//! Terms, which come after their messages, and the mark that tells from where they are still to come.

use std::collections::BTreeMap;

use bethink_store::{Counts, IndexBatch, Posting, Result, SeqRange, Terms};
use bethink_transcript::{Seq, SessionId};
use sqlx::{SqliteConnection, SqlitePool};

use crate::convert::{integer, limit, not_found, seq, seq_column, session_id};
use crate::error::from_sqlx;
use crate::postings::{Occurrence, Writer, can_be_kept, doc};
use crate::segments;
use crate::writer::Desk;

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

/// No further than to what is there: what comes later is not indexed by this.
const MOVE: &str = "
    UPDATE sessions
    SET indexed_seq = max(indexed_seq, min(?2, last_seq))
    WHERE id = ?1";

const KNOW: &str = "
    INSERT INTO index_sessions (session)
    VALUES (?)
    ON CONFLICT DO NOTHING";

const COUNT: &str = "
    UPDATE index_sessions
    SET messages = messages + ?2,
        terms    = terms + ?3
    WHERE session = ?1
    RETURNING number";

const FORGET: [&str; 3] = [segments::MARK_STALE, segments::FORGET_SESSION, UNMARK];

const UNMARK: &str = "
    UPDATE sessions
    SET indexed_seq = 0
    WHERE id = ?";

pub(crate) async fn unindexed(readers: &SqlitePool, id: SessionId) -> Result<Option<SeqRange>> {
    let (indexed, last) = marks(&mut *readers.acquire().await.map_err(from_sqlx)?, id).await?;
    Ok((indexed < last).then(|| SeqRange {
        after: Some(indexed),
        before: Some(last.next()),
        ..SeqRange::all()
    }))
}

pub(crate) async fn lagging(readers: &SqlitePool, most: usize) -> Result<Vec<SessionId>> {
    let ids: Vec<Vec<u8>> = sqlx::query_scalar(LAGGING)
        .bind(limit(most))
        .fetch_all(readers)
        .await
        .map_err(from_sqlx)?;
    ids.iter().map(|id| session_id(id)).collect()
}

/// A batch sorted by term, so that the writer has little left to do.
pub(crate) struct Sorted {
    session: SessionId,
    through: Seq,
    /// Place and number of terms of each message.
    lengths: Vec<(u32, u64)>,
    terms: BTreeMap<String, Vec<(u32, Counts, u8)>>,
}

/// Takes the time that sorting takes; call it before the writer is asked.
pub(crate) fn sorted(batch: IndexBatch) -> Sorted {
    let IndexBatch { session, entries, through } = batch;
    let mut sorted = Sorted { session, through, lengths: Vec::new(), terms: BTreeMap::new() };
    for (seq, terms) in &entries {
        // Postings hold 32 bits of it; nobody says four billion things in a session.
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

pub(crate) async fn index(desk: &mut Desk, sorted: Sorted) -> Result<bool> {
    let connection = &mut desk.connection;
    let (indexed, last) = marks(connection, sorted.session).await?;
    let is_new = |place: u32| {
        let place = Seq(u64::from(place));
        indexed < place && place <= last.min(sorted.through)
    };
    let new = sorted.lengths.iter().filter(|(place, _)| is_new(*place));
    let (messages, terms) = new.fold((0, 0), |(n, sum), (_, length)| (n + 1, sum + length));
    let number = know(connection, sorted.session, messages, terms).await?;
    let mut writer = Writer::default();
    for (term, places) in &sorted.terms {
        let new = places.iter().filter(|(place, ..)| is_new(*place));
        let occurrences: Vec<_> = new
            .map(|(place, counts, length)| Occurrence {
                doc: doc(number, *place),
                counts: counts.0,
                length: *length,
            })
            .collect();
        writer.add(term.as_bytes(), &occurrences);
    }
    segments::add(connection, &writer.finish(), number).await?;
    sqlx::query(MOVE)
        .bind(sorted.session.0.as_bytes().to_vec())
        .bind(seq_column(sorted.through))
        .execute(&mut *connection)
        .await
        .map_err(from_sqlx)?;
    Ok(segments::due(&segments::live(connection).await?).is_some())
}

async fn marks(connection: &mut SqliteConnection, id: SessionId) -> Result<(Seq, Seq)> {
    let row: Option<(i64, i64)> = sqlx::query_as(MARKS)
        .bind(id.0.as_bytes().to_vec())
        .fetch_optional(connection)
        .await
        .map_err(from_sqlx)?;
    row.map(|(indexed, last)| (seq(indexed), seq(last))).ok_or_else(|| not_found("session", id))
}

/// The number of the session in postings, with what was indexed now counted.
async fn know(
    connection: &mut SqliteConnection,
    session: SessionId,
    messages: u64,
    terms: u64,
) -> Result<u32> {
    let id = session.0.as_bytes().to_vec();
    sqlx::query(KNOW).bind(id.clone()).execute(&mut *connection).await.map_err(from_sqlx)?;
    let number: i64 = sqlx::query_scalar(COUNT)
        .bind(id)
        .bind(integer(messages))
        .bind(integer(terms))
        .fetch_one(connection)
        .await
        .map_err(from_sqlx)?;
    segments::session_number(number)
}

pub(crate) async fn reindex(desk: &mut Desk, id: SessionId) -> Result<()> {
    marks(&mut desk.connection, id).await?;
    for statement in FORGET {
        sqlx::query(statement)
            .bind(id.0.as_bytes().to_vec())
            .execute(&mut desk.connection)
            .await
            .map_err(from_sqlx)?;
    }
    Ok(())
}
