//! Plans appends: which messages are new, and which places they get. A store fills in what it has stored, asks for the
//! place of each message, and then writes the plan.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use bethink_store::{
    Append, AppendResult, NewMessage, NewRecord, Receipt, StoreError, StoreResult, StoredReceipt,
};
use bethink_transcript::{MessageId, Seq, SessionId, UnixMicros};
use serde::{Deserialize, Serialize};

use crate::checksum::{checksum, facts};
use crate::columns::{ROLES, not_found, number_in};
use crate::receipts::reused;
use crate::records::write_json;

/// What is stored already, and what to write.
#[derive(Debug, Default)]
pub struct AppendPlan {
    /// The last message of each session, with the planned ones.
    pub sessions: HashMap<SessionId, Seq>,
    pub stored: HashMap<(SessionId, MessageId), Seq>,
    pub receipts: HashMap<String, StoredReceipt>,
    pub messages: Vec<PlannedMessage>,
    /// The time of the newest write to each session.
    pub touched: HashMap<SessionId, UnixMicros>,
    pub new_receipts: Vec<NewReceipt>,
}

/// A message with its place.
#[derive(Debug)]
pub struct PlannedMessage {
    pub session: SessionId,
    pub seq: Seq,
    pub message: NewMessage,
    pub checksum: i64,
}

#[derive(Debug)]
pub struct NewReceipt {
    pub receipt: Receipt,
    pub answer: String,
    pub at: UnixMicros,
}

/// The answer to an append, in the form in which it is stored with its receipt.
#[derive(Serialize, Deserialize)]
struct KeptAnswer {
    appended_to: SessionId,
    places: Vec<(Seq, bool)>,
    last_seq: Seq,
}

impl AppendPlan {
    pub fn append(&mut self, append: &Append) -> StoreResult<AppendResult> {
        if let Some(receipt) = &append.receipt
            && let Some(stored) = self.receipts.get(&receipt.key)
        {
            return repeated(append.session, receipt, stored);
        }
        let (session, at) = (append.session, append.at);
        if append.only_new {
            let stored: Vec<_> = self.stored_already(append).collect();
            if !stored.is_empty() {
                return Err(StoreError::AlreadyStored(stored));
            }
        }
        let places = append.messages.iter().map(|message| self.place(session, message, at));
        let places = places.collect::<StoreResult<Vec<_>>>()?;
        let last_seq = self.sessions.get(&session).copied();
        let last_seq = last_seq.ok_or_else(|| not_found("session", session))?;
        if let Some(receipt) = &append.receipt {
            let kept = KeptAnswer { appended_to: session, places: places.clone(), last_seq };
            let answer = write_json(&kept);
            let fingerprint = receipt.fingerprint.clone();
            let stored = StoredReceipt { fingerprint, answer: answer.clone() };
            self.receipts.insert(receipt.key.clone(), stored);
            self.new_receipts.push(NewReceipt { receipt: receipt.clone(), answer, at });
        }
        Ok(AppendResult { places, last_seq, repeated: false })
    }

    /// Returns the messages that are stored, each with its number in the request and its seq.
    fn stored_already(&self, append: &Append) -> impl Iterator<Item = (usize, Seq)> {
        append.messages.iter().enumerate().filter_map(|(number, message)| {
            Some((number, *self.stored.get(&(append.session, message.id.clone()))?))
        })
    }

    /// Returns the seq of the message, and whether it is new.
    pub fn place(
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
        let facts = facts(number_in(&ROLES, role), i64::from(*recorded), created_at.0);
        let checksum = checksum(session, last_seq.0, id.as_str(), &[raw, &facts]);
        let (seq, message) = (*last_seq, message.clone());
        self.messages.push(PlannedMessage { session, seq, message, checksum });
        let touched = self.touched.entry(session).or_insert(at);
        *touched = at.max(*touched);
        Ok((seq, true))
    }

    /// Returns the sessions to update, each with its last message and the time of the write.
    pub fn updates(&self) -> impl Iterator<Item = (SessionId, Seq, UnixMicros)> {
        self.touched.iter().map(|(id, at)| (*id, self.sessions[id], *at))
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

/// Returns why lines cannot be stored.
pub fn stored_already(session: SessionId, records: &[NewRecord]) -> String {
    let first = records.first().map_or(0, |record| record.line);
    let last = records.last().map_or(0, |record| record.line);
    format!(
        "session {session} already contains one of the lines {first} to {last}; \
         continue after the last line that the job has stored"
    )
}
