//! Would the Messages API take this prompt? A check of its own, written from the API's rules and
//! sharing nothing with the daemon's validator, so that the two can disagree.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Deserialize;

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: Content<'a>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(#[serde(borrow)] Cow<'a, str>),
    Blocks(#[serde(borrow)] Vec<Block<'a>>),
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    tool_use_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
}

impl Message<'_> {
    fn blocks(&self) -> &[Block<'_>] {
        match &self.content {
            Content::Text(_) => &[],
            Content::Blocks(blocks) => blocks,
        }
    }

    fn is_empty(&self) -> bool {
        match &self.content {
            Content::Text(text) => text.trim().is_empty(),
            Content::Blocks(blocks) => blocks.is_empty(),
        }
    }

    fn tool_uses(&self) -> Vec<&str> {
        self.blocks()
            .iter()
            .filter(|b| b.kind == "tool_use")
            .filter_map(|b| b.id.as_deref())
            .collect()
    }

    fn results(&self) -> Vec<&str> {
        let results = self.blocks().iter().filter(|block| block.kind == "tool_result");
        results.filter_map(|block| block.tool_use_id.as_deref()).collect()
    }

    fn last_text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            Content::Blocks(blocks) => blocks.last().and_then(|block| block.text.as_deref()),
        }
    }
}

/// What is wrong with the messages of a prompt, one line a fault.
pub(crate) fn faults(messages: &str) -> Vec<String> {
    let messages: Vec<Message<'_>> = match serde_json::from_str(messages) {
        Ok(messages) => messages,
        Err(error) => return vec![format!("not messages: {error}")],
    };
    let mut faults = Vec::new();
    if messages.first().is_none_or(|first| first.role != "user") {
        faults.push("the first message is not the user's".to_owned());
    }
    let mut used = HashSet::new();
    for (i, message) in messages.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|before| messages.get(before));
        let said = match message.role.as_ref() {
            "user" => of_user(message, before),
            "assistant" => of_assistant(message, &mut used),
            _ => vec!["neither the user's nor the assistant's"],
        };
        let said = said.into_iter().chain(of_any(message, before));
        faults.extend(said.map(|fault| format!("message {i}: {fault}")));
    }
    faults.extend(messages.last().and_then(at_end).map(str::to_owned));
    faults
}

fn of_any(message: &Message<'_>, before: Option<&Message<'_>>) -> Vec<&'static str> {
    let mut faults = Vec::new();
    if before.is_some_and(|before| before.role == message.role) {
        faults.push("the same role as the message before");
    }
    if message.is_empty() {
        faults.push("empty content");
    }
    let is_blank =
        |b: &Block<'_>| b.kind == "text" && b.text.as_deref().unwrap_or("").trim().is_empty();
    if message.blocks().iter().any(is_blank) {
        faults.push("an empty text block");
    }
    faults
}

fn of_user(message: &Message<'_>, before: Option<&Message<'_>>) -> Vec<&'static str> {
    let mut faults = Vec::new();
    let (mut asked, mut given) =
        (before.map(Message::tool_uses).unwrap_or_default(), message.results());
    asked.sort_unstable();
    given.sort_unstable();
    if asked != given {
        faults.push("its tool results are not those of the tool uses before it, each once");
    }
    let kinds = message.blocks().iter().map(|block| block.kind == "tool_result");
    if !kinds.is_sorted_by(|a, b| a >= b) {
        faults.push("a tool result after other content");
    }
    if !message.tool_uses().is_empty() {
        faults.push("a tool use of the user");
    }
    faults
}

fn of_assistant<'a>(message: &'a Message<'_>, used: &mut HashSet<&'a str>) -> Vec<&'static str> {
    let mut faults = Vec::new();
    if !message.results().is_empty() {
        faults.push("a tool result of the assistant");
    }
    let fresh = message.tool_uses().into_iter().filter(|id| used.insert(id)).count();
    if fresh != message.tool_uses().len() {
        faults.push("a tool use id that was used before");
    }
    faults
}

fn at_end(last: &Message<'_>) -> Option<&'static str> {
    if last.role != "assistant" {
        return None;
    }
    if !last.tool_uses().is_empty() {
        return Some("it ends in tool uses without results");
    }
    let trailing = |text: &str| text.ends_with(char::is_whitespace);
    last.last_text().is_some_and(trailing).then_some("it ends in white space of the assistant")
}

#[cfg(test)]
mod tests {
    use super::*;

    const USE: &str =
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]}"#;
    const RESULT: &str = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"},{"type":"text","text":"y"}]}"#;
    const HELLO: &str = r#"{"role":"user","content":"hello"}"#;

    fn check(messages: &[&str], expect: &[&str]) {
        let found = faults(&format!("[{}]", messages.join(",")));
        assert_eq!(found.len(), expect.len(), "{messages:?}: {found:?}");
        for part in expect {
            assert!(found.iter().any(|fault| fault.contains(part)), "{part}: {found:?}");
        }
    }

    #[test]
    fn a_good_prompt_has_no_faults() {
        check(&[HELLO, USE, RESULT], &[]);
        check(&[HELLO, r#"{"role":"assistant","content":"hi"}"#], &[]);
    }

    #[test]
    fn each_rule_is_seen_when_broken() {
        check(&[], &["first message"]);
        check(&[HELLO, HELLO], &["same role"]);
        check(&[HELLO, USE], &["without results"]);
        check(&[HELLO, USE, HELLO], &["not those"]);
        check(&[RESULT], &["not those"]);
        check(&[HELLO, USE, RESULT, USE, RESULT], &["used before"]);
        check(&[r#"{"role":"user","content":" "}"#], &["empty content"]);
        check(&[r#"{"role":"user","content":[]}"#], &["empty content"]);
        check(&[r#"{"role":"user","content":[{"type":"text","text":"\n"}]}"#], &["empty text"]);
        check(&[HELLO, r#"{"role":"assistant","content":"hi "}"#], &["white space"]);
        check(&[r#"{"role":"system","content":"x"}"#], &["first message", "neither"]);
        let late = r#"{"role":"user","content":[{"type":"text","text":"y"},{"type":"tool_result","tool_use_id":"t","content":"x"}]}"#;
        check(&[HELLO, USE, late], &["after other content"]);
        check(&["3"], &["not messages"]);
    }
}
