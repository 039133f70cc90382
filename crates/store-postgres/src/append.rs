//! Appends are planned and written in groups. If a request is invalid, only that request is rejected; the others still
//! succeed.
//!
//! The transaction locks the rows of its sessions first, so what it then finds stays true until its commit, whatever other
//! processes do.

use std::collections::HashMap;

use bethink_store::{Append, AppendResult, StoreError, StoreResult};
use bethink_store_format::AppendPlan;
use bethink_transcript::{MessageId, SessionId};
use sqlx::PgConnection;

use crate::connections::{ConnectionQueue, commit};
use crate::error::fails_all;
use crate::locks::{self, Lock};
use crate::sessions::LockedSessions;
use crate::sql::{Row, sql};
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

/// Answers every request of the group, after one commit for all of them.
pub(crate) async fn append_group(
    connections: &ConnectionQueue,
    mut group: Vec<(Append, Answer<AppendResult>)>,
) {
    if group.is_empty() {
        return;
    }
    match append_all(connections, &group).await {
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
                Box::pin(append_group(connections, std::mem::replace(&mut group, rest))).await;
            }
        }
    }
}

async fn append_all(
    connections: &ConnectionQueue,
    group: &[(Append, Answer<AppendResult>)],
) -> StoreResult<Vec<StoreResult<AppendResult>>> {
    let mut connection = connections.get().await?;
    let mut transaction = connections.begin(&mut connection).await?;
    let outcomes = append(&mut transaction, group.iter().map(|(append, _)| append)).await?;
    commit(transaction).await?;
    Ok(outcomes)
}

async fn append(
    db: &mut PgConnection,
    appends: impl Iterator<Item = &Append> + Clone,
) -> StoreResult<Vec<StoreResult<AppendResult>>> {
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
    let new_receipts = std::mem::take(&mut plan.new_receipts);
    write(plan, db).await?;
    receipts::add(db, new_receipts).await?;
    Ok(outcomes)
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
pub(crate) async fn write(plan: AppendPlan, db: &mut PgConnection) -> StoreResult<()> {
    if plan.messages.is_empty() {
        return Ok(());
    }
    let updates: Vec<_> = plan.updates().collect();
    let planned = || plan.messages.iter();
    sql(INSERT)
        .bind_list(planned().map(|one| one.session))
        .bind_list(planned().map(|one| one.seq))
        .bind_list(planned().map(|one| one.message.id.clone()))
        .bind_list(planned().map(|one| one.message.role))
        .bind_list(planned().map(|one| one.message.recorded))
        .bind_list(planned().map(|one| one.message.created_at))
        .bind_list(planned().map(|one| one.checksum))
        .bind_list(planned().map(|one| one.message.raw.clone()))
        .run(&mut *db)
        .await?;
    sql(TOUCH)
        .bind_list(updates.iter().map(|(id, ..)| *id))
        .bind_list(updates.iter().map(|(_, last_seq, _)| *last_seq))
        .bind_list(updates.iter().map(|(.., at)| *at))
        .run(db)
        .await
        .map(drop)
}
