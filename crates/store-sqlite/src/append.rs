//! Appends are planned and written in groups. If a request is invalid, only that request is rejected; the others still
//! succeed.
//!
//! Each statement is sent to the connection's thread, which costs more than inserting a row. The rows of a group are
//! therefore sent as one JSON array, their bytes as one blob, and the whole transaction as one string. If the writer
//! knows the length of each session, it makes no query first: the table rejects a message that is already stored, and
//! only then does the writer query. A single message is sent as it is.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::LazyLock;

use bethink_store::{Append, AppendResult, NewMessage, Receipt, StoreResult, StoredReceipt};
use bethink_transcript::{MessageId, Seq, SessionId, UnixMicros};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use crate::checksum::{checksum, facts};
use crate::error::fails_all;
use crate::receipts::{self, reused};
use crate::sql::{Column, Statement, hex, not_found, sql};
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

/// The answer to an append as it is stored with its receipt.
#[derive(Serialize, Deserialize)]
struct KeptAnswer {
    appended_to: SessionId,
    places: Vec<(Seq, bool)>,
    last_seq: Seq,
}

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
    let mut plan = WritePlan { sessions: known, ..WritePlan::default() };
    if !appends().all(|append| plan.sessions.contains_key(&append.session)) {
        let mut asked = Vec::with_capacity(2 * group.len());
        for append in appends() {
            asked.push((append.session, None));
            asked.extend(append.messages.iter().map(|message| (append.session, Some(&message.id))));
        }
        plan.ask(db, asked).await?;
    }
    let keys = appends().filter_map(|append| Some(append.receipt.as_ref()?.key.as_str()));
    plan.receipts = receipts::find(db, keys.collect()).await?;
    let outcomes = appends().map(|append| plan.append(append)).collect();
    let receipts = std::mem::take(&mut plan.new_receipts);
    let is_one = plan.rows.len() == 1 && receipts.is_empty();
    if is_one && let Some(row) = plan.rows.pop() {
        let touched = plan.touched[&row.session];
        row.bind_one(touched, std::mem::take(&mut plan.raw)).run(db).await?;
    } else if !plan.rows.is_empty() || !receipts.is_empty() {
        let mut append = plan.bind(sql(APPEND[usize::from(!receipts.is_empty())].as_str()));
        if let Some(newest) = plan.newest_receipt {
            let forget = receipts::oldest_kept(newest);
            append = append.bind(Value::Array(receipts).to_string()).bind(forget);
        }
        append.run(db).await?;
    }
    let mut ends = plan.sessions;
    if ends.len() > MOST_ENDS {
        ends.clear();
    }
    Ok((outcomes, ends))
}

/// A planned write of messages: what is stored already, and what to write.
#[derive(Default)]
pub(crate) struct WritePlan {
    sessions: SessionEnds,
    stored: HashMap<(SessionId, MessageId), Seq>,
    receipts: HashMap<String, StoredReceipt>,
    rows: Vec<NewRow>,
    /// The bytes of all rows.
    raw: Vec<u8>,
    /// The time of the newest write to each session.
    touched: HashMap<SessionId, UnixMicros>,
    new_receipts: Vec<Value>,
    newest_receipt: Option<UnixMicros>,
}

impl WritePlan {
    /// Finds the sessions, and which messages are already stored.
    pub(crate) async fn ask(
        &mut self,
        db: &mut SqliteConnection,
        messages: Vec<(SessionId, Option<&MessageId>)>,
    ) -> StoreResult<()> {
        let asked: Vec<_> = messages.into_iter().map(|(session, id)| (hex(session), id)).collect();
        let facts = sql(FACTS).bind(json!(asked).to_string());
        let read = |row: &crate::sql::Row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
        for (session, last_seq, id, seq) in facts.all(db, read).await? {
            self.sessions.insert(session, last_seq);
            if let (Some(id), Some(seq)) = (id, seq) {
                self.stored.insert((session, id), seq);
            }
        }
        Ok(())
    }

    fn append(&mut self, append: &Append) -> StoreResult<AppendResult> {
        if let Some(receipt) = &append.receipt
            && let Some(stored) = self.receipts.get(&receipt.key)
        {
            return repeated(append.session, receipt, stored);
        }
        let (session, at) = (append.session, append.at);
        let places = append.messages.iter().map(|message| self.place(session, message, at));
        let places = places.collect::<StoreResult<Vec<_>>>()?;
        let last_seq = self.sessions.get(&session).copied();
        let last_seq = last_seq.ok_or_else(|| not_found("session", session))?;
        if let Some(receipt) = &append.receipt {
            let kept = KeptAnswer { appended_to: session, places: places.clone(), last_seq };
            let answer = json!(kept).to_string();
            self.new_receipts.push(receipts::new_row(receipt, &answer, at));
            self.newest_receipt = self.newest_receipt.max(Some(at));
            let fingerprint = receipt.fingerprint.clone();
            self.receipts.insert(receipt.key.clone(), StoredReceipt { fingerprint, answer });
        }
        Ok(AppendResult { places, last_seq, repeated: false })
    }

    /// Returns the seq of the message, and whether it is new.
    pub(crate) fn place(
        &mut self,
        session: SessionId,
        message: &NewMessage,
        at: UnixMicros,
    ) -> StoreResult<(Seq, bool)> {
        let last_seq =
            self.sessions.get_mut(&session).ok_or_else(|| not_found("session", session))?;
        let place = match self.stored.entry((session, message.id.clone())) {
            Entry::Occupied(stored) => return Ok((*stored.get(), false)),
            Entry::Vacant(place) => place,
        };
        *last_seq = last_seq.next();
        place.insert(*last_seq);
        let NewMessage { id, role, raw, recorded, created_at } = message;
        let (role, (start, length)) = (role.store(), join(&mut self.raw, raw));
        let facts = facts(role, i64::from(*recorded), created_at.0);
        let checksum = checksum(session, last_seq.0, id.as_str(), &[raw, &facts]);
        self.rows.push(NewRow {
            session,
            seq: *last_seq,
            id: id.clone(),
            role,
            recorded: *recorded,
            created_at: *created_at,
            checksum,
            start,
            length,
        });
        let touched = self.touched.entry(session).or_insert(at);
        *touched = at.max(*touched);
        Ok((*last_seq, true))
    }

    /// Writes the messages as a part of a transaction.
    pub(crate) async fn write(mut self, db: &mut SqliteConnection) -> StoreResult<()> {
        self.bind(sql(INSERT)).run(db).await.map(drop)
    }

    fn bind(&mut self, statement: Statement) -> Statement {
        let touched =
            self.touched.iter().map(|(id, at)| json!([hex(*id), self.sessions[id], at.0]));
        let touched = Value::Array(touched.collect());
        let rows = Value::Array(self.rows.iter().map(NewRow::json).collect());
        statement
            .bind(std::mem::take(&mut self.raw))
            .bind(rows.to_string())
            .bind(touched.to_string())
    }
}

/// A message to insert. Its bytes are a part of the bytes of all rows.
struct NewRow {
    session: SessionId,
    seq: Seq,
    id: MessageId,
    role: i64,
    recorded: bool,
    created_at: UnixMicros,
    checksum: i64,
    start: usize,
    length: usize,
}

impl NewRow {
    /// Binds the parameters of [`APPEND_ONE`].
    fn bind_one(self, touched: UnixMicros, raw: Vec<u8>) -> Statement {
        let one = sql(APPEND_ONE).bind(self.session).bind(self.seq).bind(touched);
        let one = one.bind(self.id).bind(self.role).bind(self.recorded);
        one.bind(self.created_at).bind(self.checksum).bind(raw)
    }

    fn json(&self) -> Value {
        let Self { session, seq, id, role, recorded, created_at, checksum, start, length } = self;
        let (session, at) = (hex(*session), created_at.0);
        json!([session, seq, id, role, recorded, at, checksum, start, length])
    }
}

fn repeated(
    session: SessionId,
    receipt: &Receipt,
    stored: &StoredReceipt,
) -> StoreResult<AppendResult> {
    let kept = serde_json::from_str::<KeptAnswer>(&stored.answer)
        .ok()
        .filter(|kept| stored.fingerprint == receipt.fingerprint && kept.appended_to == session);
    let KeptAnswer { places, last_seq, .. } = kept.ok_or_else(|| reused(&receipt.key))?;
    Ok(AppendResult { places, last_seq, repeated: true })
}

/// Appends the bytes of a row. Returns where they begin, counted from 1 as `substr` does, and their length.
pub(crate) fn join(all: &mut Vec<u8>, bytes: &[u8]) -> (usize, usize) {
    let start = all.len() + 1;
    all.extend_from_slice(bytes);
    (start, bytes.len())
}
