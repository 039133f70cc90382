//! What tools did, in order: calls, failures and their fixes, files, commands.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bethink_transcript::text::shorten;
use bethink_transcript::{Seq, ToolKind, ToolUseId, json};

use crate::calls::{ToolInput, describe, error_line};
use crate::commands::{self, CommandFact, CommandPurpose, purpose};
use crate::files::{FileFact, FileFacts};

/// A failure, and what was done about it.
#[derive(Clone, Debug, Default)]
pub struct ToolFailure {
    pub seq: Seq,
    /// A short description of the call.
    pub call: String,
    /// The line of the result that reports the error.
    pub error: String,
    /// Files changed before the same call worked.
    pub edits: Vec<Arc<str>>,
    pub fixed: Option<Seq>,
    /// For a test whose own command has not worked since: the message in which other tests passed.
    pub tests_passed: Option<Seq>,
    /// Whether the call ran a command.
    pub of_command: bool,
    is_test: bool,
    key: String,
}

#[derive(Clone, Debug)]
pub struct Action {
    pub seq: Seq,
    pub text: String,
    pub failed: bool,
    /// Whether the call changed the todo list, which is shown separately.
    pub of_list: bool,
}

#[derive(Clone, Debug)]
pub struct ToolEdit {
    pub seq: Seq,
    /// Index of the file.
    pub file: usize,
    /// The new text as a JSON string with quotes, which makes tabs and line endings visible. Cut if it is long.
    pub code: Box<str>,
}

#[derive(Clone, Debug, Default)]
pub struct ToolUse {
    pub calls: u32,
    /// Names of its parameters.
    pub parameters: BTreeSet<Box<str>>,
}

#[derive(Clone, Debug, Default)]
pub struct KnownTools {
    files: FileFacts,
    pub commands: Vec<CommandFact>,
    pub failures: Vec<ToolFailure>,
    pub actions: Vec<Action>,
    pub used: BTreeMap<Box<str>, ToolUse>,
    waiting: HashMap<ToolUseId, PendingCall>,
    /// Index of the file that is being worked on.
    pub focus: Option<usize>,
    /// The newest edits with their code, oldest first.
    pub edits: Vec<ToolEdit>,
}

#[derive(Clone, Debug)]
struct PendingCall {
    text: String,
    key: String,
    command: Option<String>,
    /// Indices of the files that it reads or changes.
    files: Vec<usize>,
}

/// Maximum number of parameters per tool, and of tools: a real tool list is not longer.
const PARAMETERS: usize = 12;
const TOOLS: usize = 100;
const ACTIONS: usize = 120;
/// Number of newest edits whose code is kept, and the maximum size of each, in bytes.
const EDITS: usize = 60;
const CODE_BYTES: usize = 1_200;
/// Names of the parameter that holds the new text.
const CODE: [&str; 5] = ["new_string", "content", "new_str", "newText", "file_text"];
const FAILURES: usize = 120;
/// Number of most recent failures that an edit may be meant to fix.
const OPEN_FAILURES: usize = 3;

impl KnownTools {
    pub fn files(&self) -> &[FileFact] {
        &self.files.all
    }

    pub fn most_used(&self) -> Vec<(&str, &ToolUse)> {
        let mut used: Vec<_> = self.used.iter().map(|(name, tool)| (&**name, tool)).collect();
        used.sort_by_key(|(name, tool)| (std::cmp::Reverse(tool.calls), *name));
        used
    }

    pub(crate) fn call(&mut self, id: &ToolUseId, name: &str, json: &str, seq: Seq) {
        self.note_use(name, json);
        let input = ToolInput::parse(json);
        let kind = ToolKind::of(name);
        let files = kind.map(|kind| self.files.touch(kind, &input, seq)).unwrap_or_default();
        if let Some(place) = files.last().copied() {
            let is_changed = kind.is_some_and(ToolKind::changes_files);
            self.focus_on(place, is_changed);
            if is_changed {
                self.record_edit(place, json, seq);
            }
        }
        if let Some(command) = &input.command {
            commands::called(&mut self.commands, command, seq);
        }
        let (text, key) = describe(name, &input);
        let of_list = is_list_tool(name);
        self.actions.push(Action { seq, text: text.clone(), failed: false, of_list });
        let files = if kind == Some(ToolKind::Search) { Vec::new() } else { files };
        let call = PendingCall { text, key, command: input.command, files };
        self.waiting.insert(id.clone(), call);
        forget_oldest(&mut self.actions, ACTIONS);
    }

    fn note_use(&mut self, name: &str, input: &str) {
        if self.used.len() >= TOOLS && !self.used.contains_key(name) {
            return;
        }
        let tool = self.used.entry(name.into()).or_default();
        tool.calls += 1;
        for (parameter, _) in json::members(input).unwrap_or_default() {
            if tool.parameters.len() < PARAMETERS {
                tool.parameters.insert(parameter.into());
            }
        }
    }

    /// Makes the file at `place` the one being worked on.
    fn focus_on(&mut self, place: usize, changed: bool) {
        self.focus = Some(place);
        let Some(file) = self.files.all.get(place).filter(|_| changed) else { return };
        for failure in self.failures.iter_mut().rev().take(OPEN_FAILURES) {
            let open =
                failure.of_command && failure.fixed.is_none() && failure.tests_passed.is_none();
            if open && !failure.edits.contains(&file.path) {
                failure.edits.push(Arc::clone(&file.path));
            }
        }
    }

    fn record_edit(&mut self, file: usize, input: &str, seq: Seq) {
        let members = json::members(input).unwrap_or_default();
        let Some((_, code)) = members.iter().find(|(name, _)| CODE.contains(&name.as_str())) else {
            return;
        };
        self.edits.push(ToolEdit { seq, file, code: shorten(code.get(), CODE_BYTES).into() });
        forget_oldest(&mut self.edits, EDITS);
    }

    pub(crate) fn result(&mut self, id: &ToolUseId, is_error: bool, text: &str, seq: Seq) {
        let Some(PendingCall { text: call, key, command, files }) = self.waiting.remove(id) else {
            return;
        };
        for place in files.into_iter().filter(|_| !is_error) {
            if let Some(file) = self.files.all.get_mut(place) {
                file.confirmed = seq;
            }
        }
        if let Some(command) = &command {
            commands::ended(&mut self.commands, command, is_error, text);
        }
        // An error message in a file or a search result is not an error of that call.
        let may_fail = command.is_some() || is_error;
        let is_test = command.as_deref().is_some_and(|c| purpose(c) == CommandPurpose::Test);
        let Some(error) = may_fail.then(|| error_line(text, is_error)).flatten() else {
            return self.record_success(&key, is_test, seq);
        };
        if let Some(action) = self.actions.iter_mut().rev().find(|a| a.text == call) {
            action.failed = true;
        }
        self.failures.push(ToolFailure {
            seq,
            call,
            error,
            of_command: command.is_some(),
            is_test,
            key,
            ..ToolFailure::default()
        });
        forget_oldest(&mut self.failures, FAILURES);
    }

    fn record_success(&mut self, key: &str, is_test: bool, seq: Seq) {
        for failure in self.failures.iter_mut().rev().take(ACTIONS) {
            if failure.fixed.is_none() && failure.key == key {
                failure.fixed = Some(seq);
            } else if is_test && failure.is_test {
                failure.tests_passed = Some(seq);
            }
        }
    }
}

fn is_list_tool(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("todo") || name.starts_with("task") && name.len() > "task".len()
}

/// Drops the oldest items once there are more than twice as many as `newest`.
pub(crate) fn forget_oldest<T>(all: &mut Vec<T>, newest: usize) {
    if all.len() > 2 * newest {
        all.drain(..newest);
    }
}
