//! Appends are planned and written in groups. If a request is invalid, only that request is rejected; the others still
//! succeed.
//!
//! Each statement is sent to the connection's thread, which costs more than inserting a row. The rows of a group are
//! therefore sent as one JSON array, their bytes as one blob, and the whole transaction as one string. If the writer
//! knows the length of each session, it makes no query first: the table rejects a message that is already stored, and
//! only then does the writer query. A single message is sent as it is.

use std::collections::HashMap;
use std::sync::LazyLock;

use bethink_store::{Append, AppendResult, NewMessage, StoreResult};
use bethink_store_format::{AppendPlan, PlannedMessage, oldest_kept};
use bethink_transcript::{MessageId, Seq, SessionId, UnixMicros};
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use crate::error::fails_all;
use crate::receipts;
use crate::sql::{Column, Statement, hex, sql};
use crate::writer::{Answer, roll_back};

/// Finds, for each given message, the end of its session, and its seq if it is already stored.
const FACTS: &str = "
    SELECT sessions.id, sessions.last_seq, messages.message_id, messages.seq
    FROM json_each(?) AS asked
    CROSS JOIN sessions
      ON sessions.id = unhex(asked.value ->> 0)
    LEFT JOIN messages
      ON messages.session = sessions.id
     AND messages.message_id = asked.value ->> 1";

/// `coalesce` is needed because `substr` of an empty blob is NULL.
const INSERT: &str = "
    INSERT INTO messages (session, seq, message_id, role, recorded, created_at, checksum, raw)
    SELECT unhex(value ->> 0), value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5,
           value ->> 6, coalesce(substr(?, value ->> 7, value ->> 8), x'')
    FROM json_each(?);

    UPDATE sessions
    SET last_seq = touched.value ->> 1,
        updated_at = max(updated_at, touched.value ->> 2),
        seal = seal
             + 1000003 * ((touched.value ->> 1) - last_seq)
             + max(updated_at, touched.value ->> 2) - updated_at
    FROM json_each(?) AS touched
    WHERE sessions.id = unhex(touched.value ->> 0);";

/// The transaction of a single message, which most appends have. It needs neither JSON nor temporary tables.
const APPEND_ONE: &str = "
    BEGIN IMMEDIATE;

    INSERT INTO messages (session, seq, message_id, role, recorded, created_at, checksum, raw)
    VALUES (?1, ?2, ?4, ?5, ?6, ?7, ?8, ?9);

    UPDATE sessions
    SET last_seq = ?2,
        updated_at = max(updated_at, ?3),
        seal = seal + 1000003 * (?2 - last_seq) + max(updated_at, ?3) - updated_at
    WHERE id = ?1;

    COMMIT;";

/// The transactions of a group without receipts, and of a group with receipts. Fewer statements are better, because
/// each one wakes the writer.
static APPEND: LazyLock<[String; 2]> = LazyLock::new(|| {
    ["", receipts::KEEP].map(|keep| format!("BEGIN IMMEDIATE;{INSERT}{keep}COMMIT;"))
});

/// Maximum number of sessions whose last message the writer remembers. If there are more, it forgets all of them, and
/// queries the database again.
const MOST_ENDS: usize = 4096;

/// The last message of each session that received an append. Cleared by every other write that may change a session's
/// last message.
pub(crate) type SessionEnds = HashMap<SessionId, Seq>;

/// Answers every request of the group, after one commit for all of them.
pub(crate) async fn append_group(
    db: &mut SqliteConnection,
    ends: &mut SessionEnds,
    mut group: Vec<(Append, Answer<AppendResult>)>,
) {
    let known = std::mem::take(ends);
    let all_asked = known.is_empty();
    let error = match try_append(db, known, &group).await {
        Ok((outcomes, known)) => {
            *ends = known;
            for ((_, answer), outcome) in group.into_iter().zip(outcomes) {
                // If the caller is gone, only the answer is lost.
                let _ = answer.send(outcome);
            }
            return;
        }
        Err(error) => error,
    };
    roll_back(db, &error).await;
    if fails_all(&error) || (all_asked && group.len() == 1) {
        for (_, answer) in group {
            let _ = answer.send(Err(error.clone()));
        }
        return;
    }
    // A message may already be stored, or one request may be invalid: the others must not fail with it.
    let size = if all_asked { 1 } else { group.len() };
    while !group.is_empty() {
        let rest = group.split_off(size.min(group.len()));
        ends.clear();
        Box::pin(append_group(db, ends, std::mem::replace(&mut group, rest))).await;
    }
}

async fn try_append(
    db: &mut SqliteConnection,
    known: SessionEnds,
    group: &[(Append, Answer<AppendResult>)],
) -> StoreResult<(Vec<StoreResult<AppendResult>>, SessionEnds)> {
    let appends = || group.iter().map(|(append, _)| append);
    let mut plan = AppendPlan { sessions: known, ..AppendPlan::default() };
    if !appends().all(|append| plan.sessions.contains_key(&append.session)) {
        let mut asked = Vec::with_capacity(2 * group.len());
        for append in appends() {
            asked.push((append.session, None));
            asked.extend(append.messages.iter().map(|message| (append.session, Some(&message.id))));
        }
        ask(&mut plan, db, asked).await?;
    }
    let keys = appends().filter_map(|append| Some(append.receipt.as_ref()?.key.as_str()));
    plan.receipts = receipts::find(db, keys.collect()).await?;
    let outcomes = appends().map(|append| plan.append(append)).collect();
    let receipts = std::mem::take(&mut plan.new_receipts);
    let is_one = plan.messages.len() == 1 && receipts.is_empty();
    if is_one && let Some(planned) = plan.messages.pop() {
        let touched = plan.touched[&planned.session];
        bind_one(planned, touched).run(db).await?;
    } else if !plan.messages.is_empty() || !receipts.is_empty() {
        let mut append = bind(&plan, sql(APPEND[usize::from(!receipts.is_empty())].as_str()));
        if let Some(newest) = receipts.iter().map(|new| new.at).max() {
            let rows =
                receipts.iter().map(|new| receipts::new_row(&new.receipt, &new.answer, new.at));
            append =
                append.bind(Value::Array(rows.collect()).to_string()).bind(oldest_kept(newest));
        }
        append.run(db).await?;
    }
    let mut ends = plan.sessions;
    if ends.len() > MOST_ENDS {
        ends.clear();
    }
    Ok((outcomes, ends))
}

/// Finds the sessions, and which messages are already stored.
pub(crate) async fn ask(
    plan: &mut AppendPlan,
    db: &mut SqliteConnection,
    messages: Vec<(SessionId, Option<&MessageId>)>,
) -> StoreResult<()> {
    let asked: Vec<_> = messages.into_iter().map(|(session, id)| (hex(session), id)).collect();
    let facts = sql(FACTS).bind(json!(asked).to_string());
    let read = |row: &crate::sql::Row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    for (session, last_seq, id, seq) in facts.all(db, read).await? {
        plan.sessions.insert(session, last_seq);
        if let (Some(id), Some(seq)) = (id, seq) {
            plan.stored.insert((session, id), seq);
        }
    }
    Ok(())
}

/// Writes the messages as a part of a transaction.
pub(crate) async fn write(plan: &AppendPlan, db: &mut SqliteConnection) -> StoreResult<()> {
    bind(plan, sql(INSERT)).run(db).await.map(drop)
}

fn bind(plan: &AppendPlan, statement: Statement) -> Statement {
    let mut bytes = Vec::new();
    let rows = plan.messages.iter().map(|planned| {
        let PlannedMessage { session, seq, message, checksum } = planned;
        let NewMessage { id, role, raw, recorded, created_at } = message;
        let (start, length) = join(&mut bytes, raw);
        let (session, role) = (hex(*session), role.store());
        json!([session, seq, id, role, recorded, created_at.0, checksum, start, length])
    });
    let rows = Value::Array(rows.collect());
    let touched = plan.updates().map(|(id, last_seq, at)| json!([hex(id), last_seq, at.0]));
    let touched = Value::Array(touched.collect());
    statement.bind(bytes).bind(rows.to_string()).bind(touched.to_string())
}

/// Binds the parameters of [`APPEND_ONE`].
fn bind_one(planned: PlannedMessage, touched: UnixMicros) -> Statement {
    let PlannedMessage { session, seq, message, checksum } = planned;
    let NewMessage { id, role, raw, recorded, created_at } = message;
    let one = sql(APPEND_ONE).bind(session).bind(seq).bind(touched).bind(id).bind(role);
    one.bind(recorded).bind(created_at).bind(checksum).bind(raw)
}

/// Appends the bytes of a row. Returns where they begin, counted from 1 as `substr` does, and their length.
pub(crate) fn join(all: &mut Vec<u8>, bytes: &[u8]) -> (usize, usize) {
    let start = all.len() + 1;
    all.extend_from_slice(bytes);
    (start, bytes.len())
}
