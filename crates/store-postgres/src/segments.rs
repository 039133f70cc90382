//! Segments of the index: written once, merged when many are small. A transaction that marks or replaces segments has the
//! lock on segments.

use bethink_store::StoreResult;
use bethink_store_format::{IndexSegment, PostingPage};
use bethink_transcript::SessionId;
use sqlx::{Executor, PgConnection, Postgres};

use crate::locks::{self, Lock};
use crate::sql::sql;

/// Marks the segments that may have postings of a deleted session.
const MARK_STALE: &str = "
    UPDATE index_segments
    SET stale = TRUE
    WHERE NOT stale
      AND (SELECT number FROM index_sessions WHERE session = $1)
          BETWEEN first_session AND last_session";

const FORGET_SESSION: &str = "DELETE FROM index_sessions WHERE session = $1";

const LIVE: &str = "
    SELECT *
    FROM index_segments
    ORDER BY number";

const ADD: &str = "
    INSERT INTO index_segments (pages, first_session, last_session)
    VALUES ($1, $2, $3)
    RETURNING number";

const ADD_PAGES: &str = "
    INSERT INTO index_pages (segment, first, body)
    SELECT $1, page.first, page.body
    FROM unnest($2, $3) AS page (first, body)";

pub(crate) async fn live(
    db: impl Executor<'_, Database = Postgres>,
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

/// Adds a segment with postings of this range of sessions. Returns its number; `None` if it would be empty.
pub(crate) async fn add(
    db: &mut PgConnection,
    pages: &[PostingPage],
    (first_session, last_session): (i64, i64),
) -> StoreResult<Option<i64>> {
    if pages.is_empty() {
        return Ok(None);
    }
    let add = sql(ADD).bind(pages.len()).bind(first_session).bind(last_session);
    let segment: i64 = add.value(&mut *db).await?;
    let add_pages = sql(ADD_PAGES)
        .bind(segment)
        .bind_list(pages.iter().map(|page| page.first.clone()))
        .bind_list(pages.iter().map(|page| page.body.clone()));
    add_pages.run(db).await?;
    Ok(Some(segment))
}

/// Removes a session from the index. Its postings stay until their segments are merged.
pub(crate) async fn forget(db: &mut PgConnection, session: SessionId) -> StoreResult<()> {
    locks::lock(&mut *db, [Lock::Segments]).await?;
    sql(MARK_STALE).bind(session).run(&mut *db).await?;
    sql(FORGET_SESSION).bind(session).run(db).await.map(drop)
}
