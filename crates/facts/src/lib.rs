//! What happened in a session, taken from its event stream message by message.
//!
//! Deterministic and incremental: a message is read once, in order. Facts always come from history,
//! never from an earlier summary, so that generations of compactions do not thin out.

mod names;
mod said;
mod tools;

use std::collections::HashMap;

use bethink_context::todos::{self, Todo};
use bethink_transcript::{BlockKind, Message, Role, Seq};

pub use names::{NameUse, Names};
pub use said::{Said, readable, without_middle};
pub use tools::{Action, Failure, FileFact, Tools, shorten};

/// Everything that a summary draws on.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    through: Seq,
    pub names: Names,
    /// The user's words, oldest first.
    pub user: Vec<Said>,
    /// The assistant's words, oldest first, each shortened to its beginning.
    pub assistant: Vec<Said>,
    pub tools: Tools,
    pub todos: Vec<Todo>,
    /// The message that set the list.
    pub todos_at: Seq,
}

/// Of what the assistant said, so much is kept: it states its case at the beginning.
const ASSISTANT_BYTES: usize = 1_200;
/// Newest statements of the assistant that are kept.
const STATEMENTS: usize = 160;

impl Facts {
    /// Newest message that was read.
    pub fn through(&self) -> Seq {
        self.through
    }

    /// Reads the next message; one that was read before changes nothing.
    pub fn observe(&mut self, message: &Message) {
        if message.seq <= self.through {
            return;
        }
        self.through = message.seq;
        match message.role {
            Role::User => self.observe_user(message),
            Role::Assistant => self.observe_assistant(message),
        }
    }

    fn observe_user(&mut self, message: &Message) {
        for block in &message.blocks {
            match &block.kind {
                BlockKind::Text => {
                    let text = block.text();
                    if let Some(said) = said::by_user(message.seq, &text) {
                        self.names.observe(
                            &said.text,
                            message.seq,
                            names::SPOKEN,
                            self.tools.focus(),
                        );
                        self.user.push(said);
                    }
                }
                BlockKind::ToolResult { tool_use_id, is_error } => {
                    let text = block.text();
                    self.names.observe(&text, message.seq, names::SEEN, self.tools.focus());
                    self.tools.result(tool_use_id, *is_error, &text, message.seq);
                }
                _ => {}
            }
        }
    }

    fn observe_assistant(&mut self, message: &Message) {
        if let Some(todos) = todos::set_by(message) {
            self.todos = todos;
            self.todos_at = message.seq;
        }
        for block in &message.blocks {
            match &block.kind {
                BlockKind::Text => {
                    let text = block.text();
                    self.names.observe(&text, message.seq, names::SPOKEN, self.tools.focus());
                    if text.trim().len() > 2 {
                        let short =
                            bethink_context::placeholder::beginning(text.trim(), ASSISTANT_BYTES);
                        self.assistant.push(Said { seq: message.seq, text: short.into() });
                    }
                }
                BlockKind::ToolUse { id, name } => {
                    let input = block.input();
                    self.tools.call(id, name, input, message.seq);
                    self.names.observe(
                        &said::readable(input),
                        message.seq,
                        names::SPOKEN,
                        self.tools.focus(),
                    );
                }
                _ => {}
            }
        }
        if self.assistant.len() > 2 * STATEMENTS {
            self.assistant.drain(..self.assistant.len() - STATEMENTS);
        }
    }

    /// What the user said after the todo list was set, and may have changed it.
    pub fn said_since_todos(&self) -> Option<&Said> {
        self.user.last().filter(|said| said.seq > self.todos_at)
    }

    /// Bytes held in memory, near enough to budget by.
    pub fn weight(&self) -> usize {
        let said: usize = self.user.iter().chain(&self.assistant).map(|s| s.text.len() + 40).sum();
        said + self.names.len() * 96 + self.tools.files().len() * 200
    }

    /// The names that belong to each file, by the file's index; `None` for those of no file.
    pub fn names_by_file<'a>(&'a self, chosen: &[&'a str]) -> HashMap<Option<usize>, Vec<&'a str>> {
        let mut groups: HashMap<Option<usize>, Vec<&str>> = HashMap::new();
        for name in chosen {
            let focus = self.names.get(name).and_then(|n| n.focus);
            groups.entry(focus).or_default().push(name);
        }
        groups
    }
}
