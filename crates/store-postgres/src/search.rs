//! Finds where terms occur.

use bethink_store::{IndexLookup, SearchScope, StoreError, StoreResult, TermPlaces};
use bethink_store_format::{ListedSession, SearchedSessions, key_ranges, read_lists};

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
      AND ($2 IS NULL OR sessions.project_dir = $2)";

/// Finds the pages that may contain keys of each range. With `OFFSET 0`, PostgreSQL uses the index once for each range and
/// segment; without it, it may read all pages.
const PAGES: &str = "
    SELECT asked.place - 1 AS place, pages.body
    FROM unnest($1, $2) WITH ORDINALITY AS asked (low, high, place)
    CROSS JOIN index_segments AS segments
    CROSS JOIN LATERAL (
        SELECT body
        FROM index_pages
        WHERE segment = segments.number
          AND first >= coalesce(
                  (
                      SELECT before.first
                      FROM index_pages AS before
                      WHERE before.segment = segments.number
                        AND before.first <= asked.low
                      ORDER BY before.first DESC
                      LIMIT 1
                  ),
                  ''::bytea
              )
          AND first <= asked.high
        OFFSET 0
    ) AS pages
    WHERE segments.first_session <= $4
      AND segments.last_session >= $3";

pub(crate) async fn lookup(
    readers: &ConnectionQueue,
    lookup: IndexLookup,
) -> StoreResult<TermPlaces> {
    let searched = scope(readers, &lookup.scope).await?;
    let Some((first, last)) = searched.range() else { return Ok(searched.nothing(&lookup)) };
    let ranges = key_ranges(&lookup, (first, last));
    let (low, high): (Vec<_>, Vec<_>) = ranges.into_iter().map(|[low, high]| (low, high)).unzip();
    let pages = sql(PAGES)
        .bind_list(low)
        .bind_list(high)
        .bind(i64::from(first))
        .bind(i64::from(last))
        .all(&mut *readers.get().await?, |row| Ok((row.get::<usize>(0)?, row.get::<Vec<u8>>(1)?)))
        .await?;
    let work = move || read_lists(&lookup, &pages, searched);
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| StoreError::Failed(error.to_string()))?
}

async fn scope(readers: &ConnectionQueue, scope: &SearchScope) -> StoreResult<SearchedSessions> {
    let (id, dir) = match scope {
        SearchScope::Session(id) => (Some(*id), None),
        SearchScope::Project(dir) => (None, Some(dir.clone())),
        SearchScope::All => (None, None),
    };
    let listed = sql(SCOPE).bind(id).bind(dir).all(&mut *readers.get().await?, listed).await?;
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
