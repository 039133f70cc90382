//! What an append will write, decided before anything is written: a request that must be refused is
//! refused here, alone, and what is left can only fail as the disk fails.

use std::collections::HashMap;

use bethink_store::{
    Append, Appended, ImportedMessage, NewMessage, Result, StoreError, StoredReceipt,
};
use bethink_transcript::{MessageId, Role, Seq, SessionId, UnixMicros};
use serde::{Deserialize, Serialize};

use crate::convert::not_found;
use crate::hot::Hot;

/// What the database had to be asked.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Messages that are stored already, of those that were asked about.
    pub(crate) stored: HashMap<(SessionId, MessageId), Seq>,
    pub(crate) receipts: HashMap<String, StoredReceipt>,
}

#[derive(Debug)]
pub(crate) struct Row<'a> {
    pub(crate) number: i64,
    pub(crate) session: SessionId,
    pub(crate) seq: Seq,
    pub(crate) message: Incoming<'a>,
}

/// A message to be placed, appended or imported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming<'a> {
    pub(crate) id: &'a MessageId,
    pub(crate) role: Role,
    pub(crate) raw: &'a [u8],
    pub(crate) created_at: UnixMicros,
    /// It came in an imported file.
    pub(crate) recorded: bool,
}

#[derive(Debug)]
pub(crate) struct Touched {
    pub(crate) session: SessionId,
    pub(crate) last_seq: Seq,
    pub(crate) at: UnixMicros,
}

#[derive(Debug)]
pub(crate) struct ReceiptRow {
    pub(crate) key: String,
    pub(crate) stored: StoredReceipt,
    pub(crate) at: UnixMicros,
}

/// The answer to an append as it is kept under its receipt.
#[derive(Serialize, Deserialize)]
struct KeptAnswer {
    appended_to: SessionId,
    places: Vec<(Seq, bool)>,
    last_seq: Seq,
}

pub(crate) struct Plan<'a> {
    hot: &'a mut Hot,
    facts: Facts,
    newest: i64,
    placed: HashMap<(SessionId, &'a MessageId), Seq>,
    pub(crate) rows: Vec<Row<'a>>,
    pub(crate) touched: Vec<Touched>,
    pub(crate) receipts: Vec<ReceiptRow>,
}

impl<'a> Plan<'a> {
    /// `newest` is the number of the newest message of the database.
    pub(crate) fn new(hot: &'a mut Hot, facts: Facts, newest: i64) -> Self {
        Self {
            hot,
            facts,
            newest,
            placed: HashMap::new(),
            rows: Vec::new(),
            touched: Vec::new(),
            receipts: Vec::new(),
        }
    }

    pub(crate) fn newest(&self) -> i64 {
        self.newest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.receipts.is_empty()
    }

    pub(crate) fn append(&mut self, append: &'a Append) -> Result<Appended> {
        if let Some(answer) = self.repeated(append)? {
            return Ok(answer);
        }
        let session = append.session;
        if self.hot.last_seq(session).is_none() {
            return Err(not_found("session", session));
        }
        let places = append
            .messages
            .iter()
            .map(|message| self.place(session, message.into(), append.at))
            .map(|place| place.map(|(seq, new, _)| (seq, new)))
            .collect::<Result<Vec<_>>>()?;
        let last_seq = self.hot.last_seq(session).unwrap_or_default();
        let answer = Appended { places, last_seq, repeated: false };
        self.keep(append, &answer);
        Ok(answer)
    }

    /// Seq of the message, whether it is new, and the number of its row if it is.
    pub(crate) fn place(
        &mut self,
        session: SessionId,
        message: Incoming<'a>,
        at: UnixMicros,
    ) -> Result<(Seq, bool, Option<i64>)> {
        if let Some(seq) = self.stored(session, message.id) {
            return Ok((seq, false, None));
        }
        let Some(seq) = self.hot.place(session, message.id) else {
            return Err(not_found("session", session));
        };
        self.newest += 1;
        let number = self.newest;
        self.placed.insert((session, message.id), seq);
        self.rows.push(Row { number, session, seq, message });
        self.touch(session, seq, at);
        Ok((seq, true, Some(number)))
    }

    fn stored(&self, session: SessionId, id: &MessageId) -> Option<Seq> {
        if let Some(seq) = self.placed.get(&(session, id)) {
            return Some(*seq);
        }
        if self.facts.stored.is_empty() {
            return None;
        }
        self.facts.stored.get(&(session, id.clone())).copied()
    }

    fn touch(&mut self, session: SessionId, last_seq: Seq, at: UnixMicros) {
        // Messages of one request come together, so the place to change is nearly always the last.
        match self.touched.iter_mut().rev().find(|touched| touched.session == session) {
            Some(touched) => {
                touched.last_seq = last_seq;
                touched.at = touched.at.max(at);
            }
            None => self.touched.push(Touched { session, last_seq, at }),
        }
    }

    fn repeated(&self, append: &Append) -> Result<Option<Appended>> {
        let Some(receipt) = &append.receipt else { return Ok(None) };
        let pending =
            self.receipts.iter().find(|row| row.key == receipt.key).map(|row| &row.stored);
        let Some(stored) = pending.or_else(|| self.facts.receipts.get(&receipt.key)) else {
            return Ok(None);
        };
        if stored.fingerprint != receipt.fingerprint {
            return Err(reused(&receipt.key));
        }
        let kept: KeptAnswer =
            serde_json::from_str(&stored.answer).map_err(|_| reused(&receipt.key))?;
        if kept.appended_to != append.session {
            return Err(reused(&receipt.key));
        }
        Ok(Some(Appended { places: kept.places, last_seq: kept.last_seq, repeated: true }))
    }

    fn keep(&mut self, append: &Append, answer: &Appended) {
        let Some(receipt) = &append.receipt else { return };
        let kept = KeptAnswer {
            appended_to: append.session,
            places: answer.places.clone(),
            last_seq: answer.last_seq,
        };
        let Ok(answer) = serde_json::to_string(&kept) else { return };
        let stored = StoredReceipt { fingerprint: receipt.fingerprint.clone(), answer };
        self.receipts.push(ReceiptRow { key: receipt.key.clone(), stored, at: append.at });
    }
}

impl<'a> From<&'a NewMessage> for Incoming<'a> {
    fn from(message: &'a NewMessage) -> Self {
        let NewMessage { id, role, raw, recorded, created_at } = message;
        Self { id, role: *role, raw, created_at: *created_at, recorded: *recorded }
    }
}

impl<'a> From<&'a ImportedMessage> for Incoming<'a> {
    fn from(message: &'a ImportedMessage) -> Self {
        let ImportedMessage { id, role, raw, created_at } = message;
        Self { id, role: *role, raw, created_at: *created_at, recorded: true }
    }
}

pub(crate) fn reused(key: &str) -> StoreError {
    StoreError::Conflict(format!(
        "the idempotency key {key} was used for another request; use a new key for each request"
    ))
}
