//! Where terms stand.

use bethink_store::{
    Counts, Family, Found, IndexedSession, Lookup, Posting, Result, Scope, StoreError,
};
use bethink_transcript::SessionId;
use sqlx::{FromRow, SqlitePool};
use uuid::Uuid;

use crate::convert::{seq, session_id, unsigned};
use crate::error::from_sqlx;
use crate::postings::{Entry, can_be_kept, doc, entries, key, place, session};
use crate::segments::session_number;
use crate::sessions;

const SESSION: &str = "
    SELECT sessions.id, indexed_seq, last_seq, index_sessions.number, messages, terms
    FROM sessions
    LEFT JOIN index_sessions
      ON index_sessions.session = sessions.id
    WHERE sessions.id = ?";

/// In one row: a project may have a thousand sessions, and as many rows take longer to hand over than
/// all else that a search reads.
const PROJECT: &str = "
    SELECT json_group_array(
               json_array(
                   hex(sessions.id), indexed_seq, last_seq, index_sessions.number, messages, terms
               )
           )
    FROM sessions
    LEFT JOIN index_sessions
      ON index_sessions.session = sessions.id
    WHERE project_dir = ?";

/// For each term the pages from the one that holds its first key, or would, to the one with its last.
const PAGES: &str = "
    SELECT asked.key AS term, index_pages.body
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

#[derive(FromRow)]
struct Row {
    id: Vec<u8>,
    indexed_seq: i64,
    last_seq: i64,
    number: Option<i64>,
    messages: Option<i64>,
    terms: Option<i64>,
}

pub(crate) async fn lookup(readers: &SqlitePool, lookup: Lookup) -> Result<Found> {
    let (scope, numbers) = scope(readers, &lookup.scope).await?;
    let Some((first, last)) = numbers.first().zip(numbers.last()).map(|(a, b)| (a.0, b.0)) else {
        let nothing = |count| vec![Some(Vec::new()); count];
        let (lists, families) = (nothing(lookup.terms.len()), nothing(lookup.families.len()));
        return Ok(Found { sessions: scope, lists, families });
    };
    let pages: Vec<(i64, Vec<u8>)> = sqlx::query_as(PAGES)
        .bind(asked(&lookup, first, last)?)
        .bind(i64::from(first))
        .bind(i64::from(last))
        .fetch_all(readers)
        .await
        .map_err(from_sqlx)?;
    let work = move || read_lists(&lookup, &pages, &numbers);
    let (lists, families) = tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| StoreError::Failed(error.to_string()))??;
    Ok(Found { sessions: scope, lists, families })
}

/// The sessions, and for those that the index knows their number there with their place in the list, by
/// number.
async fn scope(
    readers: &SqlitePool,
    scope: &Scope,
) -> Result<(Vec<IndexedSession>, Vec<(u32, u32)>)> {
    let rows = match scope {
        Scope::Session(id) => session_row(readers, *id).await?,
        Scope::Project(dir) => project_rows(readers, dir).await?,
    };
    let mut numbers = Vec::with_capacity(rows.len());
    let mut sessions = Vec::with_capacity(rows.len());
    for (place, row) in (0_u32..).zip(rows) {
        if let Some(number) = row.number {
            numbers.push((session_number(number)?, place));
        }
        sessions.push(IndexedSession {
            session: session_id(&row.id)?,
            indexed: seq(row.indexed_seq),
            last: seq(row.last_seq),
            messages: row.messages.map_or(0, unsigned),
            terms: row.terms.map_or(0, unsigned),
        });
    }
    numbers.sort_unstable();
    Ok((sessions, numbers))
}

async fn session_row(readers: &SqlitePool, id: SessionId) -> Result<Vec<Row>> {
    let rows: Vec<Row> = sqlx::query_as(SESSION)
        .bind(id.0.as_bytes().to_vec())
        .fetch_all(readers)
        .await
        .map_err(from_sqlx)?;
    sessions::found(&rows, id)?;
    Ok(rows)
}

/// By their number in the index.
async fn project_rows(readers: &SqlitePool, dir: &str) -> Result<Vec<Row>> {
    type Listed = (String, i64, i64, Option<i64>, Option<i64>, Option<i64>);
    let listed: String = sqlx::query_scalar(PROJECT)
        .bind(dir.to_owned())
        .fetch_one(readers)
        .await
        .map_err(from_sqlx)?;
    let listed: Vec<Listed> =
        serde_json::from_str(&listed).map_err(|error| StoreError::Failed(error.to_string()))?;
    let mut rows = Vec::with_capacity(listed.len());
    for (id, indexed_seq, last_seq, number, messages, terms) in listed {
        let id = Uuid::try_parse(&id)
            .map_err(|error| StoreError::Damaged(format!("session {id}: {error}")))?;
        let id = id.as_bytes().to_vec();
        rows.push(Row { id, indexed_seq, last_seq, number, messages, terms });
    }
    rows.sort_by_key(|row| row.number);
    Ok(rows)
}

/// The first and the last key that each term and each family can have here, as JSON, in hexadecimal
/// digits.
fn asked(lookup: &Lookup, first: u32, last: u32) -> Result<String> {
    let nothing = || ["00".to_owned(), String::new()];
    let terms = lookup.terms.iter().map(|term| match can_be_kept(term) {
        true => [doc(first, 0), doc(last, u32::MAX)].map(|doc| hex(&key(term.as_bytes(), doc))),
        false => nothing(),
    });
    // No byte of a term is this high.
    let families = lookup.families.iter().map(|family| match can_be_kept(&family.start) {
        true => [hex(family.start.as_bytes()), hex(&[family.start.as_bytes(), &[0xff]].concat())],
        false => nothing(),
    });
    let keys: Vec<[String; 2]> = terms.chain(families).collect();
    serde_json::to_string(&keys).map_err(|error| StoreError::Failed(error.to_string()))
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |half: u8| char::from(DIGITS[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

type List = Option<Vec<Posting>>;

/// Lists of terms and of families.
fn read_lists(
    lookup: &Lookup,
    pages: &[(i64, Vec<u8>)],
    numbers: &[(u32, u32)],
) -> Result<(Vec<List>, Vec<List>)> {
    let terms = lookup.terms.len();
    let mut found: Vec<Vec<Entry<'_>>> = vec![Vec::new(); terms + lookup.families.len()];
    for (at, body) in pages {
        let Some(at) = usize::try_from(*at).ok().filter(|at| *at < found.len()) else { continue };
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
    let size = |entries: &[Entry<'_>]| entries.iter().map(|entry| entry.count).sum::<usize>();
    let mut rarest: Vec<usize> = (0..found.len()).collect();
    rarest.sort_by_key(|at| (size(&found[*at]), *at));
    let places = Places::new(numbers);
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

/// Places of sessions in the scope, by their number in the index.
struct Places {
    first: u32,
    /// `None` for a session of another scope.
    by_number: Vec<Option<u32>>,
}

impl Places {
    /// Four bytes a session of the index: in a project, every posting asks.
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

/// Postings of sessions in `places`, in order of them.
fn read_list(entries: &[Entry<'_>], places: &Places) -> Result<Vec<Posting>> {
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
    // By place in the scope, which for a project is by number: segments come in order of time.
    list.sort_by_key(|posting| (posting.session, posting.seq));
    // A family has several terms; a term has a message once.
    list.dedup_by(|next, kept| {
        let same = (next.session, next.seq) == (kept.session, kept.seq);
        if same {
            kept.counts = kept.counts.with(next.counts);
        }
        same
    });
    Ok(list)
}
