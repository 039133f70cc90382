//! Merges segments of the index, concurrently with readers and writers.
//!
//! One transaction writes the new segment and deletes the old ones, so a search sees either. Only one process merges at a
//! time; the old segments do not change meanwhile, except that a session that is deleted marks them.

use std::collections::HashSet;

use bethink_store::StoreResult;
use bethink_store_format::{IndexSegment, PostingPage, due, merge};
use sqlx::PgConnection;

use crate::background::blocking;
use crate::locks::{self, Lock};
use crate::segments;
use crate::sql::sql;

const PAGES: &str = "
    SELECT body
    FROM index_pages
    WHERE segment = $1
    ORDER BY first";

const KNOWN: &str = "SELECT number FROM index_sessions";

const MARK_STALE: &str = "UPDATE index_segments SET stale = TRUE WHERE number = $1";

/// Deletes the pages with their segments.
const DELETE: &str = "DELETE FROM index_segments WHERE number = ANY($1)";

/// Merges one group of segments. Returns whether there was one, and this process was the one to merge it.
pub(crate) async fn tidy(db: &mut PgConnection) -> StoreResult<bool> {
    if !locks::try_lock(&mut *db, Lock::Merge).await? {
        return Ok(false);
    }
    let Some(group) = due(&segments::live(&mut *db).await?) else { return Ok(false) };
    let pages = merged(db, &group).await?;
    let range = (
        group.iter().map(|segment| segment.first_session).min().unwrap_or_default(),
        group.iter().map(|segment| segment.last_session).max().unwrap_or_default(),
    );
    let new = segments::add(db, &pages, range).await?;
    replace(db, &group, new).await?;
    Ok(true)
}

async fn merged(db: &mut PgConnection, group: &[IndexSegment]) -> StoreResult<Vec<PostingPage>> {
    let known: Vec<i64> = sql(KNOWN).all(&mut *db, |row| row.get(0)).await?;
    let known: HashSet<i64> = known.into_iter().collect();
    let mut bodies: Vec<Vec<Vec<u8>>> = Vec::with_capacity(group.len());
    for segment in group {
        bodies.push(sql(PAGES).bind(segment.number).all(&mut *db, |row| row.get(0)).await?);
    }
    let work = move || merge(&bodies, |session| known.contains(&i64::from(session)));
    blocking(work).await?
}

/// Deletes the old segments. If a session was deleted after its postings were read, only the old segments are marked as
/// stale, so the new one is marked here.
async fn replace(
    db: &mut PgConnection,
    group: &[IndexSegment],
    new: Option<i64>,
) -> StoreResult<()> {
    locks::lock(&mut *db, [Lock::Segments]).await?;
    let live = segments::live(&mut *db).await?;
    let newly_stale = group.iter().any(|old| {
        !old.stale && live.iter().any(|segment| segment.number == old.number && segment.stale)
    });
    if let (Some(new), true) = (new, newly_stale) {
        sql(MARK_STALE).bind(new).run(&mut *db).await?;
    }
    let old = group.iter().map(|segment| segment.number);
    sql(DELETE).bind_list(old).run(db).await.map(drop)
}
