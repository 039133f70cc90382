//! A short description of a tool call, and the line of its result that reports an error or a summary.

use bethink_transcript::text::{beginning, shorten};
use serde::{Deserialize, Deserializer};

use crate::written::TextChange;

/// The common members of a tool's input, under the names that different tools use.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct ToolInput {
    #[serde(alias = "notebook_path", alias = "filePath", alias = "filename")]
    pub(crate) file_path: Option<String>,
    pub(crate) path: Option<String>,
    #[serde(alias = "cmd")]
    pub(crate) command: Option<String>,
    pub(crate) pattern: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) query: Option<String>,
    pub(crate) url: Option<String>,
    #[serde(alias = "oldText", alias = "old_str")]
    pub(crate) old_string: Option<String>,
    #[serde(
        alias = "newText",
        alias = "new_str",
        alias = "new_source",
        alias = "content",
        alias = "file_text"
    )]
    pub(crate) new_string: Option<String>,
    /// A patch of several files. In calls to other tools, this member may be something else.
    #[serde(alias = "input")]
    pub(crate) patch: Option<serde_json::Value>,
    #[serde(default, deserialize_with = "edits_or_none")]
    edits: Vec<InputEdit>,
}

/// One of several edits in a call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InputEdit {
    #[serde(alias = "oldText", alias = "old_str")]
    old_string: String,
    #[serde(alias = "newText", alias = "new_str")]
    new_string: String,
}

/// Reads the edits of a call; a member of that name with another shape means something else.
fn edits_or_none<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<InputEdit>, D::Error> {
    let value = serde_json::Value::deserialize(input)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

impl ToolInput {
    pub(crate) fn parse(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// Returns the file that the call names.
    pub(crate) fn file(&self) -> Option<&str> {
        self.file_path.as_deref().or(self.path.as_deref())
    }

    /// Returns the pattern that the call searches for, and where.
    pub(crate) fn search(&self) -> Option<(String, String)> {
        let scope = self.file().unwrap_or_default().to_owned();
        self.pattern.clone().map(|pattern| (pattern, scope))
    }

    /// Returns the edits that the call makes in its file.
    pub(crate) fn changes(&mut self) -> Vec<TextChange> {
        let old = self.old_string.take();
        let one = self.new_string.take().map(|new| TextChange { old, new });
        let many = std::mem::take(&mut self.edits).into_iter();
        let many = many.map(|edit| TextChange { old: Some(edit.old_string), new: edit.new_string });
        one.into_iter().chain(many).collect()
    }

    /// Returns the task of an agent that the call starts.
    pub(crate) fn task(&self) -> &str {
        self.description.as_deref().unwrap_or_default()
    }

    fn subject(&self) -> &str {
        let Self { command, file_path, pattern, query, url, description, path, .. } = self;
        let all = [command, file_path, pattern, query, url, description, path];
        all.into_iter().flatten().next().map_or("", String::as_str)
    }
}

const CALL_BYTES: usize = 140;
const ERROR_BYTES: usize = 220;
/// Number of lines read at the beginning of a result, and at its end.
const LINES: usize = 400;

/// Describes a call in one line, and returns a key that is the same for each repetition of the call.
pub(crate) fn describe(name: &str, input: &ToolInput) -> (String, String) {
    let line = first_line(input.subject());
    let text = match line {
        "" => name.to_owned(),
        line => format!("{name} `{}`", shorten(line, CALL_BYTES)),
    };
    (text, format!("{name} {}", key_of(line)))
}

/// Returns the first line of a command that is not a comment.
pub(crate) fn first_line(command: &str) -> &str {
    let mut lines = command.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.clone().find(|line| !line.starts_with('#')).or_else(|| lines.next()).unwrap_or("")
}

/// Describes the subject of a call in one line, such as its command or file; empty if it has none.
pub fn subject(input: &str) -> String {
    shorten(first_line(ToolInput::parse(input).subject()), CALL_BYTES)
}

/// Returns the words that identify a command when it is run again: without `cd`, variables, flags and redirections.
pub(crate) fn key_of(line: &str) -> String {
    let line = line.rsplit_once(" && ").map_or(line, |(head, last)| {
        if head.trim_start().starts_with("cd ") { last } else { line }
    });
    let words = line
        .split_whitespace()
        .take_while(|word| !matches!(*word, "|" | ">" | "2>&1" | "||" | ";"))
        .filter(|word| !word.starts_with('-') && !is_setting(word));
    words.take(4).collect::<Vec<_>>().join(" ")
}

/// Returns a command without the parts that only affect its output, such as `2>&1`, `| tail` and `| grep`.
pub(crate) fn without_plumbing(line: &str) -> &str {
    const PLUMBING: [&str; 6] = [" 2>&1", " | tail", " | head", " | grep", " | less", " | cat"];
    let end = PLUMBING.iter().filter_map(|part| line.find(part)).min();
    end.map_or(line, |end| line[..end].trim_end())
}

/// Whether a word sets a variable before a command, such as `RUST_LOG=debug`.
fn is_setting(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
    })
}

/// Whether a result says that its call was not run: the person refused it, or another call of the same message failed.
pub(crate) fn was_not_run(text: &str) -> bool {
    const SIGNS: [&str; 4] = [
        "Sibling tool call errored",
        "The user doesn't want to",
        "[Request interrupted",
        "Cancelled: parallel tool call",
    ];
    let text = text.trim_start().trim_start_matches("<tool_use_error>");
    SIGNS.iter().any(|sign| text.starts_with(sign))
}

/// Beginnings of lines that report an error.
const ERROR_SIGNS: [&str; 19] = [
    "error:",
    "error[",
    "Error:",
    "ERROR",
    "FAIL",
    "--- FAIL",
    "panicked at",
    "thread '",
    "Traceback (most recent call last)",
    "npm ERR!",
    "fatal:",
    "undefined:",
    "AssertionError",
    "TypeError:",
    "SyntaxError:",
    "✗",
    "✕",
    "●",
    "×",
];

/// Returns the line of a result that reports an error, if there is one.
pub(crate) fn error_line(text: &str, is_error: bool) -> Option<String> {
    let line = match (error_lines(text).next(), is_error) {
        (Some(line), _) => line,
        (None, true) => text
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty() && !line.starts_with("Exit code"))
            .unwrap_or("failed without a message"),
        (None, false) => return None,
    };
    let line = line.trim().trim_start_matches("<tool_use_error>");
    Some(shorten(line.trim_end_matches("</tool_use_error>"), ERROR_BYTES))
}

/// Returns what a result says about an error besides its first line: which tests failed, where, and what was expected.
pub(crate) fn error_details(text: &str, first: &str) -> String {
    const DETAILS_BYTES: usize = 420;
    const DETAIL_BYTES: usize = 160;
    let mut details: Vec<&str> = Vec::new();
    let mut size = 0;
    let lines = text.lines().take(LINES).map(str::trim);
    for line in lines.filter(|line| is_error_line(line) || has_place(line)) {
        let line = beginning(line, DETAIL_BYTES);
        // Skip a bare `FAIL`, and the first line, which is shown anyway.
        if line.len() < 8 || first.starts_with(line) || details.contains(&line) {
            continue;
        }
        size += line.len() + 2;
        if size > DETAILS_BYTES {
            break;
        }
        details.push(line);
    }
    details.join("; ")
}

/// Returns the lines that report an error. Lines that name the error come before a bare `FAIL`.
fn error_lines(text: &str) -> impl Iterator<Item = &str> {
    let all = || text.lines().take(LINES).filter(|line| is_error_line(line.trim_start()));
    all().filter(|line| line.trim().len() > 8).chain(all())
}

fn is_error_line(line: &str) -> bool {
    // Task runners put a name before the word: `[lint] ERROR task failed`.
    let rest = line.strip_prefix('[').and_then(|line| line.split_once("] "));
    let is_of_task = rest.is_some_and(|(_, rest)| rest.starts_with("ERROR "));
    is_of_task || ERROR_SIGNS.iter().any(|sign| line.starts_with(sign))
}

/// Whether a line begins with a place in a file: `store_test.go:41: got 2, want 1`.
fn has_place(line: &str) -> bool {
    let Some((file, rest)) = line.split_once(':') else { return false };
    let is_file = file.contains('.') && !file.contains(char::is_whitespace);
    let is_log = [" INFO ", " DEBUG ", "output:"].iter().any(|sign| rest.contains(sign));
    is_file && !is_log && rest.len() > 8 && rest.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns the last line of a result that summarizes a run, such as `test result: ok. 12 passed`.
pub(crate) fn verdict(text: &str) -> Option<String> {
    const SIGNS: &str = " passed| failed|passing|failing|test result:|Tests:|PASS|FAIL|0 issues|\
        Finished|no issues|error";
    let is_verdict = |line: &&str| line.len() > 2 && SIGNS.split('|').any(|s| line.contains(s));
    let line = text.lines().rev().take(LINES).map(str::trim).find(is_verdict)?;
    Some(shorten(line, 120))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_command_has_the_same_key() {
        assert_eq!(
            key_of("cd /proj/a && RUST_LOG=debug cargo test -p store -- --nocapture 2>&1 | tail"),
            "cargo test store"
        );
        assert_eq!(key_of("go test ./... -run TestX"), "go test ./... TestX");
        assert_eq!(key_of(""), "");
    }

    #[test]
    fn a_call_in_brief() {
        let check = |name: &str, input: &str, expect: &str| {
            assert_eq!(describe(name, &ToolInput::parse(input)).0, expect);
        };
        check("Bash", r#"{"command":"\n  cargo test\nls","description":"d"}"#, "Bash `cargo test`");
        check("Bash", r##"{"command":"# stage\ngit add a"}"##, "Bash `git add a`");
        check("Bash", r##"{"command":"# only this"}"##, "Bash `# only this`");
        check("Grep", r#"{"pattern":"fn main","path":"/proj/src"}"#, "Grep `fn main`");
        check("Read", r#"{"file_path":"/proj/a.rs"}"#, "Read `/proj/a.rs`");
        check("TaskList", "{}", "TaskList");
        check("Odd", "not JSON", "Odd");
        assert_eq!(subject(r#"{"command":"cargo test\nls"}"#), "cargo test");
        assert_eq!(subject("not JSON"), "");
    }

    #[test]
    fn errors_and_verdicts_are_found() {
        assert_eq!(
            error_line("ok\nerror[E0308]: mismatched", false).unwrap(),
            "error[E0308]: mismatched"
        );
        assert_eq!(error_line("Exit code 1\n\nno such file", true).unwrap(), "no such file");
        assert_eq!(error_line("", true).unwrap(), "failed without a message");
        assert_eq!(error_line("<tool_use_error>gone</tool_use_error>", true).unwrap(), "gone");
        assert_eq!(error_line("all good", false), None);
        assert_eq!(
            verdict("running\ntest result: ok. 3 passed\n\n").unwrap(),
            "test result: ok. 3 passed"
        );
        assert_eq!(verdict("nothing of note"), None);
    }
}
