//! Finds where terms occur.

use bethink_store::{IndexLookup, SearchScope, StoreResult, TermPlaces};
use bethink_store_format::{
    FoundPage, FoundTerms, KeyRange, ListedSession, SearchedSessions, key_ranges,
};
use bethink_transcript::{Seq, SessionId};
use serde_json::json;

use crate::background::blocking;
use crate::readers::Readers;
use crate::segments;
use crate::sql::{Row, not_found, sql};

/// Returns all sessions in one row. A project may have a thousand, and passing that many rows takes longer than the rest
/// of a search.
const SCOPE: &str = "
    SELECT json_group_array(
               json_array(
                   index_sessions.number, hex(sessions.id), indexed_seq, last_seq,
                   coalesce(messages, 0), coalesce(terms, 0)
               )
           )
    FROM sessions
    LEFT JOIN index_sessions
      ON index_sessions.session = sessions.id
    WHERE sessions.number IN (
        SELECT number FROM sessions WHERE id = ?1
        UNION ALL
        SELECT number
        FROM sessions
        WHERE project_dir = ?2
          AND (
              ?3 IS NULL
              OR project_key IS NULL
              OR project_key IN (SELECT value FROM json_each(?3))
          )
        UNION ALL
        SELECT number
        FROM sessions
        WHERE NOT ?4
          AND project_key IN (SELECT value FROM json_each(?3))
        UNION ALL
        SELECT number FROM sessions WHERE ?1 IS NULL AND ?2 IS NULL
    )";

/// Finds the pages that may contain keys of each range.
const PAGES: &str = "
    SELECT asked.value ->> 0 AS list, segment, index_pages.first, body, index_pages.seal AS page_seal
    FROM json_each(?1) AS asked
    CROSS JOIN index_segments
    CROSS JOIN index_pages
      ON index_pages.segment = index_segments.number
     AND index_pages.first >= coalesce(
             (
                 SELECT before.first
                 FROM index_pages AS before
                 WHERE before.segment = index_segments.number
                   AND before.first <= unhex(asked.value ->> 3)
                 ORDER BY before.first DESC
                 LIMIT 1
             ),
             x''
         )
     AND index_pages.first <= unhex(asked.value ->> 4)
    WHERE index_segments.state = 1
      AND index_segments.first_session <= asked.value ->> 2
      AND index_segments.last_session >= asked.value ->> 1";

pub(crate) async fn lookup(readers: &Readers, lookup: IndexLookup) -> StoreResult<TermPlaces> {
    let searched = scope(readers, &lookup.scope).await?;
    let Some(range) = searched.range() else { return Ok(searched.nothing(&lookup)) };
    let pages = find(readers, key_ranges(&lookup, range)).await?;
    let read = move || FoundTerms::read(&lookup, &pages, searched).map(|found| (lookup, found));
    let (lookup, found) = blocking(read).await??;
    let pages = find(readers, found.mark_ranges(&lookup)).await?;
    blocking(move || found.with_marks(&lookup, &pages)).await?
}

/// Returns the pages for these ranges.
async fn find(readers: &Readers, ranges: Vec<KeyRange>) -> StoreResult<Vec<FoundPage>> {
    let asked = ranges.into_iter().map(|KeyRange { list, sessions: (first, last), low, high }| {
        json!([list, first, last, hex(&low), hex(&high)])
    });
    let asked = asked.collect::<Vec<_>>();
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let pages = sql(PAGES).bind(json!(asked).to_string());
    let read = |row: &Row| Ok((row.get("list")?, Some(segments::read_page(row)?)));
    pages.all(&*readers.get().await, read).await
}

async fn scope(readers: &Readers, scope: &SearchScope) -> StoreResult<SearchedSessions> {
    type Listed = (Option<u32>, SessionId, Seq, Seq, u64, u64);
    let (id, location) = match scope {
        SearchScope::Session(id) => (Some(*id), None),
        SearchScope::Location(location) => (None, Some(location)),
        SearchScope::All => (None, None),
    };
    let listed = sql(SCOPE).bind(id).bind_location(location);
    let listed = listed
        .optional(&*readers.get().await, |row| row.json(0, "sessions in the search index"))
        .await?;
    let listed: Vec<Listed> = listed.unwrap_or_default();
    if let (Some(id), []) = (id, &listed[..]) {
        return Err(not_found("session", id));
    }
    let listed = listed.into_iter().map(|(number, session, indexed, last, messages, terms)| {
        ListedSession { number, session, indexed, last, messages, terms }
    });
    Ok(SearchedSessions::new(listed.collect()))
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |half: u8| char::from(DIGITS[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
