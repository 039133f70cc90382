//! What the team shares, as far as this person may see it: sessions, messages, and where terms occur in them.

use std::collections::HashMap;

use bethink_store::{
    Family, IndexLookup, IndexedSession, PageRequest, Posting, SeqRange, StoreResult,
    StoredMessage, StoredTeamSession, TeamScope, TermPlaces,
};
use bethink_transcript::{Seq, SessionId};

use super::copies::read_places;
use crate::sessions::{read_cursor, write_cursor};
use crate::sql::{Row, not_found, sql};
use crate::store::PostgresStore;

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

const MESSAGES: &str = "
    SELECT session, seq, message_id, role, created_at, raw
    FROM bethink_team.messages
    WHERE session = $1
      AND seq > $2
      AND seq < $3
    ORDER BY seq
    LIMIT $4";

pub(super) const MESSAGES_AT: &str = "
    SELECT messages.session, messages.seq, message_id, role, created_at, raw
    FROM unnest($1, $2) WITH ORDINALITY AS asked (session, seq, place)
    JOIN bethink_team.messages
      ON messages.session = asked.session
     AND messages.seq = asked.seq
    ORDER BY asked.place";

const SCOPE: &str = "
    SELECT id, project, last_seq, messages, terms
    FROM bethink_team.sessions
    JOIN bethink_team.projects
      ON number = project
    WHERE NOT is_removed
      AND ($1 IS NULL OR name = $1)
      AND ($2 IS NULL OR person = $2)
    ORDER BY created_at, id";

/// With `OFFSET 0`, PostgreSQL uses the index once for each term; without it, it may read all rows of the projects.
const PLACES: &str = "
    SELECT asked.place - 1 AS place, session, places
    FROM unnest($2) WITH ORDINALITY AS asked (term, place)
    CROSS JOIN LATERAL (
        SELECT session, places
        FROM bethink_team.postings
        WHERE project = ANY ($1)
          AND term = asked.term
        OFFSET 0
    ) AS found";

/// No term has a character as large as the last one.
const FAMILIES: &str = "
    SELECT asked.place - 1 AS place, found.term, session, places
    FROM unnest($2) WITH ORDINALITY AS asked (start, place)
    CROSS JOIN LATERAL (
        SELECT term, session, places
        FROM bethink_team.postings
        WHERE project = ANY ($1)
          AND term >= asked.start
          AND term < asked.start || chr(1114111)
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
    let list = sql(MESSAGES)
        .bind(id)
        .bind(range.after.unwrap_or_default())
        .bind(range.before.unwrap_or(Seq(u64::MAX)))
        .bind(range.limit);
    let messages = store.read_team(list, message).await?;
    if messages.is_empty() {
        let found = store.read_team(sql(AT).bind_list([id]), session).await?;
        found.first().ok_or_else(|| not_found("shared session", id))?;
    }
    Ok(messages)
}

pub(super) fn message(row: &Row) -> StoreResult<StoredMessage> {
    Ok(StoredMessage {
        seq: row.get("seq")?,
        id: row.get("message_id")?,
        role: row.get("role")?,
        raw: row.get("raw")?,
        recorded: false,
        created_at: row.get("created_at")?,
    })
}

pub(super) async fn lookup(
    store: &PostgresStore,
    scope: TeamScope,
    lookup: IndexLookup,
) -> StoreResult<TermPlaces> {
    let read = |row: &Row| {
        let last = row.get("last_seq")?;
        let (messages, terms) = (row.get("messages")?, row.get("terms")?);
        let session = row.get("id")?;
        let indexed = IndexedSession { session, indexed: last, last, messages, terms };
        Ok((row.get::<i64>("project")?, indexed))
    };
    let listed = store.read_team(sql(SCOPE).bind(scope.project).bind(scope.person), read).await?;
    let mut projects: Vec<i64> = listed.iter().map(|(project, _)| *project).collect();
    projects.sort_unstable();
    projects.dedup();
    let sessions: Vec<IndexedSession> = listed.into_iter().map(|(_, session)| session).collect();
    let mut found = FoundPlaces::new(&sessions, lookup);
    if !sessions.is_empty() {
        let places = sql(PLACES).bind_list(projects.clone()).bind_list(found.lookup.terms.clone());
        let read = |row: &Row| {
            let session: SessionId = row.get("session")?;
            Ok((row.get::<usize>("place")?, session, row.get::<Vec<u8>>("places")?))
        };
        for (term, session, places) in store.read_team(places, read).await? {
            found.add(term, session, &places);
        }
        let starts = found.lookup.families.iter().map(|family| family.start.clone());
        let families = sql(FAMILIES).bind_list(projects).bind_list(starts);
        let read = |row: &Row| {
            let term: String = row.get("term")?;
            let places: Vec<u8> = row.get("places")?;
            Ok((row.get::<usize>("place")?, term, row.get::<SessionId>("session")?, places))
        };
        for (family, term, session, places) in store.read_team(families, read).await? {
            found.add_family(family, &term, session, &places);
        }
    }
    let (lists, families) = found.lists();
    Ok(TermPlaces { sessions, lists, families })
}

/// The places of each term and of each family.
struct FoundPlaces {
    lookup: IndexLookup,
    /// Indexes of the sessions.
    sessions: HashMap<SessionId, u32>,
    /// Those of the terms, followed by those of the families.
    lists: Vec<Vec<Posting>>,
}

impl FoundPlaces {
    fn new(sessions: &[IndexedSession], lookup: IndexLookup) -> Self {
        let lists = vec![Vec::new(); lookup.terms.len() + lookup.families.len()];
        let numbered = sessions.iter().zip(0..);
        let sessions = numbered.map(|(session, at)| (session.session, at)).collect();
        Self { lookup, sessions, lists }
    }

    fn add(&mut self, list: usize, session: SessionId, places: &[u8]) {
        let found = self.lists.get_mut(list).zip(self.sessions.get(&session));
        if let Some((list, session)) = found {
            list.extend(read_places(*session, places));
        }
    }

    fn add_family(&mut self, family: usize, term: &str, session: SessionId, places: &[u8]) {
        let Some(Family { except, lengths, .. }) = self.lookup.families.get(family) else { return };
        if term != except && lengths.contains(&term.len()) {
            self.add(self.lookup.terms.len() + family, session, places);
        }
    }

    /// Returns the lists of the terms, and those of the families. The rarest come first; a list that does not fit any more is
    /// `None`.
    fn lists(self) -> (PlaceLists, PlaceLists) {
        let sizes: Vec<usize> = self.lists.iter().map(Vec::len).collect();
        let mut rarest: Vec<usize> = (0..sizes.len()).collect();
        rarest.sort_by_key(|at| (sizes[*at], *at));
        let mut left = self.lookup.most;
        let mut is_kept = vec![false; sizes.len()];
        for at in rarest {
            let Some(rest) = left.checked_sub(sizes[at]) else { break };
            (left, is_kept[at]) = (rest, true);
        }
        let kept = self.lists.into_iter().zip(is_kept);
        let mut lists: PlaceLists = kept.map(|(list, kept)| kept.then(|| sorted(list))).collect();
        let families = lists.split_off(self.lookup.terms.len());
        (lists, families)
    }
}

type PlaceLists = Vec<Option<Vec<Posting>>>;

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
