//! Makes a summary from the session in the request: paths, names, commands and quotes.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::ask::{Ask, blocks, texts};

/// The headings of a summary.
pub(crate) const HEADINGS: [&str; 9] = [
    "Primary Request and Intent",
    "Key Technical Concepts",
    "Files and Code Sections",
    "Errors and Fixes",
    "Problem Solving",
    "All User Messages",
    "Pending Tasks",
    "Current Work",
    "Optional Next Step",
];
/// Maximum size of a summary in bytes, and as a share of the request.
const MOST_BYTES: usize = 28_000;
const SHARE: usize = 4;
/// Share of the output limit to use, so that it is not reached.
const OUTPUT_SHARE: usize = 2;
const NOTHING: &str = "none";
/// bethink copies the user's messages itself.
const FROM_RECORD: &str = "from the record";
/// Number of bytes per token of the length in an instruction.
const ROOM_BYTES: usize = 3;

/// An unfinished summary: the lines of each section.
#[derive(Debug)]
pub(crate) struct Summary {
    sections: Vec<(usize, Vec<String>)>,
}

/// The facts found in the session, newest last.
#[derive(Default)]
struct Found {
    wishes: Vec<String>,
    files: Vec<String>,
    commands: Vec<String>,
    errors: Vec<String>,
    tasks: Vec<String>,
    said: Vec<String>,
    names: HashMap<String, (usize, usize)>,
}

pub(crate) fn write(asked: &Ask) -> Summary {
    let found = Found::read(asked);
    let most_output =
        usize::try_from(asked.max_tokens).unwrap_or(MOST_BYTES).saturating_mul(OUTPUT_SHARE);
    let given = room_given(&asked.instruction).unwrap_or(MOST_BYTES);
    let room = MOST_BYTES.min(asked.pieces.text.len() / SHARE).min(most_output).min(given);
    let part = |share: usize| room * share / 100;
    let newest = |lines: &[String], share: usize| fill(lines.iter().rev().cloned(), part(share));
    let last = |lines: &[String]| lines.last().cloned().into_iter().collect::<Vec<_>>();
    let sections = [
        newest(&found.wishes, 8),
        fill(found.ranked().into_iter(), part(38)),
        newest(&found.files, 20),
        newest(&found.errors, 8),
        newest(&found.commands, 10),
        vec![FROM_RECORD.to_owned()],
        newest(&found.tasks, 6),
        newest(&found.said, 8),
        last(&found.wishes),
    ];
    Summary { sections: sections.into_iter().enumerate().collect() }
}

impl Summary {
    pub(crate) fn without(mut self, section: usize) -> Self {
        self.sections.retain(|(at, _)| *at != section);
        self
    }

    /// Returns the summary with one more line in the section of current work.
    pub(crate) fn with(mut self, line: &str) -> Self {
        let current = self.sections.iter_mut().find(|(at, _)| *at == 7);
        current.into_iter().for_each(|(_, lines)| lines.push(line.to_owned()));
        self
    }

    pub(crate) fn whole(&self) -> String {
        let mut text = "<analysis>\nWhat was asked, what was done, where it stands.\n</analysis>\n\n<summary>\n"
            .to_owned();
        for (at, lines) in &self.sections {
            text += &format!("## {}. {}\n", at + 1, HEADINGS[*at]);
            let body = if lines.is_empty() { NOTHING.to_owned() } else { lines.join("\n") };
            text += &format!("{body}\n\n");
        }
        text + "</summary>"
    }
}

impl Found {
    fn read(asked: &Ask) -> Found {
        let mut found = Found::default();
        for (at, message) in asked.session().into_iter().enumerate() {
            let user = message["role"] == "user";
            for text in texts(&message) {
                found.text(at, user, &text);
            }
            for block in blocks(&message) {
                match block["type"].as_str() {
                    Some("tool_use") => found.call(at, &block),
                    Some("tool_result") => found.result(at, &block),
                    _ => {}
                }
            }
        }
        found
    }

    fn text(&mut self, at: usize, user: bool, text: &str) {
        self.count(at, text);
        if text.trim_start().starts_with("<system-reminder>") {
            return;
        }
        let line = format!("- {}", one_line(text, 600));
        let lines = if user { &mut self.wishes } else { &mut self.said };
        lines.push(line);
    }

    fn call(&mut self, at: usize, block: &Value) {
        let (name, input) = (block["name"].as_str().unwrap_or(""), &block["input"]);
        self.count(at, &input.to_string());
        if let Some(todos) = input["todos"].as_array() {
            let open = todos.iter().filter(|todo| todo["status"] != "completed");
            let line = |todo: &Value| {
                format!("- {}", one_line(todo["content"].as_str().unwrap_or(""), 200))
            };
            self.tasks = open.map(line).collect();
        }
        let path =
            ["file_path", "path", "notebook_path"].iter().find_map(|key| input[*key].as_str());
        if let Some(path) = path {
            push_new(&mut self.files, format!("- {path} ({name})"));
        }
        if let Some(command) = input["command"].as_str() {
            push_new(&mut self.commands, format!("- `{}`", one_line(command, 200)));
        }
    }

    fn result(&mut self, at: usize, block: &Value) {
        let text = match &block["content"] {
            Value::String(text) => text.clone(),
            parts => texts(&serde_json::json!({"content": parts})).join("\n"),
        };
        self.count(at, &text);
        let failed = block["is_error"] == true;
        let bad = |line: &&str| failed || line.contains("error") || line.contains("FAILED");
        let lines = text.lines().filter(bad).take(3);
        for line in lines.filter(|line| !line.trim().is_empty()) {
            push_new(&mut self.errors, format!("- {}", one_line(line, 200)));
        }
    }

    /// Counts words that look like names, with their last position.
    fn count(&mut self, at: usize, text: &str) {
        let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '/' | '.' | '-' | ':');
        for word in text.split(|c: char| !inside(c)) {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/' && c != '_');
            if (4..=120).contains(&word.len()) && is_name(word) {
                let (times, last) = self.names.entry(word.to_owned()).or_default();
                (*times, *last) = (*times + 1, at);
            }
        }
    }

    /// Returns the names by frequency and recency, ten per line.
    fn ranked(&self) -> Vec<String> {
        let latest = self.names.values().map(|(_, last)| *last).max().unwrap_or(0) + 1;
        let worth = |(times, last): &(usize, usize)| {
            (*times as f64).sqrt() + 8.0 * (*last as f64 + 1.0) / latest as f64
        };
        let mut names: Vec<_> = self.names.iter().map(|(name, seen)| (worth(seen), name)).collect();
        names.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        let names: Vec<&str> = names.into_iter().map(|(_, name)| name.as_str()).collect();
        names.chunks(10).map(|ten| format!("- {}", ten.join(", "))).collect()
    }
}

/// Returns the length in the instruction, in bytes, if it gives one.
fn room_given(instruction: &str) -> Option<usize> {
    let after = instruction.split("room for ").nth(1)?;
    let tokens: usize = after.split(" tokens").next()?.replace(',', "").parse().ok()?;
    Some(tokens * ROOM_BYTES)
}

/// Returns whether a word contains punctuation, or an uppercase letter after a lowercase one.
fn is_name(word: &str) -> bool {
    let marked = word.contains(['_', '/', '.']) || word.contains("::");
    let hump =
        word.as_bytes().windows(2).any(|w| w[0].is_ascii_lowercase() && w[1].is_ascii_uppercase());
    (marked || hump) && word.chars().any(char::is_alphabetic)
}

fn one_line(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|c| !c.is_control()).take(most).collect()
}

fn push_new(lines: &mut Vec<String>, line: String) {
    lines.retain(|known| *known != line);
    lines.push(line);
}

/// Returns distinct lines up to the maximum length.
fn fill(lines: impl Iterator<Item = String>, room: usize) -> Vec<String> {
    let mut used = 0;
    let mut seen = HashSet::new();
    let fits = |line: &String| {
        used += line.len() + 1;
        used <= room
    };
    lines.filter(|line| seen.insert(line.clone())).take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use bethink_harness::say;
    use serde_json::json;

    use super::*;
    use crate::ask::Wire;

    fn asked() -> Ask {
        let mut messages: Vec<Value> = (0..30).flat_map(|n| say::work(n, 900)).collect();
        messages.push(say::call("x", "Bash", &json!({"command": "cargo test -p engine"})));
        messages.push(say::result("x", "ok\nerror[E0308]: mismatched types\n"));
        messages.push(say::assistant("The types do not match yet."));
        messages.push(say::user("Sum up in <summary>: Primary Request and Intent, and so on."));
        Ask::read(Wire::Anthropic, &json!({"max_tokens": 8000, "messages": messages}))
    }

    #[test]
    fn it_is_made_from_the_session_in_nine_sections() {
        let text = write(&asked()).whole();
        let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what} in {text}"));
        for (n, pair) in HEADINGS.windows(2).enumerate() {
            assert!(at(&format!("## {}. {}", n + 1, pair[0])) < at(pair[1]));
        }
        for found in [
            "src/module_29/handler_29.rs (Read)",
            "`cargo test -p engine`",
            "error[E0308]: mismatched types",
            "Please look at src/module_29/handler_29.rs and mend case 29.",
            "The types do not match yet.",
            "step_29",
        ] {
            at(found);
        }
        assert!(text.len() < asked().pieces.text.len() / 3, "{}", text.len());
        assert!(text.starts_with("<analysis>") && text.ends_with("</summary>"));
        assert!(!text.contains("Sum up in"), "the instruction is no part of the session");
    }

    #[test]
    fn it_keeps_to_the_room_that_it_is_given() {
        let mut asked = asked();
        asked.instruction += " The summary has room for 200 tokens.";
        let text = write(&asked).whole();
        assert!(text.len() < 600 + 500, "{} bytes", text.len());
    }

    #[test]
    fn one_section_can_be_left_out() {
        let text = write(&asked()).without(2).whole();
        assert!(!text.contains("Files and Code") && text.contains("Errors and Fixes"));
    }
}
