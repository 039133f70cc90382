//! What happened in a session, collected message by message.
//!
//! Deterministic and incremental: each message is read once, in order. Facts always come from history, never from a summary
//! that bethink made, so repeated compactions lose nothing. Notes, summaries, search snippets and fidelity all use these facts.

mod calls;
pub mod choice;
mod client_state;
pub mod commands;
pub mod decisions;
pub mod files;
mod middle;
pub mod names;
pub mod need;
mod patch;
mod places;
pub mod prose;
mod recent;
pub mod rows;
pub mod said;
mod searches;
pub mod symbols;
mod tools;
mod written;

use std::collections::HashSet;
use std::sync::Arc;

use bethink_transcript::text::beginning;
use bethink_transcript::todos::{self, Todo, TodoStatus};
use bethink_transcript::{BlockKind, Message, Role, Seq, ToolKind, UnixMicros};

pub use calls::subject;
pub use client_state::{BackgroundAgent, ClientState, NamedText, ProposedPlan, UsedFile};
pub use commands::{CommandFact, CommandPurpose};
pub use decisions::StatedDecision;
pub use files::{EditKind, FileFact, Symbol};
pub use middle::without_middle;
pub use names::{NameUse, Names, RankedName};
pub use need::NeedMoment;
pub use places::SeenDefinition;
pub use said::{RecordedStatement, SaidKind, readable};
pub use searches::{FoundFile, SearchFact};
pub use tools::{Action, KnownTools, ToolFailure};
pub use written::WrittenLine;

use names::Voice;
use recent::forget_oldest;

/// Everything that is known about a session up to one message.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The newest message that was read.
    pub through: Seq,
    pub names: Names,
    /// The user's words, oldest first.
    pub user: Vec<RecordedStatement>,
    /// The assistant's words, oldest first; only the beginning of each text is kept.
    pub assistant: Vec<RecordedStatement>,
    /// Reports of agents that the assistant started, oldest first. The question of each report is the agent's task.
    pub reports: Vec<RecordedStatement>,
    /// The newest summary of an earlier session that a client wrote in the user's name.
    pub handover: Option<RecordedStatement>,
    /// Decisions, oldest first.
    pub decisions: Vec<StatedDecision>,
    pub tools: KnownTools,
    pub todos: Vec<Todo>,
    /// The message that last changed the todo list.
    pub todos_at: Seq,
    /// The newest plan that was shown to the user.
    pub plan: Option<RecordedStatement>,
    pub client: ClientState,
}

/// Maximum size of a kept assistant text, in bytes: its beginning says what matters.
const ASSISTANT_BYTES: usize = 4_000;
const STATEMENTS: usize = 160;
/// Maximum number of messages between what the assistant says and the call that it is about.
const WHY_MESSAGES: u64 = 3;
/// Maximum size of an agent's report, in bytes, and number of reports kept.
const REPORT_BYTES: usize = 4_000;
const REPORTS: usize = 24;
/// Maximum size of an earlier session's summary, in bytes.
const HANDOVER_BYTES: usize = 40_000;
const DECISIONS: usize = 300;
/// Maximum size of a kept plan, in bytes.
const PLAN_BYTES: usize = 6_000;

impl Facts {
    /// Reads the next message. Reading a message again has no effect.
    pub fn observe(&mut self, message: &Message) {
        if message.seq <= self.through {
            return;
        }
        self.through = message.seq;
        if todos::apply(&mut self.todos, message).is_some() {
            self.todos_at = message.seq;
        }
        match message.role {
            Role::User => self.observe_user(message),
            Role::Assistant => self.observe_assistant(message),
        }
    }

    /// Reads a prompt that was queued while the assistant was working and that is not part of a message.
    pub fn observe_queued(&mut self, seq: Seq, text: &str, at: UnixMicros) {
        if seq > self.through {
            self.through = seq;
            if let Some(said) = said::by_user(seq, text, None) {
                self.user_said(RecordedStatement { at, ..said }, text);
            }
        }
    }

    fn observe_user(&mut self, message: &Message) {
        let (seq, at) = (message.seq, message.created_at);
        for block in &message.blocks {
            match &block.kind {
                BlockKind::Text => {
                    let text = block.text();
                    if message.is_instruction {
                        self.client.instruction(&text, seq);
                        self.names.observe(&text, seq, Voice::Seen);
                        continue;
                    }
                    self.client.user_text(&text, seq);
                    match said::by_user(seq, &text, self.said_before(seq)) {
                        Some(said) => self.user_said(RecordedStatement { at, ..said }, &text),
                        None => self.names.observe(&text, seq, Voice::Seen),
                    }
                }
                BlockKind::ToolResult { tool_use_id, is_error } => {
                    let text = block.text();
                    self.names.observe(&text, seq, Voice::Seen);
                    if let Some(task) = self.tools.agent_task(tool_use_id) {
                        self.report(seq, &text, task);
                    }
                    self.tools.result(tool_use_id, *is_error, &text, seq);
                    self.client.result(tool_use_id, *is_error, block, seq);
                    if let Some(said) = said::in_result(seq, &text, self.said_before(seq)) {
                        let words = said.text.clone();
                        self.user_said(RecordedStatement { at, ..said }, &words);
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns what the assistant said just before a message.
    fn said_before(&self, seq: Seq) -> Option<&RecordedStatement> {
        self.assistant.last().filter(|said| seq.0 - said.seq.0 <= 2)
    }

    fn report(&mut self, seq: Seq, text: &str, task: Arc<str>) {
        // The client adds an ID and counts for itself.
        let text = text.split_once("\nagentId: ").map_or(text, |(report, _)| report);
        let text = without_middle(text.trim(), REPORT_BYTES);
        let report =
            RecordedStatement { question: Some(task), ..RecordedStatement::new(seq, &text) };
        self.reports.push(report);
        forget_oldest(&mut self.reports, REPORTS);
    }

    /// Records a statement by the user; `whole` is the text that contains `said`.
    fn user_said(&mut self, said: RecordedStatement, whole: &str) {
        let handover = said.kind == SaidKind::Handover;
        let voice = if handover { Voice::Spoken } else { Voice::User };
        self.names.observe(whole, said.seq, voice);
        if handover {
            let text = beginning(whole.trim(), HANDOVER_BYTES);
            self.handover = Some(RecordedStatement::new(said.seq, text));
        } else {
            self.settle(decisions::in_text(said.seq, &said.text, true));
        }
        self.user.push(said);
    }

    fn observe_assistant(&mut self, message: &Message) {
        let seq = message.seq;
        self.client.answered = seq;
        for block in &message.blocks {
            match &block.kind {
                BlockKind::Text => {
                    let text = block.text();
                    self.names.observe(&text, seq, Voice::Spoken);
                    self.settle(decisions::in_text(seq, &text, false));
                    if text.trim().len() > 2 && !said::is_filler(text.trim()) {
                        self.assistant_said(seq, beginning(text.trim(), ASSISTANT_BYTES));
                    }
                }
                BlockKind::ToolUse { id, name } => {
                    // The turn continues, so the text before the call was not its conclusion.
                    self.turn_goes_on();
                    let input = block.input();
                    let near = |said: &&RecordedStatement| seq.0 - said.seq.0 <= WHY_MESSAGES;
                    let why = self.assistant.last().filter(near);
                    self.tools.call(id, name, input, seq, why);
                    self.client.call(id, name, input, seq);
                    let text = readable(input);
                    self.names.observe(&text, seq, Voice::Spoken);
                    let is_plan = ToolKind::of(name) == Some(ToolKind::PlanEnd);
                    if is_plan && !text.trim().is_empty() {
                        let plan = without_middle(text.trim(), PLAN_BYTES);
                        self.plan = Some(RecordedStatement::new(seq, &plan));
                    }
                }
                _ => {}
            }
        }
        if self.assistant.len() > 2 * STATEMENTS {
            self.assistant.drain(..self.assistant.len() - STATEMENTS);
        }
    }

    /// Records that what the assistant last said in this turn was not its conclusion.
    fn turn_goes_on(&mut self) {
        let heard = self.user.last().map_or(Seq::ZERO, |said| said.seq);
        if let Some(said) = self.assistant.last_mut().filter(|said| said.seq > heard) {
            said.ends_turn = false;
        }
    }

    fn assistant_said(&mut self, seq: Seq, text: &str) {
        self.turn_goes_on();
        let said = RecordedStatement::new(seq, text);
        self.assistant.push(RecordedStatement { ends_turn: true, ..said });
    }

    fn settle(&mut self, found: Vec<StatedDecision>) {
        self.decisions.extend(found);
        forget_oldest(&mut self.decisions, DECISIONS);
    }

    /// Uses the todo list that a client set when `after` was the newest message. A later call of the agent replaces
    /// it.
    pub fn set_todos(&mut self, todos: &[Todo], after: Seq) {
        if after >= self.todos_at {
            self.todos = todos.to_vec();
            self.todos_at = after;
        }
    }

    /// Returns the user's newest statement, if it came after the last change of the todo list.
    pub fn said_since_todos(&self) -> Option<&RecordedStatement> {
        self.user.last().filter(|said| said.seq > self.todos_at)
    }

    /// Returns the todo to continue with: the one in progress, or the first pending one.
    pub fn next_todo(&self) -> Option<&Todo> {
        let with = |status| self.todos.iter().find(|todo| todo.status == status);
        with(TodoStatus::InProgress).or_else(|| with(TodoStatus::Pending))
    }

    /// Returns the current situation, from which the need for names is predicted.
    pub fn moment(&self) -> NeedMoment<'_> {
        let mut open = HashSet::new();
        let unfixed = self.tools.failures.iter().rev().take(8).filter(|f| f.fixed.is_none());
        for failure in unfixed {
            names::names_in(&failure.error, &mut open);
            names::names_in(&failure.call, &mut open);
        }
        for todo in self.todos.iter().filter(|todo| todo.status != TodoStatus::Completed) {
            names::names_in(&todo.content, &mut open);
        }
        for said in self.assistant.iter().rev().take(2).chain(self.user.last()) {
            names::names_in(&said.text, &mut open);
        }
        let files = self.tools.files();
        let role = |edited: bool| {
            files.iter().filter(move |f| (f.edits > 0) == edited).map(FileFact::name).collect()
        };
        NeedMoment {
            now: self.through,
            open,
            edited: role(true),
            read: role(false),
            words: self.words_in_use(),
        }
    }

    /// Returns the words of the names that the newest messages used.
    fn words_in_use(&self) -> HashSet<String> {
        const NEWEST: u64 = 16;
        let mut words = HashSet::new();
        let since = self.through.0.saturating_sub(NEWEST);
        for (name, _) in self.names.iter().filter(|(_, used)| used.last_spoken.0 > since) {
            need::for_each_word(name, |word| {
                words.insert(word.to_owned());
            });
        }
        words
    }

    /// Returns the approximate size in memory, in bytes.
    pub fn weight(&self) -> usize {
        let said: usize = self.user.iter().chain(&self.assistant).map(|s| s.text.len() + 64).sum();
        let settled: usize = self.decisions.iter().map(|d| d.text.len() + 40).sum();
        let written = self.tools.files().iter().flat_map(FileFact::written);
        let written: usize = written.map(|line| line.text.len() + 24).sum();
        said + settled
            + written
            + self.names.len() * 128
            + self.tools.files().len() * 400
            + self.client.weight()
    }
}
