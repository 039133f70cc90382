//! Appends are planned and written in groups. If a request is invalid, only that request is rejected; the others still
//! succeed.
//!
//! The transaction locks the rows of its sessions first, so what it then finds stays true until its commit, whatever other
//! processes do. Appends to one session usually need only one statement instead: it assumes that nobody else has appended since
//! this process did, and changes nothing if that is wrong.

use std::collections::HashMap;

use bethink_store::{Append, AppendResult, StoreError, StoreResult};
use bethink_store_format::AppendPlan;
use bethink_transcript::{MessageId, Seq, SessionId};
use sqlx::PgConnection;

use crate::connections::{ConnectionQueue, HeldConnection, commit};
use crate::error::fails_all;
use crate::locks::{self, Lock};
use crate::sessions::LockedSessions;
use crate::sql::{Row, Statement, sql};
use crate::writer::Answer;
use crate::{receipts, sessions};

/// Finds which of the given messages are already stored.
const STORED: &str = "
    SELECT messages.session, messages.message_id, messages.seq
    FROM unnest($1, $2) AS asked (session, message_id)
    JOIN messages
      ON messages.session = asked.session
     AND messages.message_id = asked.message_id";

const INSERT: &str = "
    INSERT INTO messages (session, seq, message_id, role, recorded, created_at, checksum, raw)
    SELECT *
    FROM unnest($1, $2, $3, $4, $5, $6, $7, $8)";

const TOUCH: &str = "
    UPDATE sessions
    SET last_seq   = touched.last_seq,
        updated_at = greatest(sessions.updated_at, touched.at)
    FROM unnest($1, $2, $3) AS touched (id, last_seq, at)
    WHERE sessions.id = touched.id";

/// Inserts the messages and updates the row of one session in one statement. Changes nothing if another process has the session or
/// has appended to it; fails if a message is already stored. The session is locked before a message is inserted, as in the transactions.
const APPEND: &str = "
    WITH touched AS (
        UPDATE sessions
        SET last_seq   = $3,
            updated_at = greatest(updated_at, $4)
        WHERE id = $1
          AND last_seq = $2
          AND is_own(holder)
        RETURNING id
    )
    INSERT INTO messages (session, seq, message_id, role, recorded, created_at, checksum, raw)
    SELECT new.*
    FROM unnest($5, $6, $7, $8, $9, $10, $11, $12)
      AS new (session, seq, message_id, role, recorded, created_at, checksum, raw)
    WHERE EXISTS (SELECT FROM touched)";

/// Maximum number of sessions whose last messages are remembered.
const MAX_REMEMBERED_SESSIONS: usize = 4096;

/// The last message of each session to which this process has appended, as far as it knows.
type LastMessages = HashMap<SessionId, Seq>;

/// Appends on one connection, which it keeps between groups.
pub(crate) struct Appender {
    connections: ConnectionQueue,
    connection: Option<HeldConnection>,
    last: LastMessages,
}

impl Appender {
    pub(crate) fn new(connections: ConnectionQueue) -> Self {
        Self { connections, connection: None, last: LastMessages::new() }
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.connection.is_some()
    }

    pub(crate) fn release_connection(&mut self) {
        self.connection = None;
    }

    /// Answers every request of the group, after one commit for all of them.
    pub(crate) async fn append_group(&mut self, mut group: Vec<(Append, Answer<AppendResult>)>) {
        if group.is_empty() {
            return;
        }
        match self.append_all(&group).await {
            Ok(outcomes) => {
                for ((_, answer), outcome) in group.into_iter().zip(outcomes) {
                    // If the caller is gone, only the answer is lost.
                    let _ = answer.send(outcome);
                }
            }
            Err(error) if fails_all(&error) || group.len() == 1 => {
                for (_, answer) in group {
                    let _ = answer.send(Err(error.clone()));
                }
            }
            // One request may be invalid: the others must not fail with it.
            Err(_) => {
                while !group.is_empty() {
                    let rest = group.split_off(1);
                    let first = std::mem::replace(&mut group, rest);
                    Box::pin(self.append_group(first)).await;
                }
            }
        }
    }

    async fn append_all(
        &mut self,
        group: &[(Append, Answer<AppendResult>)],
    ) -> StoreResult<Vec<StoreResult<AppendResult>>> {
        let appends = group.iter().map(|(append, _)| append);
        // After an error, it is given back and tested.
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connections.get().await?,
        };
        let done =
            append_in_one_statement(&mut connection, &mut self.last, appends.clone()).await?;
        let outcomes = match done {
            Some(outcomes) => outcomes,
            None => {
                let mut transaction = self.connections.begin(&mut connection).await?;
                let (outcomes, sessions) = append(&mut transaction, appends).await?;
                commit(transaction).await?;
                if self.last.len() > MAX_REMEMBERED_SESSIONS {
                    self.last.clear();
                }
                self.last.extend(sessions);
                outcomes
            }
        };
        self.connection = Some(connection);
        Ok(outcomes)
    }
}

/// Appends with one statement, if all appends are to one session whose last message is known: statements that update several
/// sessions could wait for each other. Returns `None` if nothing was appended because a transaction has to look first.
async fn append_in_one_statement(
    db: &mut PgConnection,
    last: &mut LastMessages,
    appends: impl Iterator<Item = &Append> + Clone,
) -> StoreResult<Option<Vec<StoreResult<AppendResult>>>> {
    let Some(session) = appends.clone().next().map(|append| append.session) else {
        return Ok(None);
    };
    let is_simple = |append: &Append| {
        append.session == session && append.receipt.is_none() && !append.messages.is_empty()
    };
    if !appends.clone().all(is_simple) {
        return Ok(None);
    }
    // What is remembered is right only if this succeeds.
    let Some(before) = last.remove(&session) else { return Ok(None) };
    let sessions = HashMap::from([(session, before)]);
    let mut plan = AppendPlan { sessions, ..AppendPlan::default() };
    let outcomes = appends.map(|append| plan.append(append)).collect();
    let Some((_, last_seq, at)) = plan.updates().next() else { return Ok(None) };
    let append = sql(APPEND).bind(session).bind(before).bind(last_seq).bind(at);
    let added = bind_messages(append, &plan).run_unless_stored(db).await?;
    if added != Some(plan.messages.len() as u64) {
        return Ok(None);
    }
    last.insert(session, last_seq);
    Ok(Some(outcomes))
}

/// Returns the outcomes, and the last messages of this daemon's sessions.
async fn append(
    db: &mut PgConnection,
    appends: impl Iterator<Item = &Append> + Clone,
) -> StoreResult<(Vec<StoreResult<AppendResult>>, LastMessages)> {
    let ids = appends.clone().map(|append| append.session);
    let messages = appends.clone().flat_map(|append| {
        append.messages.iter().map(|message| (append.session, message.id.clone()))
    });
    let (mut plan, moved) = begin(db, ids.collect(), messages.collect()).await?;
    let keys: Vec<String> =
        appends.clone().filter_map(|append| Some(append.receipt.as_ref()?.key.clone())).collect();
    locks::lock(db, keys.iter().map(|key| Lock::Receipt(key))).await?;
    plan.receipts = receipts::find(db, keys).await?;
    let outcomes = appends.map(|append| {
        // An append that was stored before gets its answer, whichever daemon has the session now.
        let planned = plan.append(append);
        planned.map_err(|error| match moved.get(&append.session) {
            Some(holder) if matches!(error, StoreError::NotFound { .. }) => {
                StoreError::Moved { session: append.session, holder: holder.clone() }
            }
            _ => error,
        })
    });
    let outcomes = outcomes.collect();
    write(&plan, db).await?;
    receipts::add(db, plan.new_receipts).await?;
    Ok((outcomes, plan.sessions))
}

/// Locks the sessions, and finds which messages are already stored. Returns the plan, without the sessions of other daemons,
/// and the names of those daemons.
pub(crate) async fn begin(
    db: &mut PgConnection,
    sessions: Vec<SessionId>,
    messages: Vec<(SessionId, MessageId)>,
) -> StoreResult<(AppendPlan, HashMap<SessionId, String>)> {
    let LockedSessions { own, moved } = sessions::lock_all(db, sessions).await?;
    let mut plan = AppendPlan { sessions: own, ..AppendPlan::default() };
    if !messages.is_empty() {
        let (sessions, ids): (Vec<_>, Vec<_>) = messages.into_iter().unzip();
        let read = |row: &Row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?));
        let stored = sql(STORED).bind_list(sessions).bind_list(ids).all(db, read).await?;
        plan.stored.extend(stored);
    }
    Ok((plan, moved))
}

/// Writes the messages as a part of a transaction.
pub(crate) async fn write(plan: &AppendPlan, db: &mut PgConnection) -> StoreResult<()> {
    if plan.messages.is_empty() {
        return Ok(());
    }
    let updates: Vec<_> = plan.updates().collect();
    bind_messages(sql(INSERT), plan).run(&mut *db).await?;
    sql(TOUCH)
        .bind_list(updates.iter().map(|(id, ..)| *id))
        .bind_list(updates.iter().map(|(_, last_seq, _)| *last_seq))
        .bind_list(updates.iter().map(|(.., at)| *at))
        .run(db)
        .await
        .map(drop)
}

fn bind_messages(statement: Statement, plan: &AppendPlan) -> Statement {
    let planned = || plan.messages.iter();
    statement
        .bind_list(planned().map(|one| one.session))
        .bind_list(planned().map(|one| one.seq))
        .bind_list(planned().map(|one| one.message.id.clone()))
        .bind_list(planned().map(|one| one.message.role))
        .bind_list(planned().map(|one| one.message.recorded))
        .bind_list(planned().map(|one| one.message.created_at))
        .bind_list(planned().map(|one| one.checksum))
        .bind_list(planned().map(|one| one.message.raw.clone()))
}
