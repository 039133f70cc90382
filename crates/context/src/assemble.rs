//! Stage 8: assembly. Orders the system parts, places cache breakpoints, and joins existing bytes.

pub use bethink_api::SYSTEM_PARTS as PARTS;
use bethink_transcript::prompt::messages_json;
use bethink_transcript::{BlockKind, CacheMark, PromptMessage, Role, ValidPrompt, json};

/// Index in [`PARTS`] of the first part that depends on the project or user. The parts before it are always the same,
/// so their cache may be shared.
pub const DYNAMIC_FROM: usize = 6;
/// Minimum size of a prompt whose newest message gets a breakpoint, in tokens. Providers do not cache small prompts;
/// the minimum is 1,024 to 4,096 tokens, depending on the model.
const MIN_CACHED_TOKENS: u64 = 4_096;
/// Number of blocks before a breakpoint in which the provider looks for a cached prompt.
const LOOK_BACK: usize = 20;
const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// An unknown part of the system prompt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown system part {part:?}; use one of {}", PARTS.join(", "))]
pub struct UnknownPart {
    pub index: usize,
    pub part: String,
}

/// A text block of the system prompt.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SystemBlock {
    pub part: &'static str,
    pub text: String,
}

/// Sorts parts into prompt order. Parts of the same kind keep their order; empty ones are dropped.
pub fn order_system(parts: Vec<(String, String)>) -> Result<Vec<SystemBlock>, UnknownPart> {
    let mut placed = Vec::with_capacity(parts.len());
    for (index, (part, text)) in parts.into_iter().enumerate() {
        let Some(place) = part_place(&part) else { return Err(UnknownPart { index, part }) };
        if !text.trim().is_empty() {
            placed.push((place, SystemBlock { part: PARTS[place], text }));
        }
    }
    placed.sort_by_key(|(place, _)| *place);
    Ok(placed.into_iter().map(|(_, block)| block).collect())
}

fn part_place(part: &str) -> Option<usize> {
    PARTS.iter().position(|known| *known == part)
}

/// System prompt and messages of the next model call, as JSON.
#[derive(Clone, Debug)]
pub struct PromptBody {
    pub system: String,
    pub messages: Vec<u8>,
    /// Blocks with a breakpoint.
    pub marks: Vec<CacheMark>,
}

/// Joins the system prompt and the messages, with at most four breakpoints, those in `tools` (JSON) included: the newest user
/// message, the end of the whole system prompt, the end of its static part, and either the end of a compaction's summary or
/// an earlier user message. Fewer if the client's tools have breakpoints.
pub fn assemble(
    prompt: &ValidPrompt,
    system: &[SystemBlock],
    tools: &str,
    after_boundary: bool,
) -> PromptBody {
    let mut marks = marks(prompt, after_boundary);
    marks.truncate(free_marks(tools).messages);
    let messages = messages_json(prompt.messages(), &marks);
    PromptBody { system: system_json(system, tools), messages, marks }
}

/// The breakpoints that the tools leave free.
struct FreeMarks {
    system: usize,
    messages: usize,
}

fn free_marks(tools: &str) -> FreeMarks {
    let (system, messages) = match tools.matches(r#""cache_control""#).count() {
        0 => (2, 2),
        1 => (2, 1),
        2 => (1, 1),
        3 => (0, 1),
        _ => (0, 0),
    };
    FreeMarks { system, messages }
}

/// Renders the system prompt as an array of text blocks, with breakpoints at the end of the parts that all projects
/// share and at the end of the whole, as far as `tools` leave any free.
pub fn system_json(system: &[SystemBlock], tools: &str) -> String {
    let free = free_marks(tools).system;
    let dynamic = |block: &SystemBlock| part_place(block.part).is_some_and(|at| at >= DYNAMIC_FROM);
    let boundary = system.iter().position(dynamic).unwrap_or(system.len());
    let mut out = String::from("[");
    for (i, block) in system.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str(r#"{"type":"text","text":"#);
        out.push_str(&json::encode_string(&block.text));
        if free > 0 && i + 1 == system.len() || free > 1 && i + 1 == boundary {
            out.push_str(MARK);
        }
        out.push('}');
    }
    out.push(']');
    out
}

/// Marks the messages with the moving breakpoints, and the end of a compaction's summary if there is room.
fn marks(prompt: &ValidPrompt, after_boundary: bool) -> Vec<CacheMark> {
    let moving = moving_marks(prompt);
    // A compacted view begins with its marker and its summary.
    let summary = CacheMark { message: 0, block: 1 };
    let summary = (after_boundary && moving.len() < 2).then_some(summary);
    moving.into_iter().chain(summary).collect()
}

/// Marks the newest user message. The previous prompt's breakpoint was at the user message before it. If the provider does
/// not look that far back, marks that message as well.
fn moving_marks(prompt: &ValidPrompt) -> Vec<CacheMark> {
    if prompt.tokens() < MIN_CACHED_TOKENS {
        return Vec::new();
    }
    let newest_first = prompt.messages().iter().enumerate().rev();
    let users = newest_first.filter(|(_, message)| message.role == Role::User);
    let mut users = users
        .filter_map(|(at, message)| Some(CacheMark { message: at, block: markable(message)? }));
    let newest = users.next();
    let far = |mark: &CacheMark| {
        newest.is_some_and(|newest| place(prompt, newest) - place(prompt, *mark) > LOOK_BACK)
    };
    let before = users.next().filter(far);
    newest.into_iter().chain(before).collect()
}

/// Whether the provider finds the prompt that ended at `end` in its cache: one of the breakpoints is there, or not too
/// far after it.
pub(crate) fn is_found(prompt: &ValidPrompt, end: CacheMark) -> bool {
    let marks = moving_marks(prompt);
    let end = place(prompt, end);
    marks.is_empty()
        || marks.iter().any(|mark| (end..=end + LOOK_BACK).contains(&place(prompt, *mark)))
}

/// Returns the number of blocks before a block.
fn place(prompt: &ValidPrompt, mark: CacheMark) -> usize {
    let before = prompt.messages().iter().take(mark.message);
    before.map(|message| message.blocks.len()).sum::<usize>() + mark.block
}

fn markable(message: &PromptMessage) -> Option<usize> {
    message
        .blocks
        .iter()
        .rposition(|b| !b.kind.is_thinking() && !matches!(b.kind, BlockKind::Other(_)))
}
