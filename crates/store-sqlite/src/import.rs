//! Lines of imported files, and the messages in them.

use bethink_store::{
    ImportBatch, ImportStore, NewRecord, StoreError, StoreFuture, StoreResult, StoredRecord,
};
use bethink_store_format::{AppendPlan, record_checksum, stored_already};
use bethink_transcript::SessionId;
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use crate::append::{self, join};
use crate::jobs::note_progress;
use crate::salvage::record_is_whole;
use crate::sessions;
use crate::sql::{Row, hex, sql};
use crate::store::SqliteStore;

const READ: &str = "
    SELECT records.session,
           records.line,
           records.checksum,
           records.head,
           coalesce(messages.raw, records.raw, x'') AS raw,
           records.tail,
           messages.session AS message_session,
           messages.seq     AS message_seq
    FROM records
    LEFT JOIN messages
      ON messages.number = records.message
    WHERE records.session = ?
      AND records.line > ?
    ORDER BY records.line
    LIMIT ?";

const IMPORTED: &str = "
    SELECT id
    FROM sessions
    WHERE content_hash = ?
    ORDER BY created_at DESC
    LIMIT 1";

/// `coalesce` is needed because `substr` of an empty blob is NULL.
const INSERT: &str = "
    INSERT INTO records (session, line, message, checksum, head, raw, tail)
    SELECT ?1,
           value ->> 0,
           (
               SELECT number
               FROM messages
               WHERE session = unhex(value ->> 1)
                 AND seq = value ->> 2
           ),
           value ->> 3,
           coalesce(substr(?2, value ->> 4, value ->> 5), x''),
           substr(?2, value ->> 6, value ->> 7),
           coalesce(substr(?2, value ->> 8, value ->> 9), x'')
    FROM json_each(?3)";

impl ImportStore for SqliteStore {
    fn import(&self, batch: ImportBatch) -> StoreFuture<'_, ()> {
        self.write_history(move |db| Box::pin(import(db, batch)))
    }

    fn records(
        &self,
        id: SessionId,
        after_line: u64,
        limit: usize,
    ) -> StoreFuture<'_, Vec<StoredRecord>> {
        self.all_of(id, sql(READ).bind(id).bind(after_line).bind(limit), record)
    }

    fn imported(&self, content_hash: &str) -> StoreFuture<'_, Option<SessionId>> {
        self.optional(sql(IMPORTED).bind(content_hash.to_owned()), |row| row.get("id"))
    }
}

async fn import(db: &mut SqliteConnection, batch: ImportBatch) -> StoreResult<()> {
    let ImportBatch { session, records, progress } = batch;
    sessions::must_exist(&mut *db, session).await?;
    let messages = records.iter().filter_map(|record| record.message.as_ref());
    let asked = messages.map(|(session, message)| (*session, Some(&message.id))).collect();
    let mut plan = AppendPlan::default();
    append::ask(&mut plan, db, asked).await?;
    let (mut rows, mut bytes) = (Vec::with_capacity(records.len()), Vec::new());
    for record in &records {
        rows.push(place(&mut plan, session, record, &mut bytes)?);
    }
    append::write(&plan, &mut *db).await?;
    let rows = Value::Array(rows).to_string();
    let insert = sql(INSERT).bind(session).bind(bytes).bind(rows);
    insert.insert(&mut *db, || stored_already(session, &records)).await?;
    match progress {
        Some((job, progress)) => note_progress(db, job, progress).await,
        None => Ok(()),
    }
}

/// Prepares the row of a record: places its message and appends its bytes to those of the others.
fn place(
    plan: &mut AppendPlan,
    session: SessionId,
    record: &NewRecord,
    bytes: &mut Vec<u8>,
) -> StoreResult<Value> {
    let NewRecord { line, head, tail, message } = record;
    let mut place = None;
    // Raw bytes are stored once: in the message, or here if the message was a repetition.
    let mut own = None;
    let mut raw: &[u8] = &[];
    if let Some((session, message)) = message {
        raw = &message.raw;
        let at = message.created_at;
        match plan.place(*session, message, at)? {
            (seq, true) => place = Some((hex(*session), seq)),
            (_, false) => own = Some(join(bytes, raw)),
        }
    }
    let checksum = record_checksum(session, *line, [head, raw, tail]);
    let (head, tail) = (join(bytes, head), join(bytes, tail));
    let (message_session, seq) = place.unzip();
    let (own, own_length) = own.unzip();
    Ok(json!([
        line,
        message_session,
        seq,
        checksum,
        head.0,
        head.1,
        own,
        own_length,
        tail.0,
        tail.1
    ]))
}

fn record(row: &Row) -> StoreResult<StoredRecord> {
    if !record_is_whole(row)? {
        let (line, session): (u64, SessionId) = (row.get("line")?, row.get("session")?);
        let why = format!("line {line} of the file imported as session {session} is corrupted");
        return Err(StoreError::Damaged(why));
    }
    let session: Option<SessionId> = row.get("message_session")?;
    Ok(StoredRecord {
        line: row.get("line")?,
        head: row.get("head")?,
        raw: row.get("raw")?,
        tail: row.get("tail")?,
        message: session.zip(row.get("message_seq")?),
    })
}
