//! Segments of the index: written once, merged when many are small, swept away when replaced.

use bethink_store::{Result, StoreError};
use sqlx::{FromRow, SqliteConnection};

use crate::convert::{integer, unsigned};
use crate::error::from_sqlx;
use crate::postings::Page;

/// So many segments of one size are merged into one of the next: more, and a search has more places to
/// look at; fewer, and every posting is written more often.
const FAN: usize = 8;
/// Largest segment that is made, in pages (32 MiB): a merge holds it in memory once.
const MOST_PAGES: u64 = 8_192;
/// Pages in one statement.
const PAGES_AT_ONCE: usize = 16;

/// Those that may hold something of the session.
pub(crate) const MARK_STALE: &str = "
    UPDATE index_segments
    SET stale = 1
    FROM index_sessions
    WHERE index_sessions.session = ?
      AND index_sessions.number BETWEEN first_session AND last_session";

pub(crate) const FORGET_SESSION: &str = "DELETE FROM index_sessions WHERE session = ?";

const LIVE: &str = "
    SELECT number, pages, stale, first_session, last_session
    FROM index_segments
    WHERE state = 1
    ORDER BY number";

const ADD: &str = "
    INSERT INTO index_segments (state, pages, first_session, last_session)
    VALUES (?, ?, ?, ?)
    RETURNING number";

const ADD_PAGE: &str = "INSERT INTO index_pages (segment, first, body) VALUES (?, ?, ?)";

const ADD_PAGES: &str = "
    INSERT INTO index_pages (segment, first, body)
    VALUES (?, ?, ?), (?, ?, ?), (?, ?, ?), (?, ?, ?),
           (?, ?, ?), (?, ?, ?), (?, ?, ?), (?, ?, ?),
           (?, ?, ?), (?, ?, ?), (?, ?, ?), (?, ?, ?),
           (?, ?, ?), (?, ?, ?), (?, ?, ?), (?, ?, ?)";

pub(crate) const WRITING: i64 = 0;
pub(crate) const SEARCHED: i64 = 1;

#[derive(Clone, Debug, FromRow, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) number: i64,
    pub(crate) pages: i64,
    pub(crate) stale: bool,
    pub(crate) first_session: i64,
    pub(crate) last_session: i64,
}

impl Segment {
    /// Its size as a power of the fan.
    fn class(&self) -> u32 {
        unsigned(self.pages).max(1).ilog(FAN as u64)
    }
}

pub(crate) async fn live(connection: &mut SqliteConnection) -> Result<Vec<Segment>> {
    sqlx::query_as(LIVE).fetch_all(connection).await.map_err(from_sqlx)
}

/// Segments that are to become one, the smallest first: a stale one alone loses what is gone.
pub(crate) fn due(live: &[Segment]) -> Option<Vec<Segment>> {
    for class in 0..=MOST_PAGES.ilog(FAN as u64) {
        let mut pages = 0;
        let group: Vec<Segment> = live
            .iter()
            .filter(|segment| segment.class() == class)
            .take(FAN)
            .take_while(|segment| {
                pages += unsigned(segment.pages);
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

/// A segment of one session, searched at once.
pub(crate) async fn add(
    connection: &mut SqliteConnection,
    pages: &[Page],
    session: u32,
) -> Result<()> {
    if pages.is_empty() {
        return Ok(());
    }
    let range = (i64::from(session), i64::from(session));
    let number = begin(connection, SEARCHED, pages.len(), range).await?;
    add_pages(connection, number, pages).await
}

pub(crate) async fn begin(
    connection: &mut SqliteConnection,
    state: i64,
    pages: usize,
    (first_session, last_session): (i64, i64),
) -> Result<i64> {
    sqlx::query_scalar(ADD)
        .bind(state)
        .bind(integer(pages as u64))
        .bind(first_session)
        .bind(last_session)
        .fetch_one(connection)
        .await
        .map_err(from_sqlx)
}

pub(crate) async fn add_pages(
    connection: &mut SqliteConnection,
    segment: i64,
    pages: &[Page],
) -> Result<()> {
    let groups = pages.chunks_exact(PAGES_AT_ONCE);
    let rest = groups.remainder().chunks(1);
    for (text, group) in
        groups.map(|group| (ADD_PAGES, group)).chain(rest.map(|page| (ADD_PAGE, page)))
    {
        let mut statement = sqlx::query(text);
        for page in group {
            statement = statement.bind(segment).bind(page.first.clone()).bind(page.body.clone());
        }
        statement.execute(&mut *connection).await.map_err(from_sqlx)?;
    }
    Ok(())
}

/// A session's number as postings hold it.
pub(crate) fn session_number(number: i64) -> Result<u32> {
    u32::try_from(number)
        .map_err(|_| StoreError::Failed(format!("the index knows no session number {number}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(pages: &[i64]) -> Vec<Segment> {
        let segment = |(number, pages): (i64, &i64)| Segment {
            number,
            pages: *pages,
            stale: false,
            first_session: 1,
            last_session: 1,
        };
        (1..).zip(pages).map(segment).collect()
    }

    fn check(pages: &[i64], expect: Option<&[i64]>) {
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
