//! What the team shares, as far as this person may see it: sessions, messages, and where terms occur in them.

use std::collections::HashMap;

use bethink_store::{
    Family, IndexLookup, IndexedSession, PageRequest, Posting, SeqRange, StoreResult,
    StoredMessage, StoredTeamSession, TeamScope, TermPlaces,
};
use bethink_transcript::{Seq, SessionId};
use sqlx::AssertSqlSafe;

use super::copies::{PLACE, read_places};
use crate::sessions::{read_cursor, write_cursor};
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
    let mut sessions = store.read_team(list, session).await?;
    let more = sessions.len() > wanted;
    sessions.truncate(wanted);
    let last = sessions.last().filter(|_| more);
    let cursor = last.map(|last| write_cursor(last.updated_at, last.id));
    Ok((sessions, cursor))
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
    let mut found = FoundPlaces::new(&sessions, lookup);
    if sessions.is_empty() {
        return Ok(found.places(sessions));
    }
    found.choose(store, &projects).await?;
    let (starts, are_families) = found.chosen();
    let places = sql(PLACES).bind_list(projects).bind_list(starts).bind_list(are_families);
    let read = |row: &Row| {
        let term: String = row.get("term")?;
        let places: Vec<u8> = row.get("places")?;
        Ok((row.get::<usize>("place")?, term, row.get::<SessionId>("session")?, places))
    };
    for (at, term, session, places) in store.read_team(places, read).await? {
        found.add(at, &term, session, &places);
    }
    Ok(found.places(sessions))
}

/// The places of each term and of each family.
struct FoundPlaces {
    lookup: IndexLookup,
    /// Indexes of the sessions.
    sessions: HashMap<SessionId, u32>,
    /// Those of the terms, followed by those of the families; `None` for a list that is too long.
    lists: Vec<Option<Vec<Posting>>>,
}

impl FoundPlaces {
    fn new(sessions: &[IndexedSession], lookup: IndexLookup) -> Self {
        let lists = vec![Some(Vec::new()); lookup.terms.len() + lookup.families.len()];
        let numbered = sessions.iter().zip(0..);
        let sessions = numbered.map(|(session, at)| (session.session, at)).collect();
        Self { lookup, sessions, lists }
    }

    /// Keeps the rarest lists, as many as may be read.
    async fn choose(&mut self, store: &PostgresStore, projects: &[i64]) -> StoreResult<()> {
        let (starts, are_families) = self.chosen();
        let sizes = sql(SIZES).bind_list(projects.iter().copied());
        let sizes = sizes.bind_list(starts).bind_list(are_families);
        let sizes = store.read_team(sizes, |row| row.get::<usize>(0)).await?;
        let mut rarest: Vec<(usize, usize)> = sizes.into_iter().zip(0..).collect();
        rarest.sort_unstable();
        let mut left = self.lookup.most.saturating_mul(PLACE);
        for (size, at) in rarest {
            match left.checked_sub(size) {
                Some(rest) => left = rest,
                None => {
                    left = 0;
                    self.lists[at] = None;
                }
            }
        }
        Ok(())
    }

    /// Returns the terms and the beginnings of families to read, and whether each is a family. Instead of one that is not read, an
    /// empty text, which is no term.
    fn chosen(&self) -> (Vec<String>, Vec<bool>) {
        let terms = self.lookup.terms.iter().map(|term| (term, false));
        let families = self.lookup.families.iter().map(|family| (&family.start, true));
        let chosen =
            terms.chain(families).zip(&self.lists).map(|((start, is_family), list)| match list {
                Some(_) => (start.clone(), is_family),
                None => (String::new(), false),
            });
        chosen.unzip()
    }

    fn add(&mut self, at: usize, term: &str, session: SessionId, places: &[u8]) {
        let family = at.checked_sub(self.lookup.terms.len());
        let family = family.and_then(|at| self.lookup.families.get(at));
        let is_meant = |Family { except, lengths, .. }: &Family| {
            term != except && lengths.contains(&term.len())
        };
        let list = self.lists.get_mut(at).and_then(Option::as_mut);
        if let Some((list, session)) = list.zip(self.sessions.get(&session))
            && family.is_none_or(is_meant)
        {
            list.extend(read_places(*session, places));
        }
    }

    fn places(self, sessions: Vec<IndexedSession>) -> TermPlaces {
        let sorted = self.lists.into_iter().map(|list| list.map(sorted));
        let mut lists: Vec<Option<Vec<Posting>>> = sorted.collect();
        let families = lists.split_off(self.lookup.terms.len());
        TermPlaces { sessions, lists, families }
    }
}

/// Sorts a list by session and seq. The terms of a family may occur in the same message.
fn sorted(mut list: Vec<Posting>) -> Vec<Posting> {
    list.sort_by_key(|posting| (posting.session, posting.seq));
    list.dedup_by(|next, kept| {
        let is_same = (next.session, next.seq) == (kept.session, kept.seq);
        if is_same {
            kept.counts = kept.counts.with(next.counts);
        }
        is_same
    });
    list
}
