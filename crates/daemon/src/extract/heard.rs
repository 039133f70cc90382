//! What an extraction looks at: the user's statements since the last one, of turns that have ended.

use bethink_extractor::wrote_memory;
use bethink_facts::{Facts, Said, SaidKind};
use bethink_store::{Kept, SeqRange, Session};
use bethink_transcript::{BlockKind, Message, Role, Seq, SessionId};

use super::{MARK, gate};
use crate::hot::{STRETCH, parsed};
use crate::{Daemon, Result};

/// Messages before the first that is looked at, for the question that a statement answers.
const BEFORE: u64 = 3;

/// Statements and where they stand.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) said: Vec<Said>,
    pub(super) first: Seq,
    /// The end of the newest turn that was looked at.
    pub(super) through: Seq,
    /// Statements of turns in which the agent wrote memory itself; they are passed over.
    pub(super) by_agent: usize,
}

/// Where to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// After what was looked at before; nothing that was copied in.
    Mark,
    /// A person asks for all of it.
    Beginning,
}

impl Daemon {
    /// `dir` is the project's memory directory, as an agent would name it.
    pub(super) async fn heard(&self, session: &Session, since: Since, dir: &str) -> Result<Heard> {
        let start = match since {
            Since::Beginning => Seq::ZERO,
            Since::Mark => self.mark(session.id).await?.or(session.forked_at).unwrap_or(Seq::ZERO),
        };
        // What a transcript brings as it grows was said now, though it came in a file.
        let is_live = self.is_followed(session.id).await?;
        let mut listener = Listener { dir, start, since, ..Listener::new() };
        let mut after = Seq(start.0.saturating_sub(BEFORE));
        loop {
            let range = SeqRange { after: Some(after), limit: STRETCH, ..SeqRange::all() };
            let stretch = self.store().messages(session.id, range).await?;
            let Some(last) = stretch.last() else { break };
            after = last.seq;
            for stored in stretch {
                let recorded = stored.recorded && !is_live;
                listener.hear(parsed(stored)?, recorded);
            }
        }
        Ok(listener.end())
    }

    pub(super) async fn mark(&self, id: SessionId) -> Result<Option<Seq>> {
        let kept = self.store().kept(MARK.to_owned(), id.to_string()).await?;
        Ok(kept.first().and_then(|kept| kept.value.parse().ok()).map(Seq))
    }

    pub(super) async fn set_mark(&self, id: SessionId, through: Seq) -> Result<()> {
        let kept = Kept {
            space: MARK.to_owned(),
            owner: id.to_string(),
            key: "through".to_owned(),
            value: through.0.to_string(),
            at: self.now(),
        };
        Ok(self.store().keep(kept).await?)
    }
}

/// Reads messages in order, turn by turn.
struct Listener<'a> {
    dir: &'a str,
    start: Seq,
    since: Since,
    facts: Facts,
    /// Messages of the turn that is being read.
    turn: Vec<Message>,
    /// Statements before this one belong to turns that are over.
    settled: usize,
    /// Statements of ours in the turn that is being read.
    own: Vec<Said>,
    heard: Heard,
}

impl Listener<'_> {
    fn new() -> Self {
        Listener {
            dir: "",
            start: Seq::ZERO,
            since: Since::Mark,
            facts: Facts::default(),
            turn: Vec::new(),
            settled: 0,
            own: Vec::new(),
            heard: Heard::default(),
        }
    }

    fn hear(&mut self, message: Message, recorded: bool) {
        if begins_turn(&message) {
            self.turn.clear();
        }
        self.facts.observe(&message);
        let is_wanted = message.seq > self.start && (!recorded || self.since == Since::Beginning);
        let new = self
            .facts
            .user
            .iter()
            .skip(self.settled)
            .filter(|said| said.kind != SaidKind::Handover);
        if is_wanted {
            self.own.extend(new.cloned());
        }
        self.settled = self.facts.user.len();
        let (seq, ends) = (message.seq, gate::ends_turn(&message));
        self.turn.push(message);
        if ends && seq > self.start {
            self.settle(seq);
        }
    }

    /// The assistant had its last word: what was said before it is the turn's.
    fn settle(&mut self, seq: Seq) {
        self.heard.through = seq;
        let own = std::mem::take(&mut self.own);
        if wrote_memory(&self.turn, self.dir) {
            self.heard.by_agent += own.len();
        } else {
            self.heard.said.extend(own);
        }
    }

    fn end(mut self) -> Heard {
        self.heard.first = self.heard.said.first().map_or(Seq::ZERO, |said| said.seq);
        self.heard
    }
}

/// The user says something, rather than that a tool answers.
fn begins_turn(message: &Message) -> bool {
    let mut blocks = message.blocks.iter();
    message.role == Role::User && blocks.any(|block| matches!(block.kind, BlockKind::Text))
}
