//! What tools did, in order: calls, failures and their fixes, files, commands.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use bethink_transcript::{Seq, ToolKind, ToolUseId, json};

use crate::calls::{ToolInput, describe, error_details, error_line, was_not_run};
use crate::commands::{self, CommandFact, CommandPurpose, purpose};
use crate::files::{FileFact, FileFacts, PendingEdit};
use crate::names;
use crate::places::{self, SeenDefinition};
use crate::recent::forget_oldest;
use crate::said::RecordedStatement;
use crate::searches::{self, SearchFact};

/// A failure, and what was done about it.
#[derive(Clone, Debug, Default)]
pub struct ToolFailure {
    pub seq: Seq,
    /// A short description of the call.
    pub call: String,
    /// The line of the result that reports the error.
    pub error: String,
    /// What else the result says about the error, such as the tests that failed.
    pub details: String,
    /// Files that were edited after the failure and before the same call succeeded.
    pub edits: Vec<Arc<str>>,
    pub fixed: Option<Seq>,
    /// The message in which other tests passed, if the failed call ran tests and has not succeeded since.
    pub tests_passed: Option<Seq>,
    /// The first later message in which the same command failed without this error, unless a message after that reported the
    /// error again.
    pub gone: Option<Seq>,
    /// Whether the call ran a command.
    pub of_command: bool,
    is_test: bool,
    key: String,
    /// The first word of the error, such as `FAIL`.
    kind: String,
    /// The longest name in the error.
    name: Option<String>,
}

impl ToolFailure {
    /// Whether the error still occurs, as far as is known: the call has not succeeded since, no other tests have passed, and
    /// the command still reports it.
    pub fn is_open(&self) -> bool {
        self.fixed.is_none() && self.tests_passed.is_none() && self.gone.is_none()
    }

    /// Compares the error with what the same command reported later. An error that contains no name cannot be recognized. An
    /// error of another kind may have kept the command from reporting this one, as a compiler error does with failing tests.
    fn compare(&mut self, later: &str, kind: &str, seq: Seq) {
        let Some(name) = self.name.as_ref().filter(|_| self.kind == kind) else { return };
        self.gone = match later.contains(name) {
            true => None,
            false => self.gone.or(Some(seq)),
        };
    }
}

#[derive(Clone, Debug)]
pub struct Action {
    pub seq: Seq,
    pub text: String,
    pub failed: bool,
    /// Whether the call changed the todo list, which is shown separately.
    pub of_list: bool,
}

#[derive(Clone, Debug, Default)]
pub struct ToolUse {
    pub calls: u32,
    /// Names of the parameters that the calls passed.
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
    /// Definitions in files that were read or searched, oldest first.
    pub definitions: Vec<SeenDefinition>,
    /// What searches found, oldest first.
    pub searches: Vec<SearchFact>,
    /// The branch that git mentioned last.
    pub branch: Option<(Seq, Box<str>)>,
    /// Commits that git reported, oldest first: `[main 1a2b3c4] store: one log`.
    pub commits: Vec<(Seq, Box<str>)>,
}

#[derive(Clone, Debug)]
struct PendingCall {
    text: String,
    key: String,
    command: Option<String>,
    kind: Option<ToolKind>,
    /// The task of the agent that the call starts.
    task: Option<Arc<str>>,
    /// Indices of the files that the call concerns.
    files: Vec<usize>,
    edits: Vec<PendingEdit>,
    /// The pattern of a search, and the file or directory that it searches.
    search: Option<(String, String)>,
}

/// Maximum number of parameters per tool, and maximum number of tools. Real tool lists are not longer.
const PARAMETERS: usize = 12;
const TOOLS: usize = 100;
const ACTIONS: usize = 120;
/// Number of commits kept. Once there are twice as many, the oldest half is dropped.
const COMMITS: usize = 40;
const FAILURES: usize = 120;
/// Number of recent failures that an edit may be an attempt to fix.
const OPEN_FAILURES: usize = 3;

impl KnownTools {
    pub fn files(&self) -> &[FileFact] {
        &self.files.all
    }

    /// Returns the message with the newest edit that took effect; zero if there is none.
    pub fn newest_edit(&self) -> Seq {
        self.files().iter().map(|file| file.last_edit).max().unwrap_or_default()
    }

    pub fn most_used(&self) -> Vec<(&str, &ToolUse)> {
        let mut used: Vec<_> = self.used.iter().map(|(name, tool)| (&**name, tool)).collect();
        used.sort_by_key(|(name, tool)| (std::cmp::Reverse(tool.calls), *name));
        used
    }

    /// Records a call; `why` is what the assistant said before it.
    pub(crate) fn call(
        &mut self,
        id: &ToolUseId,
        name: &str,
        json: &str,
        seq: Seq,
        why: Option<&RecordedStatement>,
    ) {
        self.note_use(name, json);
        let mut input = ToolInput::parse(json);
        let kind = ToolKind::of(name);
        let touched = kind.map(|kind| self.files.touch(kind, &mut input, seq));
        let (files, mut edits) = touched.unwrap_or_default();
        if let Some(first) = edits.first_mut() {
            first.why = why.cloned();
        }
        edits.iter().for_each(|edit| self.may_fix(edit.place));
        if let Some(command) = &input.command {
            commands::called(&mut self.commands, command, seq);
        }
        let (text, key) = describe(name, &input);
        let of_list = is_list_tool(name);
        self.actions.push(Action { seq, text: text.clone(), failed: false, of_list });
        let task = (kind == Some(ToolKind::Agent)).then(|| input.task().into());
        let search = input.search().filter(|_| kind == Some(ToolKind::Search));
        let command = input.command;
        let call = PendingCall { text, key, command, kind, task, files, edits, search };
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

    /// Records that the file at `place` was edited after the newest failures.
    fn may_fix(&mut self, place: usize) {
        let Some(file) = self.files.all.get(place) else { return };
        for failure in self.failures.iter_mut().rev().take(OPEN_FAILURES) {
            let open =
                failure.of_command && failure.fixed.is_none() && failure.tests_passed.is_none();
            if open && !failure.edits.contains(&file.path) {
                failure.edits.push(Arc::clone(&file.path));
            }
        }
    }

    /// Returns the task of the agent whose report the tool result contains.
    pub(crate) fn agent_task(&self, id: &ToolUseId) -> Option<Arc<str>> {
        self.waiting.get(id)?.task.clone()
    }

    pub(crate) fn result(&mut self, id: &ToolUseId, is_error: bool, text: &str, seq: Seq) {
        let Some(call) = self.waiting.remove(id) else { return };
        let PendingCall { text: call, key, command, kind, files, edits, search, .. } = call;
        for edit in &edits {
            match is_error {
                true => self.files.not_edited(edit.place),
                false => self.files.edited(edit),
            }
        }
        if !is_error {
            self.read(kind, &files, text, seq);
            if let Some((pattern, scope)) = &search {
                searches::collect(&mut self.searches, (pattern, scope), text, seq);
            }
        }
        if let Some(command) = &command {
            commands::ended(&mut self.commands, command, is_error, text);
            if let Some(commit) = commands::commit(command, text) {
                self.commits.push((seq, commit));
                forget_oldest(&mut self.commits, COMMITS);
            }
            if let Some(branch) = commands::branch(command, text) {
                self.branch = Some((seq, branch.into()));
            }
        }
        // An error message in a file or a search result is not an error of that call.
        let may_fail = (command.is_some() || is_error) && !was_not_run(text);
        let is_test = command.as_deref().is_some_and(|c| purpose(c) == CommandPurpose::Test);
        let Some(error) = may_fail.then(|| error_line(text, is_error)).flatten() else {
            if !was_not_run(text) {
                self.record_success(&key, is_test, seq);
            }
            return;
        };
        let details = if command.is_some() { error_details(text, &error) } else { String::new() };
        if let Some(action) = self.actions.iter_mut().rev().find(|a| a.text == call) {
            action.failed = true;
        }
        let is_same =
            |one: &&mut ToolFailure| one.of_command && one.key == key && one.fixed.is_none();
        let kind = first_word(&error).to_owned();
        self.failures.iter_mut().filter(is_same).for_each(|one| one.compare(text, &kind, seq));
        let mut named = HashSet::new();
        names::names_in(&error, &mut named);
        let name = named.into_iter().max_by_key(|name| (name.len(), *name)).map(str::to_owned);
        self.failures.push(ToolFailure {
            seq,
            call,
            kind,
            name,
            error,
            details,
            of_command: command.is_some(),
            is_test,
            key,
            ..ToolFailure::default()
        });
        forget_oldest(&mut self.failures, FAILURES);
    }

    /// Collects the definitions in a tool result that shows a file, search results or the output of a command.
    fn read(&mut self, kind: Option<ToolKind>, files: &[usize], text: &str, seq: Seq) {
        let path = files.first().and_then(|place| self.files.all.get(*place));
        let path = path.filter(|_| kind == Some(ToolKind::Read)).map(|file| &file.path);
        if path.is_some() || matches!(kind, Some(ToolKind::Search | ToolKind::Shell)) {
            places::collect(&mut self.definitions, path, text, seq);
        }
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

/// Returns the first word of a line that reports an error, such as `FAIL` in `--- FAIL: TestTide`.
fn first_word(error: &str) -> &str {
    let mut words = error.split(|c: char| !c.is_alphabetic());
    words.find(|word| !word.is_empty()).unwrap_or_default()
}

fn is_list_tool(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("todo") || name.starts_with("task") && name.len() > "task".len()
}
