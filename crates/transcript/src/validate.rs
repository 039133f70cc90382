//! The structural validator. It is the only way to make a [`ValidPrompt`], so a prompt that breaks a rule
//! cannot be sent.

use std::collections::HashSet;

use serde::Serialize;

use crate::arrange::MAX_MEDIA;
use crate::ids::ToolUseId;
use crate::message::{BlockKind, Role, is_white};
use crate::prompt::PromptMessage;

/// A structural rule that a prompt breaks; `at` is the message's index in the prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum StructureFault {
    #[error("the prompt has no messages")]
    NoMessages,
    #[error("the first message is not a user message")]
    FirstNotUser,
    #[error("message {} of the prompt has the same role as the message before it", .at + 1)]
    RolesDoNotAlternate { at: usize },
    #[error("message {} of the prompt is empty", .at + 1)]
    EmptyMessage { at: usize },
    #[error("message {} of the prompt has an empty text block", .at + 1)]
    EmptyText { at: usize },
    #[error("message {} of the prompt: tool_use {id} has no result in the next message", .at + 1)]
    CallWithoutResult { at: usize, id: ToolUseId },
    #[error("message {} of the prompt: tool_result {id} has no call in the previous message", .at + 1)]
    ResultWithoutCall { at: usize, id: ToolUseId },
    #[error("message {} of the prompt has a second result for {id}", .at + 1)]
    DuplicateResult { at: usize, id: ToolUseId },
    #[error("message {} of the prompt: tool_use id {id} was used before", .at + 1)]
    DuplicateCall { at: usize, id: ToolUseId },
    #[error("message {} of the prompt: a tool_result comes after other blocks", .at + 1)]
    ResultNotFirst { at: usize },
    #[error("message {} of the prompt has a block that its role does not allow", .at + 1)]
    MisplacedBlock { at: usize },
    #[error("the last message ends in white space")]
    TrailingWhitespace,
    #[error("the prompt has {count} images and documents; at most {MAX_MEDIA} are allowed")]
    TooMuchMedia { count: usize },
}

/// Messages that the Messages API accepts, as far as structure goes.
#[derive(Clone, Debug)]
pub struct ValidPrompt(Vec<PromptMessage>);

impl ValidPrompt {
    /// Checks every rule; returns all violations, not just the first.
    pub fn check(messages: Vec<PromptMessage>) -> Result<Self, Vec<StructureFault>> {
        let faults = faults(&messages);
        if faults.is_empty() { Ok(Self(messages)) } else { Err(faults) }
    }

    pub fn messages(&self) -> &[PromptMessage] {
        &self.0
    }

    pub fn tokens(&self) -> u64 {
        self.0.iter().map(PromptMessage::tokens).sum()
    }
}

fn faults(messages: &[PromptMessage]) -> Vec<StructureFault> {
    let mut faults = Vec::new();
    match messages.first() {
        None => return vec![StructureFault::NoMessages],
        Some(first) if first.role != Role::User => faults.push(StructureFault::FirstNotUser),
        Some(_) => {}
    }
    let mut used: HashSet<&ToolUseId> = HashSet::new();
    let mut open: Vec<&ToolUseId> = Vec::new();
    let mut before: Option<Role> = None;
    let mut media = 0;
    for (at, message) in messages.iter().enumerate() {
        if before == Some(message.role) {
            faults.push(StructureFault::RolesDoNotAlternate { at });
        }
        if message.blocks.is_empty() {
            faults.push(StructureFault::EmptyMessage { at });
        }
        if message.blocks.iter().any(|b| b.blank) {
            faults.push(StructureFault::EmptyText { at });
        }
        media += message.blocks.iter().map(|b| usize::from(b.media)).sum::<usize>();
        match message.role {
            Role::User => answers(at, message, &mut open, &mut faults),
            Role::Assistant => calls(at, message, &mut used, &mut open, &mut faults),
        }
        before = Some(message.role);
    }
    faults.extend(unanswered(messages.len() - 1, &mut open));
    if media > MAX_MEDIA {
        faults.push(StructureFault::TooMuchMedia { count: media });
    }
    if messages.last().is_some_and(ends_in_white_space) {
        faults.push(StructureFault::TrailingWhitespace);
    }
    faults
}

fn calls<'a>(
    at: usize,
    message: &'a PromptMessage,
    used: &mut HashSet<&'a ToolUseId>,
    open: &mut Vec<&'a ToolUseId>,
    faults: &mut Vec<StructureFault>,
) {
    faults.extend(unanswered(at, open));
    for block in &message.blocks {
        match &block.kind {
            BlockKind::ToolUse { id, .. } => {
                if !used.insert(id) {
                    faults.push(StructureFault::DuplicateCall { at, id: id.clone() });
                }
                open.push(id);
            }
            BlockKind::ToolResult { .. } => faults.push(StructureFault::MisplacedBlock { at }),
            _ => {}
        }
    }
}

fn answers<'a>(
    at: usize,
    message: &'a PromptMessage,
    open: &mut Vec<&'a ToolUseId>,
    faults: &mut Vec<StructureFault>,
) {
    let mut answered: HashSet<&ToolUseId> = HashSet::new();
    let mut others = false;
    for block in &message.blocks {
        match &block.kind {
            BlockKind::ToolResult { tool_use_id: id, .. } => {
                if others {
                    faults.push(StructureFault::ResultNotFirst { at });
                }
                if !answered.insert(id) {
                    faults.push(StructureFault::DuplicateResult { at, id: id.clone() });
                } else if let Some(place) = open.iter().position(|o| *o == id) {
                    open.swap_remove(place);
                } else {
                    faults.push(StructureFault::ResultWithoutCall { at, id: id.clone() });
                }
            }
            BlockKind::ToolUse { .. } | BlockKind::Thinking | BlockKind::RedactedThinking => {
                faults.push(StructureFault::MisplacedBlock { at });
            }
            _ => others = true,
        }
    }
    faults.extend(unanswered(at, open));
}

/// Reports the calls that are still unanswered at a message.
fn unanswered(at: usize, open: &mut Vec<&ToolUseId>) -> impl Iterator<Item = StructureFault> {
    open.drain(..).map(move |id| StructureFault::CallWithoutResult { at, id: id.clone() })
}

fn ends_in_white_space(message: &PromptMessage) -> bool {
    // The text is decoded, because white space may be written as an escape.
    message.role == Role::Assistant
        && message.blocks.last().is_some_and(|block| {
            block.kind == BlockKind::Text
                && crate::message::Block::shown(block.json.clone(), BlockKind::Text)
                    .text()
                    .ends_with(is_white)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Seq;
    use crate::prompt::PromptBlock;

    fn id(text: &str) -> ToolUseId {
        ToolUseId::new(text).unwrap()
    }

    fn block(kind: BlockKind) -> PromptBlock {
        PromptBlock { kind, ..PromptBlock::written("text", Seq(1), 1) }
    }

    fn text(text: &str) -> PromptBlock {
        PromptBlock::written(text, Seq(1), 1)
    }

    fn call(name: &str) -> PromptBlock {
        block(BlockKind::ToolUse { id: id(name), name: "Read".into() })
    }

    fn result(name: &str) -> PromptBlock {
        block(BlockKind::ToolResult { tool_use_id: id(name), is_error: false })
    }

    fn user(blocks: &[PromptBlock]) -> PromptMessage {
        PromptMessage { role: Role::User, blocks: blocks.to_vec() }
    }

    fn assistant(blocks: &[PromptBlock]) -> PromptMessage {
        PromptMessage { role: Role::Assistant, blocks: blocks.to_vec() }
    }

    fn check(messages: &[PromptMessage], expect: &[StructureFault]) {
        let found = ValidPrompt::check(messages.to_vec()).err().unwrap_or_default();
        assert_eq!(found, expect);
    }

    #[test]
    fn a_prompt_that_breaks_no_rule_is_valid() {
        check(
            &[
                user(&[text("look")]),
                assistant(&[text("I look"), call("a"), call("b")]),
                user(&[result("b"), result("a"), text("go on")]),
                assistant(&[text("done")]),
            ],
            &[],
        );
    }

    #[test]
    fn every_broken_rule_is_named() {
        use StructureFault::*;
        let look = || user(&[text("look")]);
        check(&[], &[NoMessages]);
        check(&[assistant(&[text("hi")])], &[FirstNotUser]);
        check(&[look(), look()], &[RolesDoNotAlternate { at: 1 }]);
        check(&[look(), assistant(&[])], &[EmptyMessage { at: 1 }]);
        check(&[user(&[text(" \n")])], &[EmptyText { at: 0 }]);
        check(&[look(), assistant(&[text("so: ")])], &[TrailingWhitespace]);
        check(&[look(), assistant(&[result("a")])], &[MisplacedBlock { at: 1 }]);
        check(&[user(&[call("a")])], &[MisplacedBlock { at: 0 }]);
        check(&[user(&[result("a")])], &[ResultWithoutCall { at: 0, id: id("a") }]);
        let media = PromptBlock { media: 101, ..block(BlockKind::Image) };
        check(&[user(&[media])], &[TooMuchMedia { count: 101 }]);
    }

    #[test]
    fn calls_and_results_belong_together() {
        use StructureFault::*;
        let look = user(&[text("look")]);
        let calls = assistant(&[call("a")]);
        let open = CallWithoutResult { at: 1, id: id("a") };
        check(&[look.clone(), calls.clone()], std::slice::from_ref(&open));
        let late = CallWithoutResult { at: 2, id: id("a") };
        check(&[look.clone(), calls.clone(), user(&[text("no")])], &[late]);
        let twice = user(&[result("a"), result("a")]);
        check(&[look.clone(), calls.clone(), twice], &[DuplicateResult { at: 2, id: id("a") }]);
        let after = user(&[text("first"), result("a")]);
        check(&[look.clone(), calls.clone(), after], &[ResultNotFirst { at: 2 }]);
        let answered = user(&[result("a")]);
        let again = [look, calls.clone(), answered.clone(), calls, answered];
        check(&again, &[DuplicateCall { at: 3, id: id("a") }]);
    }
}
