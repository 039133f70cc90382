//! What the team shares, as far as this person may see it: sessions, messages, and where terms occur in them.

use std::collections::HashMap;

use bethink_store::{
    Family, IndexLookup, IndexedSession, PageRequest, Posting, SeqRange, StoreResult,
    StoredMessage, StoredTeamSession, TeamScope, TermPlaces,
};
use bethink_store_format::{page_of, read_cursor, sorted_postings};
use bethink_transcript::{Seq, SessionId};
use sqlx::AssertSqlSafe;

use super::copies::{PLACE, read_places};
use crate::sql::{Row, not_found, sql};
use crate::store::PostgresStore;

/// Number of messages in which a search looks, those of the newest sessions. The ranking needs 20 bytes for each.
const MOST_MESSAGES: u64 = 10_000_000;

/// The column names are those of the row that [`session`] reads.
const LIST: &str = "
    SELECT sessions.*, name
    FROM bethink_team.sessions
    JOIN bethink_team.projects
      ON number = project
    WHERE NOT is_removed
      AND ($1 IS NULL OR name = $1)
      AND ($2 IS NULL OR person = $2)
      AND ($3 IS NULL OR (updated_at, id) < ($3, $4))
    ORDER BY updated_at DESC, id DESC
    LIMIT $5";

pub(super) const AT: &str = "
    SELECT sessions.*, name
    FROM bethink_team.sessions
    JOIN bethink_team.projects
      ON number = project
    WHERE id = ANY ($1)
      AND NOT is_removed";

/// The first message, and those that fit in `$5` bytes together with it.
const MESSAGES: &str = "
    SELECT *
    FROM (
        SELECT *, sum(octet_length(raw)) OVER (ORDER BY seq {order}) AS total
        FROM (
            SELECT session, seq, message_id, role, created_at, raw
            FROM bethink_team.messages
            WHERE session = $1
              AND seq > $2
              AND seq < $3
              AND EXISTS (SELECT FROM bethink_team.sessions WHERE id = $1 AND NOT is_removed)
            ORDER BY seq {order}
            LIMIT $4
        ) AS page
    ) AS summed
    WHERE total <= $5
       OR total = octet_length(raw)
    ORDER BY seq";

pub(super) const MESSAGES_AT: &str = "
    SELECT messages.session, messages.seq, message_id, role, created_at, raw
    FROM unnest($1, $2) WITH ORDINALITY AS asked (session, seq, place)
    JOIN bethink_team.messages
      ON messages.session = asked.session
     AND messages.seq = asked.seq
    WHERE EXISTS (SELECT FROM bethink_team.sessions WHERE id = asked.session AND NOT is_removed)
    ORDER BY asked.place";

const SCOPE: &str = "
    SELECT id, project, last_seq, messages, terms
    FROM bethink_team.sessions
    JOIN bethink_team.projects
      ON number = project
    WHERE NOT is_removed
      AND ($1 IS NULL OR name = $1)
      AND ($2 IS NULL OR person = $2)
    ORDER BY updated_at DESC, id";

/// The size of each list, without reading it.
const SIZES: &str = "
    SELECT coalesce(found.size, 0)::BIGINT
    FROM unnest($2, $3) WITH ORDINALITY AS asked (start, is_family, place)
    CROSS JOIN LATERAL (
        SELECT sum(octet_length(places)) AS size
        FROM bethink_team.postings
        WHERE project = ANY ($1)
          AND term >= asked.start
          AND term <= asked.start || CASE WHEN is_family THEN chr(1114111) ELSE '' END
          AND ($4 IS NULL OR session = ANY ($4))
        OFFSET 0
    ) AS found
    ORDER BY asked.place";

/// With `OFFSET 0`, PostgreSQL uses the index once for each term; without it, it may read all rows of the projects.
const PLACES: &str = "
    SELECT asked.place - 1 AS place, term, session, places
    FROM unnest($2, $3) WITH ORDINALITY AS asked (start, is_family, place)
    CROSS JOIN LATERAL (
        SELECT term, session, places
        FROM bethink_team.postings
        WHERE project = ANY ($1)
          AND term >= asked.start
          AND term <= asked.start || CASE WHEN is_family THEN chr(1114111) ELSE '' END
          AND ($4 IS NULL OR session = ANY ($4))
        OFFSET 0
    ) AS found";

pub(super) async fn sessions(
    store: &PostgresStore,
    scope: TeamScope,
    page: PageRequest,
) -> StoreResult<(Vec<StoredTeamSession>, Option<String>)> {
    let after = page.cursor.as_deref().map(read_cursor).transpose()?;
    let wanted = page.limit.max(1);
    let list = sql(LIST)
        .bind(scope.project)
        .bind(scope.person)
        .bind(after.map(|(at, _)| at))
        .bind(after.map(|(_, id)| id))
        .bind(wanted.saturating_add(1));
    let sessions = store.read_team(list, session).await?;
    Ok(page_of(sessions, wanted, |last| (last.updated_at, last.id)))
}

pub(super) fn session(row: &Row) -> StoreResult<StoredTeamSession> {
    Ok(StoredTeamSession {
        id: row.get("id")?,
        project: row.get("name")?,
        person: row.get("person")?,
        title: row.get("title")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        messages: row.get("last_seq")?,
        redacted: row.get("redacted")?,
    })
}

pub(super) async fn messages(
    store: &PostgresStore,
    id: SessionId,
    range: SeqRange,
) -> StoreResult<Vec<StoredMessage>> {
    let order = if range.newest { "DESC" } else { "ASC" };
    let list = sql(AssertSqlSafe(MESSAGES.replace("{order}", order)))
        .bind(id)
        .bind(range.after.unwrap_or_default())
        .bind(range.before.unwrap_or(Seq(u64::MAX)))
        .bind(range.limit)
        .bind(range.bytes);
    let messages: Vec<_> = store.read_team(list, message).await?.into_iter().flatten().collect();
    if messages.is_empty() {
        let found = store.read_team(sql(AT).bind_list([id]), session).await?;
        found.first().ok_or_else(|| not_found("shared session", id))?;
    }
    Ok(messages)
}

/// Reads a message; `None` if it is not one, because somebody may have written it with another program.
pub(super) fn message(row: &Row) -> StoreResult<Option<StoredMessage>> {
    let Ok(id) = row.get("message_id") else { return Ok(None) };
    Ok(Some(StoredMessage {
        seq: row.get("seq")?,
        id,
        role: row.get("role")?,
        raw: row.get("raw")?,
        recorded: false,
        created_at: row.get("created_at")?,
    }))
}

pub(super) async fn lookup(
    store: &PostgresStore,
    scope: TeamScope,
    lookup: IndexLookup,
) -> StoreResult<TermPlaces> {
    let read = |row: &Row| {
        let last: Seq = row.get("last_seq")?;
        let (messages, terms) = (row.get("messages")?, row.get("terms")?);
        let session = row.get("id")?;
        let indexed = IndexedSession { session, indexed: last, last, messages, terms };
        Ok((row.get::<i64>("project")?, indexed))
    };
    let listed = store.read_team(sql(SCOPE).bind(scope.project).bind(scope.person), read).await?;
    let mut left = MOST_MESSAGES;
    let newest = listed.into_iter().map_while(|(project, session)| {
        left = left.checked_sub(session.last.0)?;
        Some((project, session))
    });
    let (mut projects, sessions): (Vec<i64>, Vec<IndexedSession>) = newest.unzip();
    projects.sort_unstable();
    projects.dedup();
    let (most_terms, most_marks) = (lookup.most_terms(), lookup.most_marks());
    let IndexLookup { terms, families, marks, .. } = lookup;
    let numbers = sessions.iter().zip(0..).map(|(session, at)| (session.session, at)).collect();
    let reader = PlaceReader { store, projects, numbers };
    let starts = families.iter().map(|family| (family.start.clone(), true));
    let asked = terms.iter().map(|term| (term.clone(), false)).chain(starts).collect();
    let is_wanted = |list: usize, term: &str| {
        list.checked_sub(terms.len()).and_then(|at| families.get(at)).is_none_or(
            |Family { except, lengths, .. }| term != except && lengths.contains(&term.len()),
        )
    };
    let mut lists = reader.read(asked, None, most_terms, is_wanted).await?;
    let mut occurs = vec![false; sessions.len()];
    for posting in lists.iter().flatten().flatten() {
        occurs[posting.session as usize] = true;
    }
    let families = lists.split_off(terms.len());
    let near =
        sessions.iter().zip(occurs).filter(|(_, occurs)| *occurs).map(|(one, _)| one.session);
    let asked = marks.into_iter().map(|mark| (mark, false)).collect();
    let marks = reader.read(asked, Some(near.collect()), most_marks, |_, _| true).await?;
    Ok(TermPlaces { sessions, lists, families, marks })
}

/// Reads the places of terms, in projects and in sessions with these indexes.
struct PlaceReader<'a> {
    store: &'a PostgresStore,
    projects: Vec<i64>,
    numbers: HashMap<SessionId, u32>,
}

type List = Option<Vec<Posting>>;

impl PlaceReader<'_> {
    /// Reads the list of each term, or of all terms that begin like it, rarest lists first; `None` for a list that is too long.
    async fn read(
        &self,
        asked: Vec<(String, bool)>,
        within: Option<Vec<SessionId>>,
        most: usize,
        is_wanted: impl Fn(usize, &str) -> bool,
    ) -> StoreResult<Vec<List>> {
        let nothing = self.projects.is_empty() || within.as_ref().is_some_and(Vec::is_empty);
        if nothing || asked.is_empty() {
            return Ok(vec![Some(Vec::new()); asked.len()]);
        }
        let query = |text: &'static str, asked: Vec<(String, bool)>| {
            let (starts, are_families): (Vec<_>, Vec<_>) = asked.into_iter().unzip();
            let query = sql(text).bind_list(self.projects.iter().copied());
            query.bind_list(starts).bind_list(are_families).bind_optional_list(within.clone())
        };
        let sizes = query(SIZES, asked.clone());
        let sizes = self.store.read_team(sizes, |row| row.get::<usize>(0)).await?;
        let mut rarest: Vec<(usize, usize)> = sizes.into_iter().zip(0..).collect();
        rarest.sort_unstable();
        let mut lists: Vec<List> = vec![None; asked.len()];
        let mut left = most.saturating_mul(PLACE);
        for (size, at) in rarest {
            let Some(rest) = left.checked_sub(size) else { break };
            left = rest;
            lists[at] = Some(Vec::new());
        }
        // An empty text is no term.
        let chosen = asked.into_iter().zip(&lists).map(|(asked, list)| match list {
            Some(_) => asked,
            None => (String::new(), false),
        });
        let places = query(PLACES, chosen.collect());
        let read = |row: &Row| {
            let term: String = row.get("term")?;
            let places: Vec<u8> = row.get("places")?;
            Ok((row.get::<usize>("place")?, term, row.get::<SessionId>("session")?, places))
        };
        for (at, term, session, places) in self.store.read_team(places, read).await? {
            let list = lists.get_mut(at).and_then(Option::as_mut);
            if let Some((list, session)) = list.zip(self.numbers.get(&session))
                && is_wanted(at, &term)
            {
                list.extend(read_places(*session, &places));
            }
        }
        Ok(lists.into_iter().map(|list| list.map(sorted_postings)).collect())
    }
}
