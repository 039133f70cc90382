//! Finds where terms occur.

use bethink_store::{
    Counts, Family, IndexLookup, IndexedSession, Posting, SearchScope, StoreError, StoreResult,
    TermPlaces,
};
use bethink_transcript::{Seq, SessionId};
use serde_json::json;

use crate::postings::{PageEntry, can_be_kept, doc, entries, key, place, session};
use crate::readers::Readers;
use crate::segments;
use crate::sql::{not_found, sql};

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
        SELECT number FROM sessions WHERE project_dir = ?2
        UNION ALL
        SELECT number FROM sessions WHERE ?1 IS NULL AND ?2 IS NULL
    )";

/// Finds the pages that may contain keys of each term.
const PAGES: &str = "
    SELECT asked.key AS term, segment, index_pages.first, body, index_pages.seal AS page_seal
    FROM json_each(?1) AS asked
    CROSS JOIN index_segments
    CROSS JOIN index_pages
      ON index_pages.segment = index_segments.number
     AND index_pages.first >= coalesce(
             (
                 SELECT before.first
                 FROM index_pages AS before
                 WHERE before.segment = index_segments.number
                   AND before.first <= unhex(asked.value ->> 0)
                 ORDER BY before.first DESC
                 LIMIT 1
             ),
             x''
         )
     AND index_pages.first <= unhex(asked.value ->> 1)
    WHERE index_segments.state = 1
      AND index_segments.first_session <= ?3
      AND index_segments.last_session >= ?2";

pub(crate) async fn lookup(readers: &Readers, lookup: IndexLookup) -> StoreResult<TermPlaces> {
    let (scope, numbers) = scope(readers, &lookup.scope).await?;
    let Some((first, last)) = numbers.first().zip(numbers.last()).map(|(a, b)| (a.0, b.0)) else {
        let nothing = |count| vec![Some(Vec::new()); count];
        let (lists, families) = (nothing(lookup.terms.len()), nothing(lookup.families.len()));
        return Ok(TermPlaces { sessions: scope, lists, families });
    };
    let pages = sql(PAGES)
        .bind(asked(&lookup, first, last))
        .bind(i64::from(first))
        .bind(i64::from(last))
        .all(&*readers.get().await, |row| Ok((row.get("term")?, segments::read_page(row)?)))
        .await?;
    let work = move || read_lists(&lookup, &pages, &numbers);
    let (lists, families) = tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| StoreError::Failed(error.to_string()))??;
    Ok(TermPlaces { sessions: scope, lists, families })
}

/// Returns the sessions and, for each indexed session, its number in the index and its position in the list, sorted by
/// number.
async fn scope(
    readers: &Readers,
    scope: &SearchScope,
) -> StoreResult<(Vec<IndexedSession>, Vec<(u32, u32)>)> {
    type Listed = (Option<u32>, SessionId, Seq, Seq, u64, u64);
    let (id, dir) = match scope {
        SearchScope::Session(id) => (Some(*id), None),
        SearchScope::Project(dir) => (None, Some(dir.clone())),
        SearchScope::All => (None, None),
    };
    let listed = sql(SCOPE).bind(id).bind(dir);
    let listed = listed
        .optional(&*readers.get().await, |row| row.json(0, "sessions in the search index"))
        .await?;
    let mut listed: Vec<Listed> = listed.unwrap_or_default();
    if let (Some(id), []) = (id, &listed[..]) {
        return Err(not_found("session", id));
    }
    listed.sort_by_key(|(number, ..)| *number);
    let places = (0_u32..).zip(&listed);
    let numbers = places.filter_map(|(place, (number, ..))| Some(((*number)?, place))).collect();
    let sessions = listed.into_iter().map(|(_, session, indexed, last, messages, terms)| {
        IndexedSession { session, indexed, last, messages, terms }
    });
    Ok((sessions.collect(), numbers))
}

/// Returns the first and the last possible key of each term and family, as hexadecimal JSON strings.
fn asked(lookup: &IndexLookup, first: u32, last: u32) -> String {
    let nothing = || ["00".to_owned(), String::new()];
    let terms = lookup.terms.iter().map(|term| match can_be_kept(term) {
        true => [doc(first, 0), doc(last, u32::MAX)].map(|doc| hex(&key(term.as_bytes(), doc))),
        false => nothing(),
    });
    // No byte of a term is this large.
    let families = lookup.families.iter().map(|family| match can_be_kept(&family.start) {
        true => [hex(family.start.as_bytes()), hex(&[family.start.as_bytes(), &[0xff]].concat())],
        false => nothing(),
    });
    json!(terms.chain(families).collect::<Vec<[String; 2]>>()).to_string()
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |half: u8| char::from(DIGITS[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

type List = Option<Vec<Posting>>;

/// Reads the lists of terms and of families.
fn read_lists(
    lookup: &IndexLookup,
    pages: &[(usize, Vec<u8>)],
    numbers: &[(u32, u32)],
) -> StoreResult<(Vec<List>, Vec<List>)> {
    let terms = lookup.terms.len();
    let mut found: Vec<Vec<PageEntry<'_>>> = vec![Vec::new(); terms + lookup.families.len()];
    for (at, body) in pages {
        let at = *at;
        for entry in entries(body) {
            let entry = entry?;
            let wanted = match at.checked_sub(terms) {
                None => entry.term == lookup.terms[at].as_bytes(),
                Some(family) => is_in(&lookup.families[family], entry.term),
            };
            if wanted {
                found[at].push(entry);
            }
        }
    }
    let size = |entries: &[PageEntry<'_>]| entries.iter().map(|entry| entry.count).sum::<usize>();
    let mut rarest: Vec<usize> = (0..found.len()).collect();
    rarest.sort_by_key(|at| (size(&found[*at]), *at));
    let places = SessionPlaces::new(numbers);
    let mut lists = vec![None; found.len()];
    let mut left = lookup.most;
    for at in rarest {
        let Some(rest) = left.checked_sub(size(&found[at])) else { break };
        left = rest;
        lists[at] = Some(read_list(&found[at], &places)?);
    }
    let families = lists.split_off(terms);
    Ok((lists, families))
}

fn is_in(family: &Family, term: &[u8]) -> bool {
    term.starts_with(family.start.as_bytes())
        && term != family.except.as_bytes()
        && family.lengths.contains(&term.len())
}

/// Positions of sessions in the scope, by their number in the index.
struct SessionPlaces {
    first: u32,
    /// `None` for a session outside the scope.
    by_number: Vec<Option<u32>>,
}

impl SessionPlaces {
    /// Creates an array rather than a map, because a session is looked up for every posting.
    fn new(numbers: &[(u32, u32)]) -> Self {
        let first = numbers.first().map_or(0, |number| number.0);
        let count = numbers.last().map_or(0, |last| (last.0 - first) as usize + 1);
        let mut by_number = vec![None; count];
        for (number, place) in numbers {
            by_number[(number - first) as usize] = Some(*place);
        }
        Self { first, by_number }
    }

    fn of(&self, number: u32) -> Option<u32> {
        let at = number.checked_sub(self.first)?;
        self.by_number.get(at as usize).copied().flatten()
    }
}

/// Returns the postings of sessions in `places`, in that order.
fn read_list(entries: &[PageEntry<'_>], places: &SessionPlaces) -> StoreResult<Vec<Posting>> {
    let mut list = Vec::with_capacity(entries.iter().map(|entry| entry.count).sum());
    for entry in entries {
        entry.read(|occurrence| {
            if let Some(session) = places.of(session(occurrence.doc)) {
                list.push(Posting {
                    session,
                    seq: place(occurrence.doc),
                    counts: Counts(occurrence.counts),
                    length: occurrence.length,
                });
            }
        })?;
    }
    // Sorts by position in the scope. Mostly sorted already, because segments are in chronological order.
    list.sort_by_key(|posting| (posting.session, posting.seq));
    // The terms of a family may occur in the same message.
    list.dedup_by(|next, kept| {
        let same = (next.session, next.seq) == (kept.session, kept.seq);
        if same {
            kept.counts = kept.counts.with(next.counts);
        }
        same
    });
    Ok(list)
}
