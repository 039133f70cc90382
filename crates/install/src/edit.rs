//! Our entries in a file, and how they are recognized.

use serde_json::{Map, Value};

/// One of our entries in a file.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingsEdit {
    /// A member at a path. If the member exists and is ours, its own members are updated, and members that a person
    /// added to it are kept.
    Member { path: Vec<String>, value: Value, ours: Ours },
    /// An element of the list at a path. If one of our elements exists, it is updated.
    Element { path: Vec<String>, value: Value },
}

/// How a member is recognized as ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ours {
    /// The member runs `bethink`.
    Program,
    /// The member is a gateway address, including its secret.
    Address,
}

/// The text after the edits, and what they changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppliedEdits {
    pub text: String,
    /// Paths of the containers that were created for our entries. These containers are removed when their last entry is
    /// removed.
    pub made: Vec<Vec<String>>,
    /// Paths with entries that are not ours, which were not changed.
    pub left_alone: Vec<String>,
}

impl AppliedEdits {
    pub(crate) fn leave(&mut self, path: &[String]) {
        let path = path.join(".");
        if !self.left_alone.contains(&path) {
            self.left_alone.push(path);
        }
    }
}

/// The reason why a text could not be edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub struct NotEdited {
    /// From 1.
    pub line: usize,
    /// The column, counted from 1, in characters.
    pub column: usize,
    pub what: String,
}

impl NotEdited {
    pub(crate) fn at(text: &str, at: usize, what: impl Into<String>) -> Self {
        let before = &text[..text.floor_char_boundary(at)];
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let (line, column) =
            (before.matches('\n').count() + 1, before[start..].chars().count() + 1);
        Self { line, column, what: what.into() }
    }
}

/// The environment variable that contains the path of the home.
pub(crate) const HOME: &str = "BETHINK_HOME";
/// The program's name, with or without a path.
const PROGRAM: &str = "bethink";
/// Part of every gateway address.
const CAPABILITY: &str = "/k/";
/// Beginnings of gateway addresses: our gateway listens only on this machine.
const LOOPBACK: [&str; 3] = ["http://127.0.0.1:", "http://localhost:", "http://[::1]:"];

impl SettingsEdit {
    pub fn member(path: &[&str], value: Value, ours: Ours) -> Self {
        Self::Member { path: owned(path), value, ours }
    }

    pub fn element(path: &[&str], value: Value) -> Self {
        Self::Element { path: owned(path), value }
    }

    pub fn path(&self) -> &[String] {
        match self {
            Self::Member { path, .. } | Self::Element { path, .. } => path,
        }
    }
}

impl Ours {
    pub fn is(self, value: &Value) -> bool {
        match self {
            Self::Program => runs_program(value),
            Self::Address => value.as_str().is_some_and(|url| {
                url.contains(CAPABILITY) && LOOPBACK.iter().any(|host| url.starts_with(host))
            }),
        }
    }
}

/// Returns whether an entry's command runs the program. The command may be a command line, a list of words, or a path.
fn runs_program(value: &Value) -> bool {
    match value.get("command") {
        // A path, or a shell command.
        Some(Value::String(line)) => is_program(line) || is_program(split_program(line).0),
        Some(Value::Array(words)) => words.first().and_then(Value::as_str).is_some_and(is_program),
        _ => false,
    }
}

/// Returns whether a hook is ours: its command line runs `bethink hook`.
pub(crate) fn is_hook(value: &Value) -> bool {
    let line = value.get("command").and_then(Value::as_str).unwrap_or_default();
    let (program, rest) = split_program(line);
    is_program(program) && rest.trim_start().starts_with("hook ")
}

/// Returns whether an element of a list is our hook, or a group that contains it.
pub(crate) fn holds_hook(value: &Value) -> bool {
    let group = value.get("hooks").and_then(Value::as_array);
    is_hook(value) || group.is_some_and(|hooks| hooks.iter().any(is_hook))
}

/// Returns members in the order in which to write them: the known members first, then the others by name.
pub(crate) fn in_order(members: &Map<String, Value>) -> Vec<(&str, &Value)> {
    const ORDER: [&str; 9] =
        ["type", "matcher", "name", "command", "args", "enabled", "hooks", "timeout", "async"];
    let place = |key: &str| ORDER.iter().position(|known| *known == key).unwrap_or(ORDER.len());
    let mut members: Vec<_> = members.iter().map(|(key, value)| (key.as_str(), value)).collect();
    members.sort_by_key(|(key, _)| (place(key), *key));
    members
}

fn is_program(path: &str) -> bool {
    path.rsplit('/').next() == Some(PROGRAM)
}

/// Splits a command line into its program, which may be quoted, and the rest. An assignment of `BETHINK_HOME` before
/// the program is skipped.
fn split_program(line: &str) -> (&str, &str) {
    let line = line.trim_start();
    if let Some(assigned) = line.strip_prefix(HOME).and_then(|line| line.strip_prefix('=')) {
        return split_program(after_word(assigned));
    }
    match line.strip_prefix('\'') {
        Some(quoted) => quoted.split_once('\'').unwrap_or((quoted, "")),
        None => line.split_once(char::is_whitespace).unwrap_or((line, "")),
    }
}

/// Returns the rest of a line after its first word, which may be quoted as [`quoted`] does.
fn after_word(line: &str) -> &str {
    let mut is_quoted = false;
    let mut is_escaped = false;
    let end = line.find(|c: char| {
        let ends = c.is_whitespace() && !is_quoted;
        is_quoted ^= c == '\'' && !is_escaped;
        is_escaped = c == '\\' && !is_quoted;
        ends
    });
    &line[end.unwrap_or(line.len())..]
}

/// Quotes a path as one word of a shell command, if necessary.
pub fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%".contains(c);
    match path.chars().all(is_plain) {
        true => path.to_owned(),
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}

fn owned(path: &[&str]) -> Vec<String> {
    path.iter().map(|&part| part.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ours_is_what_runs_the_program() {
        for (value, expect) in [
            (json!({ "command": "/usr/bin/bethink", "args": ["mcp"] }), true),
            (json!({ "command": "bethink" }), true),
            (json!({ "command": ["/a b/bethink", "mcp"] }), true),
            (json!({ "command": "'/a b/bethink' mcp" }), true),
            (json!({ "command": "/usr/bin/rethink" }), false),
            (json!({ "command": "/opt/bethink/run" }), false),
            (json!({ "url": "http://127.0.0.1:4747/mcp" }), false),
            (json!("bethink"), false),
        ] {
            assert_eq!(Ours::Program.is(&value), expect, "{value}");
        }
    }

    #[test]
    fn a_hook_of_ours_is_found_in_its_group() {
        let ours = json!({ "type": "command", "command": "'/a b/bethink' hook Stop" });
        let other = json!({ "type": "command", "command": "bethink doctor" });
        assert!(is_hook(&ours) && !is_hook(&other));
        for home in ["/srv/memory", "'/a b'", r"'/it'\''s a b'"] {
            let command = format!("BETHINK_HOME={home} /usr/bin/bethink hook Stop");
            assert!(is_hook(&json!({ "command": command })), "{command}");
            let command = format!("BETHINK_HOME={home} other hook bethink");
            assert!(!is_hook(&json!({ "command": command })), "{command}");
        }
        assert!(holds_hook(&json!({ "matcher": "*", "hooks": [other, ours] })));
        assert!(!holds_hook(&json!({ "hooks": [other] })) && !holds_hook(&json!("x")));
    }

    #[test]
    fn an_address_of_ours_is_local_and_has_a_capability() {
        let is = |url: &str| Ours::Address.is(&json!(url));
        assert!(is("http://127.0.0.1:4747/anthropic/k/abc"));
        assert!(!is("https://example.org/anthropic/k/abc") && !is("http://127.0.0.1:4747/v1"));
        assert!(!Ours::Address.is(&json!(7)));
    }

    #[test]
    fn a_path_is_one_word() {
        assert_eq!(quoted("/usr/local/bin/bethink"), "/usr/local/bin/bethink");
        assert_eq!(quoted("/a b/it's"), r"'/a b/it'\''s'");
    }
}
