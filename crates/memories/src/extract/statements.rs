//! The input of an extraction: the user's statements since the last extraction, from turns that have ended.

use bethink_extractor::wrote_memory;
use bethink_facts::{Facts, RecordedStatement, SaidKind};
use bethink_service::{READ_BATCH, Result, next_batch, parse_stored};
use bethink_session_file::{LineKind, SessionFileReader, SessionLine};
use bethink_store::SessionRecord;
use bethink_transcript::{BlockKind, Message, Role, Seq, UnixMicros};

use super::gate;
use crate::service::MemoryService;

/// Number of messages to read before the first new message, to find the question that a statement answers.
const BEFORE: u64 = 3;

#[derive(Debug, Default)]
pub(super) struct NewStatements {
    pub(super) said: Vec<RecordedStatement>,
    pub(super) first: Seq,
    /// The last message of the newest turn that has ended.
    pub(super) through: Seq,
    /// Number of statements that were skipped, because the agent itself wrote memory in the same turn.
    pub(super) by_agent: usize,
    /// Whether all statements are from an imported file.
    pub(super) imported: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Since {
    /// Messages since the last extraction; in a fork, only those after the copied messages.
    #[default]
    Mark,
    /// All messages, at a person's request.
    Beginning,
}

impl MemoryService {
    /// Returns the statements to extract from. If `is_open` is set, a turn that has not ended is included. `dir` is the
    /// project's memory directory, as an agent would name it.
    pub(super) async fn new_statements(
        &self,
        session: &SessionRecord,
        since: Since,
        is_open: bool,
        dir: &str,
    ) -> Result<NewStatements> {
        let start = match since {
            Since::Beginning => Seq::ZERO,
            Since::Mark => {
                let mark = self.cx.store().extraction_mark(session.id).await?;
                mark.or(session.forked_at).unwrap_or(Seq::ZERO)
            }
        };
        // Messages from a growing transcript are new, although they come from a file.
        let is_live = self.cx.store().has_transcript(session.id).await?;
        let mut listener = TurnListener { dir, start, ..TurnListener::default() };
        let mut recorded = false;
        let mut after = Seq(start.0.saturating_sub(BEFORE));
        loop {
            let batch = self.cx.store().messages(session.id, next_batch(after)).await?;
            let Some(last) = batch.last() else { break };
            after = last.seq;
            for stored in batch {
                recorded = stored.recorded && !is_live;
                listener.hear(parse_stored(stored)?);
            }
        }
        // The last turn of an imported file will not continue.
        if (is_open || recorded) && after > start && !listener.own.is_empty() {
            listener.settle(after);
        }
        let mut new = listener.new;
        new.imported = recorded;
        if recorded {
            let queued = self.queued_prompts(session, start).await?;
            if !queued.is_empty() {
                new.through = new.through.max(after);
            }
            new.said.extend(queued);
            new.said.sort_by_key(|said| said.seq);
        }
        new.first = new.said.first().map_or(Seq::ZERO, |said| said.seq);
        Ok(new)
    }
}

impl MemoryService {
    /// Returns what the user typed in an imported session while the agent was working, after the message `start`. The client
    /// did not record this text as messages, so each statement has the position of the message before it.
    async fn queued_prompts(
        &self,
        session: &SessionRecord,
        start: Seq,
    ) -> Result<Vec<RecordedStatement>> {
        let mut queued = QueuedPrompts::default();
        let mut reader = SessionFileReader::default();
        let (mut seq, mut line) = (Seq::ZERO, 0);
        loop {
            let batch = self.cx.store().records(session.id, line, READ_BATCH).await?;
            let Some(last) = batch.last() else { break };
            line = last.line;
            for record in batch {
                match record.message {
                    Some((of, at)) if of == session.id => seq = at,
                    None if seq > start => reader.feed(record.head, |line| queued.take(line, seq)),
                    _ => {}
                }
            }
        }
        reader.finish(|line| queued.take(line, seq));
        Ok(queued.said(session.created_at))
    }
}

/// Prompts that a user typed while the agent was working.
#[derive(Default)]
struct QueuedPrompts {
    /// The statements in the prompts. Each statement's position is the number of its prompt, because several prompts
    /// may follow one message.
    facts: Facts,
    /// The message before each prompt.
    places: Vec<Seq>,
}

impl QueuedPrompts {
    fn take(&mut self, line: SessionLine, before: Seq) {
        if let LineKind::Queued { text, at } = line.kind {
            self.places.push(before);
            self.facts.observe_queued(Seq(self.places.len() as u64), &text, at);
        }
    }

    /// Returns the statements. A statement without a time counts as made at the beginning of the session.
    fn said(self, begun: UnixMicros) -> Vec<RecordedStatement> {
        let mut said = Vec::new();
        for one in self.facts.user.iter().flat_map(RecordedStatement::in_parts) {
            let number = usize::try_from(one.seq.0.saturating_sub(1)).unwrap_or(usize::MAX);
            let seq = self.places.get(number).copied().unwrap_or(one.seq);
            said.push(RecordedStatement { seq, at: UnixMicros(one.at.0.max(begun.0)), ..one });
        }
        said
    }
}

/// Reads messages in order, turn by turn.
#[derive(Default)]
struct TurnListener<'a> {
    dir: &'a str,
    start: Seq,
    facts: Facts,
    /// Messages of the current turn.
    turn: Vec<Message>,
    /// Number of statements in `facts` that have been handled.
    settled: usize,
    /// Statements of the current turn.
    own: Vec<RecordedStatement>,
    new: NewStatements,
}

impl TurnListener<'_> {
    fn hear(&mut self, message: Message) {
        if begins_turn(&message) {
            self.turn.clear();
        }
        self.facts.observe(&message);
        if message.seq > self.start {
            let said = self.facts.user.iter().skip(self.settled);
            let said = said.filter(|said| said.kind != SaidKind::Handover);
            self.own.extend(said.flat_map(RecordedStatement::in_parts));
        }
        self.settled = self.facts.user.len();
        let (seq, ends) = (message.seq, gate::ends_turn(&message));
        self.turn.push(message);
        if ends && seq > self.start {
            self.settle(seq);
        }
    }

    /// Ends the current turn. If the agent itself wrote memory in the turn, the turn's statements are only counted.
    fn settle(&mut self, seq: Seq) {
        self.new.through = seq;
        let own = std::mem::take(&mut self.own);
        if wrote_memory(&self.turn, self.dir) {
            self.new.by_agent += own.len();
        } else {
            self.new.said.extend(own);
        }
    }
}

/// Whether the message is from the user, not a tool result.
fn begins_turn(message: &Message) -> bool {
    let mut blocks = message.blocks.iter();
    message.role == Role::User && blocks.any(|block| matches!(block.kind, BlockKind::Text))
}
