//! Which session a request continues: marks of the beginnings of conversations.

use bethink_store::{ClientSession, Lineage, NewSession, Relative, Result, StoreError};
use bethink_transcript::{Seq, SessionId};
use sqlx::SqlitePool;

use crate::clients;
use crate::convert::{seq, seq_column, session_id};
use crate::error::from_sqlx;
use crate::sessions;
use crate::writer::Desk;

/// Marks looked up at once, from the longest beginning down: a request that goes on is found by its newest.
const STRETCH: usize = 48;

/// Sessions told of one beginning.
const FOUND: i64 = 8;

const FIND: &str = "
    SELECT lineage.session, lineage.seq, sessions.last_seq
    FROM json_each(?1) AS asked
    JOIN lineage
      ON lineage.mark = unhex(asked.value)
    JOIN sessions
      ON sessions.id = lineage.session
    WHERE lineage.scope = ?2
    ORDER BY lineage.seq DESC, sessions.last_seq > lineage.seq, sessions.updated_at DESC
    LIMIT ?3";

const BEGINNINGS: &str = "
    SELECT scope, mark
    FROM lineage
    WHERE seq = 1";

const READ: &str = "
    SELECT scope, mark
    FROM lineage
    WHERE session = ?
    ORDER BY seq";

const CUT: &str = "
    DELETE FROM lineage
    WHERE session = ?
      AND seq > ?";

const PUT: &str = "
    INSERT INTO lineage (session, seq, scope, mark)
    SELECT ?1, ?2 + asked.key, ?3, unhex(asked.value)
    FROM json_each(?4) AS asked";

pub(crate) async fn find(
    readers: &SqlitePool,
    scope: u64,
    marks: Vec<u128>,
) -> Result<Vec<Relative>> {
    for stretch in marks.rchunks(STRETCH) {
        let rows: Vec<(Vec<u8>, i64, i64)> = sqlx::query_as(FIND)
            .bind(list(stretch)?)
            .bind(scope.cast_signed())
            .bind(FOUND)
            .fetch_all(readers)
            .await
            .map_err(from_sqlx)?;
        let Some((_, longest, _)) = rows.first() else { continue };
        let longest = *longest;
        let best = rows.into_iter().filter(|(_, through, _)| *through == longest);
        return best
            .map(|(session, through, last_seq)| {
                let session = session_id(&session)?;
                Ok(Relative { session, through: seq(through), last_seq: seq(last_seq) })
            })
            .collect();
    }
    Ok(Vec::new())
}

pub(crate) async fn read(readers: &SqlitePool, id: SessionId) -> Result<Option<Lineage>> {
    let rows: Vec<(i64, Vec<u8>)> = sqlx::query_as(READ)
        .bind(id.0.as_bytes().to_vec())
        .fetch_all(readers)
        .await
        .map_err(from_sqlx)?;
    let Some((scope, _)) = rows.first() else { return Ok(None) };
    let scope = scope.cast_unsigned();
    let marks = rows.iter().map(|(_, bytes)| mark(bytes));
    Ok(Some(Lineage { session: id, scope, marks: marks.collect::<Result<_>>()? }))
}

pub(crate) async fn beginnings(readers: &SqlitePool) -> Result<Vec<(u64, u128)>> {
    let rows: Vec<(i64, Vec<u8>)> =
        sqlx::query_as(BEGINNINGS).fetch_all(readers).await.map_err(from_sqlx)?;
    rows.iter().map(|(scope, bytes)| Ok((scope.cast_unsigned(), mark(bytes)?))).collect()
}

pub(crate) async fn begin(
    desk: &mut Desk,
    new: NewSession,
    lineage: Lineage,
    known: Option<ClientSession>,
) -> Result<()> {
    sessions::create(desk, new, None).await?;
    put(desk, lineage, Seq::ZERO).await?;
    match known {
        Some(known) => clients::put(desk, known).await,
        None => Ok(()),
    }
}

pub(crate) async fn put(desk: &mut Desk, lineage: Lineage, after: Seq) -> Result<()> {
    sessions::must_exist(&mut desk.connection, lineage.session).await?;
    let key = lineage.session.0.as_bytes().to_vec();
    sqlx::query(CUT)
        .bind(key.clone())
        .bind(seq_column(after))
        .execute(&mut desk.connection)
        .await
        .map_err(from_sqlx)?;
    if lineage.marks.is_empty() {
        return Ok(());
    }
    sqlx::query(PUT)
        .bind(key)
        .bind(seq_column(after.next()))
        .bind(lineage.scope.cast_signed())
        .bind(list(&lineage.marks)?)
        .execute(&mut desk.connection)
        .await
        .map(drop)
        .map_err(from_sqlx)
}

fn mark(bytes: &[u8]) -> Result<u128> {
    let bytes = <[u8; 16]>::try_from(bytes);
    bytes.map(u128::from_be_bytes).map_err(|_| StoreError::Damaged("a mark".to_owned()))
}

/// A JSON list of hexadecimal texts.
fn list(marks: &[u128]) -> Result<String> {
    let marks: Vec<String> = marks.iter().map(|mark| format!("{mark:032x}")).collect();
    serde_json::to_string(&marks).map_err(|e| StoreError::Failed(e.to_string()))
}
