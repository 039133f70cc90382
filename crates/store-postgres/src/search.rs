//! Finds where terms occur.

use bethink_store::{IndexLookup, SearchScope, StoreResult, TermPlaces};
use bethink_store_format::{
    FoundPage, FoundTerms, KeyRange, ListedSession, POSTINGS_OF_PAGE, SearchedSessions, key_ranges,
};

use crate::background::blocking;
use crate::connections::ConnectionQueue;
use crate::sql::{Row, not_found, sql};

const SCOPE: &str = "
    SELECT index_sessions.number, sessions.id, indexed_seq, last_seq,
           coalesce(messages, 0) AS messages,
           coalesce(terms, 0)    AS terms
    FROM sessions
    LEFT JOIN index_sessions
      ON index_sessions.session = sessions.id
    WHERE ($1 IS NULL OR sessions.id = $1)
      AND (
          $2 IS NULL
          OR (project_dir = $2 AND ($3 IS NULL OR project_key IS NULL OR project_key = ANY ($3)))
          OR (NOT $4 AND project_key = ANY ($3))
      )";

/// Finds the pages that may contain keys of each range: those of the smallest lists, which together fill `$6` pages, and for each
/// larger list a row without a page. The first and the last page of a range in a segment also contain other keys, and do not
/// count. With `OFFSET 0`, PostgreSQL uses the index once for each range and segment; without it, it may read all pages.
const PAGES: &str = "
    WITH bounds AS MATERIALIZED (
        SELECT asked.list, segments.number AS segment, before.first AS low, asked.high
        FROM unnest($1, $2, $3, $4, $5) AS asked (list, first_session, last_session, low, high)
        CROSS JOIN index_segments AS segments
        CROSS JOIN LATERAL (
            SELECT coalesce(
                       (
                           SELECT first
                           FROM index_pages
                           WHERE segment = segments.number
                             AND first <= asked.low
                           ORDER BY first DESC
                           LIMIT 1
                       ),
                       ''::bytea
                   ) AS first
            OFFSET 0
        ) AS before
        WHERE segments.first_session <= asked.last_session
          AND segments.last_session >= asked.first_session
    ),
    sizes AS (
        SELECT list, sum(counted.pages) AS pages
        FROM bounds
        CROSS JOIN LATERAL (
            SELECT greatest(count(*) - 2, 0) AS pages
            FROM index_pages
            WHERE segment = bounds.segment
              AND first BETWEEN bounds.low AND bounds.high
            OFFSET 0
        ) AS counted
        GROUP BY list
    ),
    chosen AS (
        SELECT list, sum(pages) OVER (ORDER BY pages, list) <= $6 AS fits
        FROM sizes
    )
    SELECT bounds.list, pages.body
    FROM chosen
    JOIN bounds
      ON bounds.list = chosen.list
    CROSS JOIN LATERAL (
        SELECT body
        FROM index_pages
        WHERE segment = bounds.segment
          AND first BETWEEN bounds.low AND bounds.high
        OFFSET 0
    ) AS pages
    WHERE fits
    UNION ALL
    SELECT list, NULL
    FROM chosen
    WHERE NOT fits";

pub(crate) async fn lookup(
    readers: &ConnectionQueue,
    lookup: IndexLookup,
) -> StoreResult<TermPlaces> {
    let searched = scope(readers, &lookup.scope).await?;
    let Some(range) = searched.range() else { return Ok(searched.nothing(&lookup)) };
    let pages = find(readers, key_ranges(&lookup, range), lookup.most_terms()).await?;
    let read = move || FoundTerms::read(&lookup, &pages, searched).map(|found| (lookup, found));
    let (lookup, found) = blocking(read).await??;
    let pages = find(readers, found.mark_ranges(&lookup), lookup.most_marks()).await?;
    blocking(move || found.with_marks(&lookup, &pages)).await?
}

/// Returns the pages for these ranges, of lists that have together at most this number of postings.
async fn find(
    readers: &ConnectionQueue,
    ranges: Vec<KeyRange>,
    most: usize,
) -> StoreResult<Vec<FoundPage>> {
    if ranges.is_empty() {
        return Ok(Vec::new());
    }
    let keys = |key: fn(&KeyRange) -> &[u8]| -> Vec<Vec<u8>> {
        ranges.iter().map(|range| key(range).to_vec()).collect()
    };
    sql(PAGES)
        .bind_list(ranges.iter().map(|range| range.list))
        .bind_list(ranges.iter().map(|range| i64::from(range.sessions.0)))
        .bind_list(ranges.iter().map(|range| i64::from(range.sessions.1)))
        .bind_list(keys(|range| &range.low))
        .bind_list(keys(|range| &range.high))
        .bind(most / POSTINGS_OF_PAGE)
        .all(&mut *readers.get().await?, |row| Ok((row.get("list")?, row.get("body")?)))
        .await
}

async fn scope(readers: &ConnectionQueue, scope: &SearchScope) -> StoreResult<SearchedSessions> {
    let (id, location) = match scope {
        SearchScope::Session(id) => (Some(*id), None),
        SearchScope::Location(location) => (None, Some(location)),
        SearchScope::All => (None, None),
    };
    let listing = sql(SCOPE).bind(id).bind_location(location);
    let listed = listing.all(&mut *readers.get().await?, listed).await?;
    if let (Some(id), []) = (id, &listed[..]) {
        return Err(not_found("session", id));
    }
    Ok(SearchedSessions::new(listed))
}

fn listed(row: &Row) -> StoreResult<ListedSession> {
    let number: Option<i64> = row.get("number")?;
    Ok(ListedSession {
        number: number.and_then(|number| u32::try_from(number).ok()),
        session: row.get("id")?,
        indexed: row.get("indexed_seq")?,
        last: row.get("last_seq")?,
        messages: row.get("messages")?,
        terms: row.get("terms")?,
    })
}
