//! What tools did: files by role, commands with their outcome, errors and what came after them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bethink_transcript::{Seq, ToolUseId, json};
use serde::Deserialize;

/// What happened to one file.
#[derive(Clone, Debug, Default)]
pub struct FileFact {
    pub path: Arc<str>,
    pub reads: u32,
    pub edits: u32,
    pub created: bool,
    pub last: Seq,
    pub last_edit: Option<Seq>,
}

/// Something that went wrong, and what came after.
#[derive(Clone, Debug)]
pub struct Failure {
    pub seq: Seq,
    /// The call, in brief.
    pub call: String,
    /// The line that says what was wrong.
    pub error: String,
    /// Files changed before the same call worked.
    pub edits: Vec<Arc<str>>,
    pub fixed: Option<Seq>,
    key: String,
}

/// One call, in brief.
#[derive(Clone, Debug)]
pub struct Action {
    pub seq: Seq,
    pub text: String,
    pub failed: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Tools {
    files: Vec<FileFact>,
    places: HashMap<Arc<str>, usize>,
    pub failures: Vec<Failure>,
    /// Newest calls, oldest first.
    pub actions: Vec<Action>,
    pub used: BTreeMap<Box<str>, ToolUse>,
    waiting: HashMap<ToolUseId, (String, String)>,
    focus: Option<usize>,
}

/// A tool that was called.
#[derive(Clone, Debug, Default)]
pub struct ToolUse {
    pub calls: u32,
    /// Names of parameters, of which a tool has few.
    pub parameters: BTreeSet<Box<str>>,
}

/// Parameters that are kept of one tool, and tools: more is no tool but data.
const PARAMETERS: usize = 12;
const TOOLS: usize = 100;

const READS: [&str; 5] = ["Read", "read", "read_file", "view", "NotebookRead"];
const EDITS: [&str; 6] = ["Edit", "MultiEdit", "NotebookEdit", "edit", "edit_file", "str_replace"];
const WRITES: [&str; 4] = ["Write", "write", "write_file", "create_file"];
/// Newest calls that are kept.
const ACTIONS: usize = 120;
/// Newest failures that are kept.
const FAILURES: usize = 120;
const CALL_BYTES: usize = 140;
const ERROR_BYTES: usize = 220;
/// Failed calls that an edit may be an answer to.
const OPEN_FAILURES: usize = 3;

#[derive(Deserialize, Default)]
struct Input {
    #[serde(default, alias = "path", alias = "notebook_path", alias = "filePath")]
    file_path: Option<String>,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    pattern: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    query: Option<String>,
    #[serde(default)]
    url: Option<String>,
}

impl Tools {
    pub fn files(&self) -> &[FileFact] {
        &self.files
    }

    /// Index of the file that is being worked on.
    pub fn focus(&self) -> Option<usize> {
        self.focus
    }

    pub fn call(&mut self, id: &ToolUseId, name: &str, input: &str, seq: Seq) {
        self.note_use(name, input);
        let input: Input = serde_json::from_str(input).unwrap_or_default();
        if let Some(path) = &input.file_path {
            self.touch(name, path, seq);
        }
        let (text, key) = describe(name, &input);
        self.waiting.insert(id.clone(), (text.clone(), key));
        self.actions.push(Action { seq, text, failed: false });
        if self.actions.len() > 2 * ACTIONS {
            self.actions.drain(..ACTIONS);
        }
    }

    fn note_use(&mut self, name: &str, input: &str) {
        if self.used.len() >= TOOLS && !self.used.contains_key(name) {
            return;
        }
        let tool = self.used.entry(name.into()).or_default();
        tool.calls += 1;
        for (parameter, _) in json::members(input).unwrap_or_default() {
            if tool.parameters.len() < PARAMETERS && !tool.parameters.contains(parameter.as_str()) {
                tool.parameters.insert(parameter.into());
            }
        }
    }

    fn touch(&mut self, name: &str, path: &str, seq: Seq) {
        let (reads, edits, writes) =
            (READS.contains(&name), EDITS.contains(&name), WRITES.contains(&name));
        if !reads && !edits && !writes {
            return;
        }
        let place = match self.places.get(path) {
            Some(place) => *place,
            None => {
                let path: Arc<str> = path.into();
                self.files.push(FileFact {
                    path: Arc::clone(&path),
                    created: writes,
                    ..FileFact::default()
                });
                self.places.insert(path, self.files.len() - 1);
                self.files.len() - 1
            }
        };
        self.focus = Some(place);
        let Some(file) = self.files.get_mut(place) else { return };
        file.last = seq;
        if reads {
            file.reads += 1;
            return;
        }
        file.edits += 1;
        file.last_edit = Some(seq);
        let path = Arc::clone(&file.path);
        for failure in self.failures.iter_mut().rev().take(OPEN_FAILURES) {
            if failure.fixed.is_none() && !failure.edits.contains(&path) {
                failure.edits.push(Arc::clone(&path));
            }
        }
    }

    pub fn result(&mut self, id: &ToolUseId, is_error: bool, text: &str, seq: Seq) {
        let Some((call, key)) = self.waiting.remove(id) else { return };
        let Some(error) = error_line(text, is_error) else {
            for failure in self.failures.iter_mut().rev().take(ACTIONS) {
                if failure.fixed.is_none() && failure.key == key {
                    failure.fixed = Some(seq);
                }
            }
            return;
        };
        if let Some(action) = self.actions.iter_mut().rev().find(|a| a.text == call) {
            action.failed = true;
        }
        self.failures.push(Failure { seq, call, error, edits: Vec::new(), fixed: None, key });
        if self.failures.len() > 2 * FAILURES {
            self.failures.drain(..FAILURES);
        }
    }
}

/// A call in a line, and a key that is the same for the same call made again.
fn describe(name: &str, input: &Input) -> (String, String) {
    let what = [
        &input.command,
        &input.file_path,
        &input.pattern,
        &input.query,
        &input.url,
        &input.description,
    ]
    .into_iter()
    .flatten()
    .next()
    .map_or("", String::as_str);
    let line = what.lines().next().unwrap_or("").trim();
    let text = match line {
        "" => name.to_owned(),
        line => format!("{name} `{}`", shorten(line, CALL_BYTES)),
    };
    let words: Vec<&str> =
        line.split_whitespace().filter(|w| !w.starts_with('-')).take(4).collect();
    (text, format!("{name} {}", words.join(" ")))
}

/// The line of a result that says what went wrong, if something did.
fn error_line(text: &str, is_error: bool) -> Option<String> {
    const SIGNS: [&str; 10] = [
        "error:",
        "error[",
        "Error:",
        "FAIL",
        "--- FAIL",
        "panicked at",
        "Traceback (most recent call last)",
        "npm ERR!",
        "fatal:",
        "undefined:",
    ];
    let sign =
        text.lines().take(400).find(|line| SIGNS.iter().any(|s| line.trim_start().starts_with(s)));
    let line = match (sign, is_error) {
        (Some(line), _) => line,
        (None, true) => {
            text.lines().find(|line| !line.trim().is_empty()).unwrap_or("failed without a message")
        }
        (None, false) => return None,
    };
    Some(shorten(line.trim(), ERROR_BYTES))
}

/// The beginning of a line, with an ellipsis where something is missing.
pub fn shorten(line: &str, bytes: usize) -> String {
    if line.len() <= bytes {
        return line.to_owned();
    }
    let mut end = bytes;
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", line[..end].trim_end())
}
