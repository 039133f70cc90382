//! Merges segments of the index, concurrently with readers and writers.
//!
//! The new segment is written page by page in separate transactions, and no search sees it until one transaction
//! replaces the old ones with it. If a merge is interrupted, the new segment is removed and the merge starts again.

use std::collections::HashSet;

use bethink_store::StoreResult;
use bethink_store_format::{IndexSegment, PostingPage, due, merge};
use serde_json::json;
use sqlx::SqliteConnection;

use crate::background::blocking;
use crate::readers::Readers;
use crate::segments::{self, SEARCHED, WRITING};
use crate::sql::sql;
use crate::store::SqliteStore;

/// Number of pages that are written or removed in one transaction. This takes the writer a few milliseconds.
const STEP: usize = 96;

const PAGES: &str = "
    SELECT segment, first, body, seal AS page_seal
    FROM index_pages
    WHERE segment = ?
    ORDER BY first";

const KNOWN: &str = "SELECT number FROM index_sessions";

const SWEEP_PAGES: &str = "
    DELETE FROM index_pages
    WHERE number IN (
        SELECT index_pages.number
        FROM index_segments
        JOIN index_pages
          ON index_pages.segment = index_segments.number
        WHERE index_segments.state <> 1
        LIMIT ?
    )";

const SWEEP_SEGMENTS: &str = "DELETE FROM index_segments WHERE state <> 1";

const REPLACE: &str = "
    UPDATE index_segments
    SET state = iif(number = ?1, 1, 2),
        stale = stale OR (number = ?1 AND ?3)
    WHERE number = ?1
       OR number IN (SELECT value FROM json_each(?2))
    RETURNING *";

/// Merges one group of segments. `&mut` guarantees that no other merge is running.
pub(crate) async fn tidy(store: &SqliteStore, _alone: &mut ()) -> StoreResult<bool> {
    sweep(store).await?;
    let live = segments::live(&*store.readers.get().await).await?;
    let Some(group) = due(&live) else { return Ok(false) };
    let pages = merged(&store.readers, &group).await?;
    put_in_place(store, group, pages).await?;
    sweep(store).await?;
    Ok(true)
}

async fn merged(readers: &Readers, group: &[IndexSegment]) -> StoreResult<Vec<PostingPage>> {
    let known: Vec<i64> = sql(KNOWN).all(&*readers.get().await, |row| row.get(0)).await?;
    let known: HashSet<i64> = known.into_iter().collect();
    let mut bodies: Vec<Vec<Vec<u8>>> = Vec::with_capacity(group.len());
    for segment in group {
        let pages = sql(PAGES).bind(segment.number);
        bodies.push(pages.all(&*readers.get().await, segments::read_page).await?);
    }
    let work = move || merge(&bodies, |session| known.contains(&i64::from(session)));
    blocking(work).await?
}

async fn put_in_place(
    store: &SqliteStore,
    group: Vec<IndexSegment>,
    pages: Vec<PostingPage>,
) -> StoreResult<()> {
    let range = (
        group.iter().map(|segment| segment.first_session).min().unwrap_or_default(),
        group.iter().map(|segment| segment.last_session).max().unwrap_or_default(),
    );
    let count = pages.len();
    let new = store.write(move |db| Box::pin(segments::begin(db, WRITING, count, range))).await?;
    let mut pages = pages.into_iter().peekable();
    while pages.peek().is_some() {
        let step: Vec<PostingPage> = pages.by_ref().take(STEP).collect();
        store
            .write(move |db| Box::pin(async move { segments::add_pages(db, new, &step).await }))
            .await?;
    }
    store.write(move |db| Box::pin(replace(db, new, group))).await
}

/// Replaces the old segments with the new one. If a session was deleted after its postings were read, only the old segments are
/// marked as stale, so the new one is marked here.
async fn replace(db: &mut SqliteConnection, new: i64, group: Vec<IndexSegment>) -> StoreResult<()> {
    let numbers: Vec<i64> = group.iter().map(|segment| segment.number).collect();
    let live = segments::live(&mut *db).await?;
    let newly_stale = group.iter().any(|old| {
        !old.stale && live.iter().any(|segment| segment.number == old.number && segment.stale)
    });
    let replace = sql(REPLACE).bind(new).bind(json!(numbers).to_string()).bind(newly_stale);
    debug_assert_eq!(
        SEARCHED, 1,
        "the SQL statements here contain the value of SEARCHED as a literal"
    );
    replace.seal(db, segments::TABLE).await.map(drop)
}

/// Removes segments that no search sees: replaced and unfinished ones.
async fn sweep(store: &SqliteStore) -> StoreResult<()> {
    while store.write(|db| Box::pin(sweep_step(db))).await? {}
    Ok(())
}

async fn sweep_step(db: &mut SqliteConnection) -> StoreResult<bool> {
    if sql(SWEEP_PAGES).bind(STEP).run(&mut *db).await? > 0 {
        return Ok(true);
    }
    sql(SWEEP_SEGMENTS).run(db).await?;
    Ok(false)
}
