//! Lines of imported files, and the messages in them.

use bethink_store::{
    ImportBatch, ImportStore, NewRecord, StoreError, StoreFuture, StoreResult, StoredRecord,
};
use bethink_store_format::{AppendPlan, not_found, record_checksum, stored_already};
use bethink_transcript::{Seq, SessionId};
use bytes::Bytes;
use sqlx::PgConnection;

use crate::append;
use crate::jobs::note_progress;
use crate::sql::{Row, sql};
use crate::store::PostgresStore;

const READ: &str = "
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
    WHERE records.session = $1
      AND records.line > $2
    ORDER BY records.line
    LIMIT $3";

const IMPORTED: &str = "
    SELECT id
    FROM sessions
    WHERE content_hash = $1
    ORDER BY created_at DESC
    LIMIT 1";

const INSERT: &str = "
    INSERT INTO records (session, line, message, checksum, head, raw, tail)
    SELECT $1, new.line, messages.number, new.checksum, new.head, new.raw, new.tail
    FROM unnest($2, $3, $4, $5, $6, $7, $8)
      AS new (line, message_session, message_seq, checksum, head, raw, tail)
    LEFT JOIN messages
      ON messages.session = new.message_session
     AND messages.seq = new.message_seq";

impl ImportStore for PostgresStore {
    fn import(&self, batch: ImportBatch) -> StoreFuture<'_, ()> {
        self.write(move |db| Box::pin(import(db, batch)))
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

/// The row of a record. Its bytes are stored once: in the message, or here if the message was a repetition.
struct RecordRow {
    line: u64,
    message: Option<(SessionId, Seq)>,
    checksum: i64,
    head: Bytes,
    raw: Option<Bytes>,
    tail: Bytes,
}

async fn import(db: &mut PgConnection, batch: ImportBatch) -> StoreResult<()> {
    let ImportBatch { session, records, progress } = batch;
    let messages: Vec<_> = records.iter().filter_map(|record| record.message.as_ref()).collect();
    let sessions = messages.iter().map(|(session, _)| *session).chain([session]).collect();
    let asked = messages.iter().map(|(session, message)| (*session, message.id.clone())).collect();
    let (mut plan, moved) = append::begin(db, sessions, asked).await?;
    if let Some((session, holder)) = moved.into_iter().next() {
        return Err(StoreError::Moved { session, holder });
    }
    if !plan.sessions.contains_key(&session) {
        return Err(not_found("session", session));
    }
    let placed = records.iter().map(|record| place(&mut plan, session, record));
    let rows = placed.collect::<StoreResult<Vec<RecordRow>>>()?;
    append::write(&plan, &mut *db).await?;
    let insert = sql(INSERT)
        .bind(session)
        .bind_list(rows.iter().map(|row| row.line))
        .bind_list(rows.iter().map(|row| row.message.map(|(session, _)| session)))
        .bind_list(rows.iter().map(|row| row.message.map(|(_, seq)| seq)))
        .bind_list(rows.iter().map(|row| row.checksum))
        .bind_list(rows.iter().map(|row| row.head.clone()))
        .bind_list(rows.iter().map(|row| row.raw.clone()))
        .bind_list(rows.iter().map(|row| row.tail.clone()));
    insert.insert(&mut *db, || stored_already(session, &records)).await?;
    match progress {
        Some((job, progress)) => note_progress(db, job, progress).await,
        None => Ok(()),
    }
}

/// Places the message of a record.
fn place(plan: &mut AppendPlan, session: SessionId, record: &NewRecord) -> StoreResult<RecordRow> {
    let NewRecord { line, head, tail, message } = record;
    let (mut place, mut own) = (None, None);
    let mut raw: &[u8] = &[];
    if let Some((session, message)) = message {
        raw = &message.raw;
        match plan.place(*session, message, message.created_at)? {
            (seq, true) => place = Some((*session, seq)),
            (_, false) => own = Some(message.raw.clone()),
        }
    }
    let checksum = record_checksum(session, *line, [head, raw, tail]);
    let (head, tail) = (head.clone(), tail.clone());
    Ok(RecordRow { line: *line, message: place, checksum, head, raw: own, tail })
}

pub(crate) fn record(row: &Row) -> StoreResult<StoredRecord> {
    let (line, session): (u64, SessionId) = (row.get("line")?, row.get("session")?);
    let (head, raw, tail): (Bytes, Bytes, Bytes) =
        (row.get("head")?, row.get("raw")?, row.get("tail")?);
    if row.get::<i64>("checksum")? != record_checksum(session, line, [&head, &raw, &tail]) {
        let why = format!("line {line} of the file imported as session {session} is corrupted");
        return Err(StoreError::Damaged(why));
    }
    let message_session: Option<SessionId> = row.get("message_session")?;
    let message = message_session.zip(row.get("message_seq")?);
    Ok(StoredRecord { line, head, raw, tail, message })
}
