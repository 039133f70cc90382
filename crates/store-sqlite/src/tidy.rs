//! Merging segments of the index, beside those who read and write.
//!
//! The new segment is written page by page in transactions of its own, and no search sees it until one
//! transaction puts it in the place of the old ones. Broken off anywhere, it is swept and begun again.

use std::collections::HashSet;

use bethink_store::{Result, StoreError};
use sqlx::SqlitePool;

use crate::error::from_sqlx;
use crate::postings::{Page, merge};
use crate::segments::{self, SEARCHED, Segment, WRITING};
use crate::store::SqliteStore;
use crate::writer::Desk;

/// Pages written or removed in one transaction: a few milliseconds of the writer.
const STEP: usize = 96;

const PAGES: &str = "
    SELECT body
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
    SET state = iif(number = ?1, 1, 2)
    WHERE number = ?1
       OR number IN (SELECT value FROM json_each(?2))";

/// `&mut` is the promise that nobody else merges.
pub(crate) async fn tidy(store: &SqliteStore, _alone: &mut ()) -> Result<bool> {
    sweep(store).await?;
    let live = {
        let mut reader = store.readers.acquire().await.map_err(from_sqlx)?;
        segments::live(&mut reader).await?
    };
    let Some(group) = segments::due(&live) else { return Ok(false) };
    let pages = merged(&store.readers, &group).await?;
    put_in_place(store, group, pages).await?;
    sweep(store).await?;
    Ok(true)
}

async fn merged(readers: &SqlitePool, group: &[Segment]) -> Result<Vec<Page>> {
    let known: Vec<i64> = sqlx::query_scalar(KNOWN).fetch_all(readers).await.map_err(from_sqlx)?;
    let known: HashSet<i64> = known.into_iter().collect();
    let mut bodies: Vec<Vec<Vec<u8>>> = Vec::with_capacity(group.len());
    for segment in group {
        let pages = sqlx::query_scalar(PAGES).bind(segment.number).fetch_all(readers);
        bodies.push(pages.await.map_err(from_sqlx)?);
    }
    let work = move || merge(&bodies, |session| known.contains(&i64::from(session)));
    tokio::task::spawn_blocking(work).await.map_err(|e| StoreError::Failed(e.to_string()))?
}

async fn put_in_place(store: &SqliteStore, group: Vec<Segment>, pages: Vec<Page>) -> Result<()> {
    let range = (
        group.iter().map(|segment| segment.first_session).min().unwrap_or_default(),
        group.iter().map(|segment| segment.last_session).max().unwrap_or_default(),
    );
    let count = pages.len();
    let new = store
        .write(move |desk| {
            Box::pin(
                async move { segments::begin(&mut desk.connection, WRITING, count, range).await },
            )
        })
        .await?;
    let mut pages = pages.into_iter().peekable();
    while pages.peek().is_some() {
        let step: Vec<Page> = pages.by_ref().take(STEP).collect();
        store
            .write(move |desk| {
                Box::pin(async move { segments::add_pages(&mut desk.connection, new, &step).await })
            })
            .await?;
    }
    store.write(move |desk| Box::pin(replace(desk, new, group))).await
}

/// A session that was deleted since its postings were read has marked the old segments, not the new one.
async fn replace(desk: &mut Desk, new: i64, group: Vec<Segment>) -> Result<()> {
    let numbers: Vec<i64> = group.iter().map(|segment| segment.number).collect();
    let connection = &mut desk.connection;
    let live = segments::live(connection).await?;
    let newly_stale = group.iter().any(|old| {
        !old.stale && live.iter().any(|segment| segment.number == old.number && segment.stale)
    });
    let old = serde_json::to_string(&numbers).map_err(|e| StoreError::Failed(e.to_string()))?;
    sqlx::query(REPLACE).bind(new).bind(old).execute(&mut *connection).await.map_err(from_sqlx)?;
    if newly_stale {
        sqlx::query("UPDATE index_segments SET stale = 1 WHERE number = ?")
            .bind(new)
            .execute(connection)
            .await
            .map_err(from_sqlx)?;
    }
    debug_assert_eq!(SEARCHED, 1, "as the statements say");
    Ok(())
}

/// Removes what no search sees: what was replaced, and what was never finished.
async fn sweep(store: &SqliteStore) -> Result<()> {
    while store.write(|desk| Box::pin(sweep_step(desk))).await? {}
    Ok(())
}

async fn sweep_step(desk: &mut Desk) -> Result<bool> {
    let step = i64::try_from(STEP).unwrap_or(i64::MAX);
    let swept = sqlx::query(SWEEP_PAGES)
        .bind(step)
        .execute(&mut desk.connection)
        .await
        .map_err(from_sqlx)?;
    if swept.rows_affected() > 0 {
        return Ok(true);
    }
    sqlx::query(SWEEP_SEGMENTS).execute(&mut desk.connection).await.map_err(from_sqlx)?;
    Ok(false)
}
