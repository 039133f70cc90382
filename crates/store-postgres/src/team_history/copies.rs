//! The copies of this person's sessions, and their index. A row of the index has all places of one term in one session, so that a
//! term is one range of rows in each project, and a copy is removed without changing rows of others.

use bethink_store::{CopiedBatch, CopiedExtent, Counts, Posting, StoreError, StoreResult};
use bethink_store_format::SortedBatch;
use bethink_transcript::SessionId;
use sqlx::PgConnection;

use crate::background::blocking;
use crate::sessions;
use crate::sql::{Row, Statement, not_found, sql};

/// Bytes of a place: its seq, counts and length code.
pub(super) const PLACE: usize = 6;

const UNCOPIED: &str = "
    SELECT session
    FROM shared_sessions
    LEFT JOIN bethink_team.sessions AS copies
      ON copies.id = session
     AND copies.person = session_user
    WHERE shared_sessions.last_seq > coalesce(copies.last_seq, 0)
      AND NOT coalesce(is_removed, FALSE)
      AND ($1 IS NULL OR project_dir = $1)
    ORDER BY shared_sessions.created_at
    LIMIT $2";

pub(super) const EXTENT: &str = "
    SELECT shared_sessions.project,
           shared_sessions.title,
           shared_sessions.created_at,
           coalesce(copies.last_seq, 0) AS copied,
           shared_sessions.last_seq     AS last
    FROM shared_sessions
    LEFT JOIN bethink_team.sessions AS copies
      ON copies.id = session
     AND copies.person = session_user
    WHERE session = $1
      AND NOT coalesce(is_removed, FALSE)";

pub(super) const OPEN_PROJECT: &str = "SELECT bethink_team.open_project($1)";

/// Locks the directory of the session against a choice not to share it, until the copy is committed.
const LOCK_SHARED: &str = "
    SELECT project
    FROM shared_projects
    JOIN sessions USING (project_dir)
    WHERE id = $1
    FOR SHARE OF shared_projects";

/// A statement of its own, so that it sees what was committed while this transaction waited for the lock.
const IS_SHARED: &str = "
    SELECT EXISTS (
        SELECT
        FROM shared_sessions
        WHERE session = $1
          AND project = $2
    )";

/// Changes nothing unless the last message is the expected one.
const PUT_SESSION: &str = "
    INSERT INTO bethink_team.sessions AS copies (
        id, project, title, created_at, updated_at, last_seq, messages, terms, redacted
    )
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9
    WHERE $10 = 0
       OR EXISTS (SELECT FROM bethink_team.sessions WHERE id = $1)
    ON CONFLICT (id) DO UPDATE
    SET title      = excluded.title,
        updated_at = excluded.updated_at,
        last_seq   = excluded.last_seq,
        messages   = copies.messages + excluded.messages,
        terms      = copies.terms + excluded.terms,
        redacted   = copies.redacted + excluded.redacted
    WHERE copies.last_seq = $10
      AND copies.project = $2";

const IS_TAKEN: &str = "
    SELECT EXISTS (
        SELECT
        FROM bethink_team.sessions
        WHERE id = $1
          AND person <> session_user
    )";

const ADD_MESSAGES: &str = "
    INSERT INTO bethink_team.messages (session, project, seq, message_id, role, created_at, raw)
    SELECT $1, $2, seq, message_id, role, created_at, raw
    FROM unnest($3, $4, $5, $6, $7) AS added (seq, message_id, role, created_at, raw)";

const ADD_PLACES: &str = "
    INSERT INTO bethink_team.postings (session, project, term, places)
    SELECT $1, $2, term, places
    FROM unnest($3, $4) AS added (term, places)
    ON CONFLICT (project, term, session) DO UPDATE
    SET places = postings.places || excluded.places";

const IS_READABLE: &str = "
    SELECT EXISTS (
        SELECT
        FROM bethink_team.sessions
        WHERE id = $1
          AND NOT is_removed
    )";

const REMOVE: &str = "SELECT bethink_team.remove_session($1)";

pub(super) fn uncopied(project_dir: Option<String>, limit: usize) -> Statement {
    sql(UNCOPIED).bind(project_dir).bind(limit)
}

pub(super) fn extent(row: &Row) -> StoreResult<CopiedExtent> {
    Ok(CopiedExtent {
        project: row.get("project")?,
        title: row.get("title")?,
        created_at: row.get("created_at")?,
        copied: row.get("copied")?,
        last: row.get("last")?,
    })
}

/// A batch, and its places by term.
pub(super) struct SortedCopy {
    batch: CopiedBatch,
    messages: u64,
    terms: u64,
    places: Vec<(String, Vec<u8>)>,
}

/// Sorts the terms of a batch, which takes long, before the transaction.
pub(super) async fn sorted(batch: CopiedBatch) -> StoreResult<SortedCopy> {
    let work = || {
        let mut batch = batch;
        let (after, last) = (batch.after, batch.index.through);
        let entries = std::mem::take(&mut batch.index.entries);
        let sorted = SortedBatch::new(bethink_store::IndexBatch { entries, ..batch.index.clone() });
        let (messages, terms) = sorted.new_counts(after, last);
        let places = sorted.places().map(|(term, places)| {
            let written = places.flat_map(|posting| written(&posting)).collect();
            (term.to_owned(), written)
        });
        let places = places.collect();
        SortedCopy { batch, messages, terms, places }
    };
    blocking(work).await
}

fn written(posting: &Posting) -> [u8; PLACE] {
    let [a, b, c, d] = posting.seq.to_be_bytes();
    [a, b, c, d, posting.counts.0, posting.length]
}

/// Reads the places of a term in the session with this index.
pub(super) fn read_places(session: u32, places: &[u8]) -> impl Iterator<Item = Posting> {
    let (places, _) = places.as_chunks::<PLACE>();
    places.iter().map(move |[a, b, c, d, counts, length]| Posting {
        session,
        seq: u32::from_be_bytes([*a, *b, *c, *d]),
        counts: Counts(*counts),
        length: *length,
    })
}

/// Adds messages to a copy. Returns `false` and changes nothing if another message than expected was copied last, or if the
/// session is not shared any more.
pub(super) async fn add(db: &mut PgConnection, sorted: SortedCopy) -> StoreResult<bool> {
    let SortedCopy { batch, messages, terms, places } = sorted;
    let (session, last) = (batch.index.session, batch.index.through);
    sessions::hold(&mut *db, session).await?;
    sql(LOCK_SHARED).bind(session).run(&mut *db).await?;
    let is_shared = sql(IS_SHARED).bind(session).bind(batch.project.clone());
    if !is_shared.value::<bool>(&mut *db).await? {
        return Ok(false);
    }
    let project: i64 = sql(OPEN_PROJECT).bind(batch.project).value(&mut *db).await?;
    let updated_at = batch.messages.last().map_or(batch.created_at, |last| last.created_at);
    let redacted = batch.messages.iter().filter(|message| message.is_redacted).count();
    let put = sql(PUT_SESSION)
        .bind(session)
        .bind(project)
        .bind(batch.title)
        .bind(batch.created_at)
        .bind(updated_at)
        .bind(last)
        .bind(messages)
        .bind(terms)
        .bind(redacted)
        .bind(batch.after);
    if put.run(&mut *db).await? == 0 {
        return match sql(IS_TAKEN).bind(session).value(db).await? {
            true => Err(StoreError::Conflict(
                "another person shares a session with the same id, so this one cannot be shared"
                    .to_owned(),
            )),
            false => Ok(false),
        };
    }
    let new = &batch.messages;
    let add = sql(ADD_MESSAGES)
        .bind(session)
        .bind(project)
        .bind_list(new.iter().map(|message| message.seq))
        .bind_list(new.iter().map(|message| message.id.clone()))
        .bind_list(new.iter().map(|message| message.role))
        .bind_list(new.iter().map(|message| message.created_at))
        .bind_list(new.iter().map(|message| message.raw.clone()));
    add.run(&mut *db).await?;
    let (terms, places): (Vec<_>, Vec<_>) = places.into_iter().unzip();
    let add = sql(ADD_PLACES).bind(session).bind(project).bind_list(terms).bind_list(places);
    add.run(db).await?;
    Ok(true)
}

/// Removes the messages of a copy, for all.
pub(super) async fn remove(db: &mut PgConnection, session: SessionId) -> StoreResult<()> {
    if sql(REMOVE).bind(session).value::<bool>(&mut *db).await? {
        return Ok(());
    }
    match sql(IS_READABLE).bind(session).value::<bool>(db).await? {
        true => Err(StoreError::Conflict(
            "only an admin of the project may remove a session that somebody else shares"
                .to_owned(),
        )),
        false => Err(not_found("shared session", session)),
    }
}
