//! What memory files held, and small things that are kept.

use bethink_store::{
    Kept, MemoryVersion, MemoryVersionFilter, NewMemoryVersion, Result, VERSIONS_OF_A_FILE,
};
use bethink_transcript::UnixMicros;
use bytes::Bytes;
use sqlx::{FromRow, SqlitePool};

use crate::convert::{integer, session_id, unsigned};
use crate::error::from_sqlx;
use crate::writer::Desk;

const ADD: &str = "
    INSERT INTO memory_versions (directory, file, hash, content, author, session, note, at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)";

/// Text by text, so that each finds the index.
const OF_FILE: &str = "
    SELECT number, directory, file, hash, length(content) AS bytes, author, session, note, at
    FROM memory_versions
    WHERE directory = ?1
      AND file = ?2
      AND number < ?3
      AND (?4 IS NULL OR session = ?4)
    ORDER BY number DESC
    LIMIT ?5";

const OF_DIRECTORY: &str = "
    SELECT number, directory, file, hash, length(content) AS bytes, author, session, note, at
    FROM memory_versions
    WHERE directory = ?1
      AND number < ?3
      AND (?4 IS NULL OR session = ?4)
    ORDER BY number DESC
    LIMIT ?5";

/// The newest `?3` stay.
const TRIM: &str = "
    DELETE FROM memory_versions
    WHERE directory = ?1
      AND file = ?2
      AND number <= (
          SELECT number
          FROM memory_versions
          WHERE directory = ?1
            AND file = ?2
          ORDER BY number DESC
          LIMIT 1 OFFSET ?3
      )";
/// Counting thousands of rows is not worth it at each write.
const TRIM_EVERY: i64 = 256;

const CONTENT: &str = "
    SELECT directory, file, hash, content, author, session, note, at
    FROM memory_versions
    WHERE number = ?";

const KEEP: &str = "
    INSERT INTO kept (space, owner, key, value, at)
    VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (space, owner, key) DO UPDATE
    SET value = excluded.value,
        at    = excluded.at";

const KEPT: &str = "
    SELECT key, value, at
    FROM kept
    WHERE space = ?
      AND owner = ?
    ORDER BY key";

const FORGET: &str = "DELETE FROM kept WHERE space = ? AND owner = ? AND key = ?";

#[derive(FromRow)]
struct Row {
    number: i64,
    directory: String,
    file: String,
    hash: String,
    bytes: Option<i64>,
    author: String,
    session: Option<Vec<u8>>,
    note: String,
    at: i64,
}

#[derive(FromRow)]
struct Whole {
    directory: String,
    file: String,
    hash: String,
    content: Option<Vec<u8>>,
    author: String,
    session: Option<Vec<u8>>,
    note: String,
    at: i64,
}

pub(crate) async fn add(desk: &mut Desk, versions: Vec<NewMemoryVersion>) -> Result<()> {
    for version in versions {
        let (directory, file) = (version.directory, version.file);
        let added = sqlx::query(ADD)
            .bind(&directory)
            .bind(&file)
            .bind(version.hash)
            .bind(version.content.map(|content| content.to_vec()))
            .bind(version.author)
            .bind(version.session.map(|session| session.0.as_bytes().to_vec()))
            .bind(version.note)
            .bind(version.at.0)
            .execute(&mut desk.connection)
            .await
            .map_err(from_sqlx)?;
        if added.last_insert_rowid() % TRIM_EVERY == 0 {
            trim(desk, &directory, &file).await?;
        }
    }
    Ok(())
}

async fn trim(desk: &mut Desk, directory: &str, file: &str) -> Result<()> {
    sqlx::query(TRIM)
        .bind(directory)
        .bind(file)
        .bind(integer(VERSIONS_OF_A_FILE as u64))
        .execute(&mut desk.connection)
        .await
        .map(drop)
        .map_err(from_sqlx)
}

pub(crate) async fn versions(
    readers: &SqlitePool,
    filter: MemoryVersionFilter,
) -> Result<Vec<MemoryVersion>> {
    let text = if filter.file.is_some() { OF_FILE } else { OF_DIRECTORY };
    let rows: Vec<Row> = sqlx::query_as(text)
        .bind(filter.directory)
        .bind(filter.file)
        .bind(filter.before.unwrap_or(i64::MAX))
        .bind(filter.session.map(|session| session.0.as_bytes().to_vec()))
        .bind(integer(filter.limit as u64))
        .fetch_all(readers)
        .await
        .map_err(from_sqlx)?;
    rows.into_iter().map(Row::into_version).collect()
}

pub(crate) async fn content(readers: &SqlitePool, number: i64) -> Result<Option<NewMemoryVersion>> {
    let row: Option<Whole> =
        sqlx::query_as(CONTENT).bind(number).fetch_optional(readers).await.map_err(from_sqlx)?;
    row.map(Whole::into_version).transpose()
}

pub(crate) async fn keep(desk: &mut Desk, kept: Kept) -> Result<()> {
    sqlx::query(KEEP)
        .bind(kept.space)
        .bind(kept.owner)
        .bind(kept.key)
        .bind(kept.value)
        .bind(kept.at.0)
        .execute(&mut desk.connection)
        .await
        .map(drop)
        .map_err(from_sqlx)
}

pub(crate) async fn kept(readers: &SqlitePool, space: String, owner: String) -> Result<Vec<Kept>> {
    let rows: Vec<(String, String, i64)> = sqlx::query_as(KEPT)
        .bind(&space)
        .bind(&owner)
        .fetch_all(readers)
        .await
        .map_err(from_sqlx)?;
    let named = |(key, value, at)| Kept {
        space: space.clone(),
        owner: owner.clone(),
        key,
        value,
        at: UnixMicros(at),
    };
    Ok(rows.into_iter().map(named).collect())
}

pub(crate) async fn forget(
    desk: &mut Desk,
    space: String,
    owner: String,
    key: String,
) -> Result<bool> {
    sqlx::query(FORGET)
        .bind(space)
        .bind(owner)
        .bind(key)
        .execute(&mut desk.connection)
        .await
        .map(|done| done.rows_affected() > 0)
        .map_err(from_sqlx)
}

impl Row {
    fn into_version(self) -> Result<MemoryVersion> {
        Ok(MemoryVersion {
            number: self.number,
            directory: self.directory,
            file: self.file,
            hash: self.hash,
            bytes: self.bytes.map(unsigned),
            author: self.author,
            session: self.session.as_deref().map(session_id).transpose()?,
            note: self.note,
            at: UnixMicros(self.at),
        })
    }
}

impl Whole {
    fn into_version(self) -> Result<NewMemoryVersion> {
        Ok(NewMemoryVersion {
            directory: self.directory,
            file: self.file,
            hash: self.hash,
            content: self.content.map(Bytes::from),
            author: self.author,
            session: self.session.as_deref().map(session_id).transpose()?,
            note: self.note,
            at: UnixMicros(self.at),
        })
    }
}
