//! Segments of the index: written once, merged when many are small, removed when replaced.

use bethink_store::{StoreError, StoreResult};
use bethink_transcript::SessionId;
use serde_json::{Value, json};
use sqlx::{Executor, Sqlite, SqliteConnection};

use crate::append::join;
use crate::postings::PostingPage;
use crate::seal::{SealedValue, seal_of};
use crate::sql::{Row, sql};

/// Number of segments of one size that are merged into one of the next size. If this number were larger, a search would
/// read more segments; if it were smaller, postings would be rewritten more often.
const FAN: usize = 8;
/// Maximum size of a segment, in pages (32 MiB). A merge holds one such segment in memory.
const MOST_PAGES: u64 = 8_192;

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) number: i64,
    pub(crate) pages: u64,
    pub(crate) stale: bool,
    pub(crate) first_session: i64,
    pub(crate) last_session: i64,
}

impl Segment {
    /// Returns the size class, which is the logarithm of the size to base `FAN`.
    fn class(&self) -> u32 {
        self.pages.max(1).ilog(FAN as u64)
    }
}

pub(crate) async fn live(db: impl Executor<'_, Database = Sqlite>) -> StoreResult<Vec<Segment>> {
    sql(LIVE)
        .all(db, |row| {
            Ok(Segment {
                number: row.get("number")?,
                pages: row.get("pages")?,
                stale: row.get("stale")?,
                first_session: row.get("first_session")?,
                last_session: row.get("last_session")?,
            })
        })
        .await
}

/// Returns the segments to merge next, the smallest first. A single stale segment is rewritten without deleted sessions.
pub(crate) fn due(live: &[Segment]) -> Option<Vec<Segment>> {
    for class in 0..=MOST_PAGES.ilog(FAN as u64) {
        let mut pages = 0;
        let group: Vec<Segment> = live
            .iter()
            .filter(|segment| segment.class() == class)
            .take(FAN)
            .take_while(|segment| {
                pages += segment.pages;
                pages <= MOST_PAGES
            })
            .cloned()
            .collect();
        let crowded = live.iter().filter(|segment| segment.class() == class).count() >= FAN;
        if crowded && group.len() > 1 {
            return Some(group);
        }
    }
    live.iter().find(|segment| segment.stale).map(|segment| vec![segment.clone()])
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

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(pages: &[u64]) -> Vec<Segment> {
        let segment = |(number, pages): (i64, &u64)| Segment {
            number,
            pages: *pages,
            stale: false,
            first_session: 1,
            last_session: 1,
        };
        (1..).zip(pages).map(segment).collect()
    }

    fn check(pages: &[u64], expect: Option<&[i64]>) {
        let group = due(&segments(pages));
        let numbers = group.map(|group| group.iter().map(|s| s.number).collect::<Vec<_>>());
        assert_eq!(numbers.as_deref(), expect, "{pages:?}");
    }

    #[test]
    fn eight_of_a_size_become_one() {
        check(&[], None);
        check(&[1; 7], None);
        check(&[1; 9], Some(&[1, 2, 3, 4, 5, 6, 7, 8]));
        check(&[9, 1, 1, 1, 1, 1, 1, 1, 7], Some(&[2, 3, 4, 5, 6, 7, 8, 9]));
        check(&[9; 7], None);
        check(&[600; 8], Some(&[1, 2, 3, 4, 5, 6, 7, 8]));
        check(&[4000; 8], Some(&[1, 2]));
        check(&[8192; 20], None);
        check(&[5000; 20], None);
    }

    #[test]
    fn a_stale_one_is_written_again_alone() {
        let mut segments = segments(&[5000, 9]);
        segments[1].stale = true;
        assert_eq!(due(&segments), Some(vec![segments[1].clone()]));
    }
}
