//! Makes edits of the notes in an instruction.

use serde_json::{Value, json};

use crate::answer::{Answer, called, calls, said};
use crate::ask::{Ask, Tool, blocks, texts};

/// Sections that get a line, and how it begins. The line of an earlier update is replaced.
const LINES: [(&str, &str); 3] =
    [("Current State", "- Now: "), ("Task Specification", "- Asked: "), ("Worklog", "- Then: ")];
const LINE_CHARS: usize = 200;

/// Calls the edit tool if there is one, or else writes edits as text. After the results, ends with a short text.
pub(crate) fn answer(asked: &Ask, number: u64) -> Answer {
    let edits = edits(asked);
    if answered(asked) || edits.is_empty() {
        return said("The notes are up to date.".to_owned());
    }
    match (edit_tool(asked), path(&asked.instruction)) {
        (Some(tool), Some(path)) => {
            let call =
                |(n, edit): (usize, &Edit)| called(number, n, &tool.name, &edit.input(tool, &path));
            calls(edits.iter().enumerate().map(call).collect())
        }
        _ => said(edits.iter().map(Edit::text).collect::<Vec<_>>().join("\n")),
    }
}

/// Finds the tool that replaces one text with another.
pub(crate) fn edit_tool(asked: &Ask) -> Option<&Tool> {
    let has = |tool: &Tool, name: &str| tool.properties.iter().any(|p| p == name);
    asked.tools.iter().find(|tool| has(tool, "old_string") && has(tool, "new_string"))
}

/// Reads the path of the notes from the instruction.
pub(crate) fn path(instruction: &str) -> Option<String> {
    let trim = |c: char| matches!(c, ':' | ',' | '.' | '`' | '"' | '\'' | '(' | ')' | '<' | '>');
    let mut words = instruction.split_whitespace().map(|word| word.trim_matches(trim));
    words.find(|word| word.contains('/') && word.ends_with(".md")).map(str::to_owned)
}

struct Edit {
    old: String,
    new: String,
}

impl Edit {
    fn input(&self, tool: &Tool, path: &str) -> Value {
        let place = tool.properties.iter().find(|p| matches!(p.as_str(), "file_path" | "path"));
        let mut input = json!({"old_string": self.old, "new_string": self.new});
        input[place.map_or("file_path", String::as_str)] = json!(path);
        input
    }

    fn text(&self) -> String {
        format!("<edit><old>{}</old><new>{}</new></edit>", self.old, self.new)
    }
}

/// Returns whether the results of the calls were sent.
fn answered(asked: &Ask) -> bool {
    let last = asked.messages.last().map(blocks).unwrap_or_default();
    !last.is_empty() && last.iter().all(|block| block["type"] == "tool_result")
}

fn edits(asked: &Ask) -> Vec<Edit> {
    let notes = between(&asked.instruction, "<notes>", "</notes>").unwrap_or(&asked.instruction);
    let said = last_words(asked, "assistant");
    let wished = last_words(asked, "user");
    let words = [&said, &wished, &said];
    let lines = LINES.iter().zip(words).filter(|(_, words)| !words.is_empty());
    lines.filter_map(|((heading, begin), words)| edit(notes, heading, begin, words)).collect()
}

/// Replaces a line of a section, or adds one below its heading.
fn edit(notes: &str, heading: &str, begin: &str, words: &str) -> Option<Edit> {
    let is_heading = |line: &str| line.starts_with('#');
    let of = |line: &str| is_heading(line) && line.trim_start_matches('#').trim() == heading;
    let start = notes.lines().position(of)?;
    let body = notes.lines().skip(start + 1).take_while(|line| !is_heading(line));
    let (title, body): (&str, Vec<&str>) = (notes.lines().nth(start)?, body.collect());
    let line = format!("{begin}{words}");
    // The old text must occur only once in the notes: the line of the last update, or else the heading with all
    // lines up to the first empty one.
    if let Some(known) = body.iter().find(|known| known.starts_with(begin)) {
        return (notes.matches(known).count() == 1 && **known != line)
            .then(|| Edit { old: (*known).to_owned(), new: line });
    }
    let head = body.iter().take_while(|line| !line.trim().is_empty());
    let old = std::iter::once(title).chain(head.copied()).collect::<Vec<_>>().join("\n");
    Some(Edit { new: format!("{old}\n{line}"), old })
}

fn last_words(asked: &Ask, role: &str) -> String {
    let session = asked.session();
    let mut spoken = session.iter().rev().filter(|m| m["role"] == role).map(texts);
    let text = spoken.find(|texts| !texts.is_empty()).unwrap_or_default().join(" ");
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|c| !c.is_control()).take(LINE_CHARS).collect()
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let from = text.find(start)? + start.len();
    let to = from + text[from..].find(end)?;
    Some(&text[from..to])
}

#[cfg(test)]
mod tests {
    use bethink_harness::say;

    use super::*;
    use crate::answer::{Content, Stop};
    use crate::ask::Wire;

    const NOTES: &str = "# Session Title\n_A title._\n\n# Current State\n_What is going on._\n- a person's line\n\n# Worklog\n_Steps._\n- Then: I began.\n";

    fn instruction() -> Value {
        say::user(&format!(
            "Bring the notes up to date in /home/me/s.md:\n<notes>\n{NOTES}</notes>"
        ))
    }

    fn asked(tools: &Value, more: &[Value]) -> Ask {
        let mut messages = say::work(7, 100);
        messages.push(instruction());
        messages.extend_from_slice(more);
        Ask::read(Wire::Anthropic, &json!({"tools": tools, "messages": messages}))
    }

    fn edit_tool() -> Value {
        json!([{"name": "Edit", "input_schema": {"properties": {
            "file_path": {}, "old_string": {}, "new_string": {}}}}])
    }

    #[test]
    fn each_edit_fits_the_notes_exactly_once() {
        let answer = answer(&asked(&edit_tool(), &[]), 3);
        assert_eq!(answer.stop, Stop::ToolUse);
        let mut notes = NOTES.to_owned();
        for content in &answer.content {
            let Content::Call { name, arguments, .. } = content else { panic!("{content:?}") };
            let input: Value = serde_json::from_str(arguments).unwrap();
            assert_eq!((name.as_str(), &input["file_path"]), ("Edit", &json!("/home/me/s.md")));
            let old = input["old_string"].as_str().unwrap();
            assert_eq!(notes.matches(old).count(), 1, "{old}");
            notes = notes.replace(old, input["new_string"].as_str().unwrap());
        }
        assert!(
            notes.contains("_What is going on._\n- a person's line\n- Now: Case 7 is mended"),
            "{notes}"
        );
        assert!(notes.contains("_Steps._\n- Then: Case 7 is mended"), "{notes}");
        assert!(!notes.contains("I began"), "{notes}");
    }

    #[test]
    fn without_a_tool_the_edits_are_text() {
        let answer = answer(&asked(&json!([]), &[]), 3);
        let [Content::Text(text)] = answer.content.as_slice() else { panic!("{answer:?}") };
        assert_eq!(text.matches("<edit><old>").count(), 2, "{text}");
        assert_eq!(answer.stop, Stop::EndTurn);
    }

    #[test]
    fn after_the_results_there_is_nothing_to_call() {
        let more = [say::call("t", "Edit", &json!({})), say::result("t", "done")];
        let answer = answer(&asked(&edit_tool(), &more), 3);
        assert_eq!(answer.stop, Stop::EndTurn);
    }
}
