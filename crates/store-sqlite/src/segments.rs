//! Segments of the index: written once, merged when many are small, removed when replaced.

use bethink_store::{StoreError, StoreResult};
use bethink_store_format::{IndexSegment, PostingPage};
use bethink_transcript::SessionId;
use serde_json::{Value, json};
use sqlx::{Executor, Sqlite, SqliteConnection};

use crate::append::join;
use crate::seal::{SealedValue, seal_of};
use crate::sql::{Row, sql};

/// Marks the segments that may have postings of a deleted session.
const MARK_STALE: &str = "
    UPDATE index_segments
    SET stale = 1
    WHERE (SELECT number FROM index_sessions WHERE session = ?)
          BETWEEN first_session AND last_session
    RETURNING *";

const FORGET_SESSION: &str = "DELETE FROM index_sessions WHERE session = ?";

const LIVE: &str = "
    SELECT *
    FROM index_segments
    WHERE state = 1
    ORDER BY number";

const ADD: &str = "
    INSERT INTO index_segments (state, pages, first_session, last_session)
    VALUES (?, ?, ?, ?)
    RETURNING *";

const ADD_PAGES: &str = "
    INSERT INTO index_pages (segment, first, body, seal)
    SELECT ?1,
           substr(?2, value ->> 0, value ->> 1),
           substr(?2, value ->> 2, value ->> 3),
           value ->> 4
    FROM json_each(?3)";

pub(crate) const TABLE: &str = "index_segments";

pub(crate) const WRITING: i64 = 0;
pub(crate) const SEARCHED: i64 = 1;

pub(crate) async fn live(
    db: impl Executor<'_, Database = Sqlite>,
) -> StoreResult<Vec<IndexSegment>> {
    sql(LIVE)
        .all(db, |row| {
            Ok(IndexSegment {
                number: row.get("number")?,
                pages: row.get("pages")?,
                stale: row.get("stale")?,
                first_session: row.get("first_session")?,
                last_session: row.get("last_session")?,
            })
        })
        .await
}

/// Adds a segment of one session, which is searchable at once.
pub(crate) async fn add(
    db: &mut SqliteConnection,
    pages: Vec<PostingPage>,
    session: u32,
) -> StoreResult<()> {
    if pages.is_empty() {
        return Ok(());
    }
    let range = (i64::from(session), i64::from(session));
    let number = begin(db, SEARCHED, pages.len(), range).await?;
    add_pages(db, number, &pages).await
}

pub(crate) async fn begin(
    db: &mut SqliteConnection,
    state: i64,
    pages: usize,
    (first_session, last_session): (i64, i64),
) -> StoreResult<i64> {
    let add = sql(ADD).bind(state).bind(pages).bind(first_session).bind(last_session);
    let added = add.seal(db, TABLE).await?;
    let added = added.first().ok_or_else(|| StoreError::Failed("no segment was added".into()))?;
    added.get("number")
}

pub(crate) async fn add_pages(
    db: &mut SqliteConnection,
    segment: i64,
    pages: &[PostingPage],
) -> StoreResult<()> {
    let (mut rows, mut bytes) = (Vec::with_capacity(pages.len()), Vec::new());
    for page in pages {
        let (first, body) = (join(&mut bytes, &page.first), join(&mut bytes, &page.body));
        let seal = page_seal(segment, page.first.clone(), page.body.clone());
        rows.push(json!([first.0, first.1, body.0, body.1, seal]));
    }
    let rows = Value::Array(rows).to_string();
    sql(ADD_PAGES).bind(segment).bind(bytes).bind(rows).run(db).await.map(drop)
}

/// Reads the body of a page from a row with `segment`, `first`, `body` and `page_seal`. The checksum has another name
/// here, because these rows may have columns of other tables, which the checksum does not cover.
pub(crate) fn read_page(row: &Row) -> StoreResult<Vec<u8>> {
    let body: Vec<u8> = row.get("body")?;
    if let Some(stored) = row.get::<Option<i64>>("page_seal")?
        && stored != page_seal(row.get("segment")?, row.get("first")?, body.clone())
    {
        return Err(StoreError::Damaged("a page of the search index is corrupted".into()));
    }
    Ok(body)
}

fn page_seal(segment: i64, first: Vec<u8>, body: Vec<u8>) -> i64 {
    seal_of(vec![
        ("segment", SealedValue::Integer(segment)),
        ("first", SealedValue::Blob(first)),
        ("body", SealedValue::Blob(body)),
    ])
}

/// Removes a session from the index. Its postings stay until their segments are merged.
pub(crate) async fn forget(db: &mut SqliteConnection, session: SessionId) -> StoreResult<()> {
    // An altered segment must not get a new checksum.
    live(&mut *db).await?;
    sql(MARK_STALE).bind(session).seal(&mut *db, TABLE).await?;
    sql(FORGET_SESSION).bind(session).run(db).await.map(drop)
}
