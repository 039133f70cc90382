//! Lines of imported files, and the messages in them.

use std::sync::LazyLock;

use bethink_store::{ImportBatch, NewRecord, Record, Result, StoreError};
use bethink_transcript::SessionId;
use bytes::Bytes;
use sqlx::{FromRow, SqlitePool};

use crate::append::{meet, newest, stored};
use crate::convert::{integer, limit, not_found, seq, session_id, unsigned};
use crate::error::{from_sqlx, is_unique_violation};
use crate::plan::{Facts, Plan};
use crate::rows::{self, MOST, Statement, bind_nulls, checksum, insert_rows, size_for, sizes};
use crate::sessions;
use crate::writer::Desk;

const READ: &str = "
    SELECT records.line,
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

const COLUMNS: usize = 7;

static INSERT: LazyLock<Vec<String>> = LazyLock::new(|| {
    let target = "records (session, line, message, checksum, head, raw, tail)";
    sizes().map(|size| insert_rows(target, COLUMNS, size)).into()
});

#[derive(FromRow)]
struct Row {
    line: i64,
    head: Vec<u8>,
    raw: Vec<u8>,
    tail: Vec<u8>,
    message_session: Option<Vec<u8>>,
    message_seq: Option<i64>,
}

pub(crate) async fn import(desk: &mut Desk, batch: ImportBatch) -> Result<()> {
    sessions::must_exist(&mut desk.connection, batch.session).await?;
    let numbers = import_messages(desk, &batch.records).await?;
    import_records(desk, batch.session, &batch.records, &numbers).await?;
    if let Some((job, progress)) = batch.progress {
        crate::jobs::note_progress(desk, job, progress).await?;
    }
    Ok(())
}

/// Numbers of the messages of the records, where they were new.
async fn import_messages(desk: &mut Desk, records: &[NewRecord]) -> Result<Vec<Option<i64>>> {
    let mut asked = Vec::with_capacity(records.len());
    for (session, message) in records.iter().filter_map(|record| record.message.as_ref()) {
        meet(&mut desk.connection, &mut desk.hot, *session).await?;
        if !desk.hot.knows(*session) {
            return Err(not_found("session", session));
        }
        asked.push((*session, &message.id));
    }
    let newest = newest(desk).await?;
    let stored = stored(&mut desk.connection, &desk.hot, asked).await?;
    let facts = Facts { stored, ..Facts::default() };
    let mut plan = Plan::new(&mut desk.hot, facts, newest);
    let numbers = records
        .iter()
        .map(|record| match &record.message {
            None => Ok(None),
            Some((session, message)) => plan
                .place(*session, message.into(), message.created_at)
                .map(|(_, _, number)| number),
        })
        .collect::<Result<Vec<_>>>()?;
    rows::insert(&plan, &mut desk.connection).await.map_err(from_sqlx)?;
    let newest = plan.newest();
    desk.hot.newest = Some(newest);
    desk.hot.trim();
    Ok(numbers)
}

async fn import_records(
    desk: &mut Desk,
    session: SessionId,
    records: &[NewRecord],
    numbers: &[Option<i64>],
) -> Result<()> {
    for (records, numbers) in records.chunks(MOST).zip(numbers.chunks(MOST)) {
        let (at, size) = size_for(records.len());
        let mut statement = sqlx::query(INSERT[at].as_str());
        for (record, number) in records.iter().zip(numbers) {
            statement = bind_record(statement, session, record, *number);
        }
        bind_nulls(statement, (size - records.len()) * COLUMNS)
            .execute(&mut desk.connection)
            .await
            .map_err(|error| match is_unique_violation(&error) {
                true => stored_already(session, records),
                false => from_sqlx(error),
            })?;
    }
    Ok(())
}

fn bind_record(
    statement: Statement,
    session: SessionId,
    record: &NewRecord,
    number: Option<i64>,
) -> Statement {
    let raw = record.message.as_ref().map(|(_, message)| &message.raw);
    let parts = [&record.head[..], raw.map_or(&[][..], |raw| raw), &record.tail];
    // Raw bytes are stored once: in the message, or here if the message was a repetition.
    let own = raw.filter(|_| number.is_none());
    statement
        .bind(session.0.as_bytes().to_vec())
        .bind(integer(record.line))
        .bind(number)
        .bind(checksum(session, record.line, "", &parts))
        .bind(record.head.to_vec())
        .bind(own.map(|raw| raw.to_vec()))
        .bind(record.tail.to_vec())
}

fn stored_already(session: SessionId, records: &[NewRecord]) -> StoreError {
    let first = records.first().map_or(0, |record| record.line);
    let last = records.last().map_or(0, |record| record.line);
    StoreError::Conflict(format!(
        "a line between {first} and {last} is stored already in session {session}; \
         go on after the watermark of the job"
    ))
}

pub(crate) async fn read(
    readers: &SqlitePool,
    id: SessionId,
    after_line: u64,
    most: usize,
) -> Result<Vec<Record>> {
    let rows: Vec<Row> = sqlx::query_as(READ)
        .bind(id.0.as_bytes().to_vec())
        .bind(integer(after_line))
        .bind(limit(most))
        .fetch_all(readers)
        .await
        .map_err(from_sqlx)?;
    if rows.is_empty() {
        sessions::must_exist(readers, id).await?;
    }
    rows.into_iter().map(Row::into_record).collect()
}

impl Row {
    fn into_record(self) -> Result<Record> {
        let message = match (self.message_session, self.message_seq) {
            (Some(session), Some(at)) => Some((session_id(&session)?, seq(at))),
            _ => None,
        };
        Ok(Record {
            line: unsigned(self.line),
            head: Bytes::from(self.head),
            raw: Bytes::from(self.raw),
            tail: Bytes::from(self.tail),
            message,
        })
    }
}
