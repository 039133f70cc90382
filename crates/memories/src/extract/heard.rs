//! The input of an extraction: the user's statements since the last one, from turns that have ended.

use bethink_extractor::wrote_memory;
use bethink_facts::{Facts, RecordedStatement, SaidKind};
use bethink_service::{READ_BATCH, Result, parse_stored};
use bethink_store::{SeqRange, SessionRecord};
use bethink_transcript::{BlockKind, Message, Role, Seq};

use super::gate;
use crate::service::MemoryService;

/// Messages to read before the first one, for the question that a statement answers.
const BEFORE: u64 = 3;

#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) said: Vec<RecordedStatement>,
    pub(super) first: Seq,
    /// The end of the newest turn that was read.
    pub(super) through: Seq,
    /// Number of statements from turns in which the agent wrote memory itself; they are skipped.
    pub(super) by_agent: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Since {
    /// After the last extraction; without copied messages.
    #[default]
    Mark,
    /// All messages, as a person requested.
    Beginning,
}

impl MemoryService {
    /// `dir` is the project's memory directory, as an agent would name it.
    pub(super) async fn heard(
        &self,
        session: &SessionRecord,
        since: Since,
        dir: &str,
    ) -> Result<Heard> {
        let start = match since {
            Since::Beginning => Seq::ZERO,
            Since::Mark => {
                let mark = self.cx.store().extraction_mark(session.id).await?;
                mark.or(session.forked_at).unwrap_or(Seq::ZERO)
            }
        };
        // Messages from a growing transcript were said just now, although they come from a file.
        let is_live = self.cx.store().has_transcript(session.id).await?;
        let mut listener = TurnListener { dir, start, since, ..TurnListener::default() };
        let mut after = Seq(start.0.saturating_sub(BEFORE));
        loop {
            let range = SeqRange { after: Some(after), limit: READ_BATCH, ..SeqRange::all() };
            let stretch = self.cx.store().messages(session.id, range).await?;
            let Some(last) = stretch.last() else { break };
            after = last.seq;
            for stored in stretch {
                let recorded = stored.recorded && !is_live;
                listener.hear(parse_stored(stored)?, recorded);
            }
        }
        let mut heard = listener.heard;
        heard.first = heard.said.first().map_or(Seq::ZERO, |said| said.seq);
        Ok(heard)
    }
}

/// Reads messages in order, turn by turn.
#[derive(Default)]
struct TurnListener<'a> {
    dir: &'a str,
    start: Seq,
    since: Since,
    facts: Facts,
    /// Messages of the turn that is being read.
    turn: Vec<Message>,
    /// Statements before this one belong to turns that are over.
    settled: usize,
    /// Statements in the turn that is being read.
    own: Vec<RecordedStatement>,
    heard: Heard,
}

impl TurnListener<'_> {
    fn hear(&mut self, message: Message, recorded: bool) {
        if begins_turn(&message) {
            self.turn.clear();
        }
        self.facts.observe(&message);
        let is_wanted = message.seq > self.start && (!recorded || self.since == Since::Beginning);
        if is_wanted {
            let new = self.facts.user.iter().skip(self.settled);
            self.own.extend(new.filter(|said| said.kind != SaidKind::Handover).cloned());
        }
        self.settled = self.facts.user.len();
        let (seq, ends) = (message.seq, gate::ends_turn(&message));
        self.turn.push(message);
        if ends && seq > self.start {
            self.settle(seq);
        }
    }

    /// The assistant's turn is over. Its statements count in `by_agent` if the agent wrote memory itself, and
    /// are added to `said` otherwise.
    fn settle(&mut self, seq: Seq) {
        self.heard.through = seq;
        let own = std::mem::take(&mut self.own);
        if wrote_memory(&self.turn, self.dir) {
            self.heard.by_agent += own.len();
        } else {
            self.heard.said.extend(own);
        }
    }
}

/// Whether the message is from the user, not a tool result.
fn begins_turn(message: &Message) -> bool {
    let mut blocks = message.blocks.iter();
    message.role == Role::User && blocks.any(|block| matches!(block.kind, BlockKind::Text))
}
