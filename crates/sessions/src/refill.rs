//! Names what fills a window that compactions do not empty.

use std::collections::BTreeMap;

use bethink_context::Turn;
use bethink_transcript::{BlockKind, Origin, Role, ToolUseId};

/// Number of causes that a notice names.
const NAMED: usize = 3;

/// Returns the largest causes with their tokens, such as "results of `Bash` (41200 tokens)".
pub(crate) fn causes(turn: &Turn) -> String {
    let blocks = || {
        let messages = turn.prompt.messages().iter();
        messages.flat_map(|message| message.blocks.iter().map(|block| (message.role, block)))
    };
    let tools: BTreeMap<&ToolUseId, &str> = blocks()
        .filter_map(|(_, block)| match &block.kind {
            BlockKind::ToolUse { id, name, .. } => Some((id, &**name)),
            _ => None,
        })
        .collect();
    let mut causes: BTreeMap<String, u64> = BTreeMap::new();
    let mut add = |cause: String, tokens: u64| *causes.entry(cause).or_default() += tokens;
    for (role, block) in blocks().filter(|(_, block)| matches!(block.origin, Origin::Stored { .. }))
    {
        let cause = match (&block.kind, role) {
            (BlockKind::ToolResult { tool_use_id, .. }, _) => {
                format!(
                    "results of `{}`",
                    tools.get(tool_use_id).copied().unwrap_or("unknown tool")
                )
            }
            (BlockKind::ToolUse { name, .. }, _) => format!("calls to `{name}`"),
            (_, Role::User) => "messages from the user".to_owned(),
            (_, Role::Assistant) => "answers from the model".to_owned(),
        };
        add(cause, u64::from(block.tokens));
    }
    let shown = turn.decisions.attachments().iter().filter(|a| turn.decisions.shows(a));
    shown.for_each(|a| add(format!("reminders of kind `{}`", a.what), u64::from(a.tokens)));
    let parts = &turn.report.parts;
    for (part, tokens) in [
        ("the system prompt", parts.system),
        ("instructions", parts.instructions),
        ("the memory index", parts.memory),
        ("tool definitions", parts.tools),
    ] {
        add(part.to_owned(), tokens);
    }
    let mut causes: Vec<(String, u64)> = causes.into_iter().filter(|(_, t)| *t > 0).collect();
    causes.sort_by_key(|(_, tokens)| std::cmp::Reverse(*tokens));
    let named =
        causes.iter().take(NAMED).map(|(cause, tokens)| format!("{cause} ({tokens} tokens)"));
    named.collect::<Vec<_>>().join(", ")
}
