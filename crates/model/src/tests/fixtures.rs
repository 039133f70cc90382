//! Small and generated conversations for tests.

use std::fmt::Write as _;

use bethink_transcript::message::{MessageMeta, MessageSource};
use bethink_transcript::{
    Block, BlockKind, CacheMark, Message, MessageId, Origin, PromptBlock, PromptMessage, Role, Seq,
    TokenUsage, UnixMicros, ValidPrompt,
};
use bytes::Bytes;
use proptest::prelude::*;

use crate::reply::{Reply, Stop};
use crate::request::ModelRequest;

/// An event in a conversation.
#[derive(Clone, Debug)]
pub(crate) enum FixtureTurn {
    /// A user message with this many words, and an image or a document if `true`.
    Speech(usize, bool),
    /// An answer with thinking if `true`, and this many words.
    Words(bool, usize),
    /// Tool calls with thinking if `true`. Each result has this many words, and maybe an image.
    Round(bool, Vec<(usize, bool)>),
}

pub(crate) fn turns() -> impl Strategy<Value = Vec<FixtureTurn>> {
    let turn = prop_oneof![
        (1..60usize, any::<bool>()).prop_map(|(n, media)| FixtureTurn::Speech(n, media)),
        (any::<bool>(), 0..60usize).prop_map(|(thinks, n)| FixtureTurn::Words(thinks, n)),
        (any::<bool>(), proptest::collection::vec((0..300usize, any::<bool>()), 1..4))
            .prop_map(|(thinks, results)| FixtureTurn::Round(thinks, results)),
    ];
    proptest::collection::vec(turn, 0..14)
}

/// Makes the request of a fork: a user message, the turns, and the instruction.
pub(crate) fn request(turns: &[FixtureTurn]) -> ModelRequest {
    let mut messages = vec![said(Role::User, 1, &[text("begin")])];
    let mut seq = 1;
    for turn in turns {
        seq += 1;
        let more = match turn {
            FixtureTurn::Speech(n, media) => vec![said(Role::User, seq, &speech(*n, *media))],
            FixtureTurn::Words(thinks, n) => {
                vec![said(Role::Assistant, seq, &words(*thinks, *n, seq))]
            }
            FixtureTurn::Round(thinks, results) => round(*thinks, results, &mut seq),
        };
        for message in more.into_iter().filter(|m| !m.blocks.is_empty()) {
            match messages.last_mut() {
                Some(last) if last.role == message.role => last.blocks.extend(message.blocks),
                _ => messages.push(message),
            }
        }
    }
    asked(messages)
}

/// Makes a request of the messages and the instruction, with breakpoints on the first and the last message.
pub(crate) fn asked(messages: Vec<PromptMessage>) -> ModelRequest {
    let newest = messages.len() - 1;
    let marks = [0, newest].map(|message| CacheMark { message, block: 0 });
    let base = ModelRequest {
        model: "small".to_owned(),
        system: Bytes::from_static(b"[]"),
        tools: Bytes::from_static(b"[]"),
        prompt: ValidPrompt::check(vec![said(Role::User, 1, &[text("x")])]).unwrap(),
        marks: marks.to_vec(),
        max_tokens: 4_000,
        form: Default::default(),
    };
    let mut all = messages;
    let instruction = PromptMessage::said("Summarise.", Seq(999), 3);
    match all.last_mut() {
        Some(last) if last.role == Role::User => last.blocks.extend(instruction.blocks),
        _ => all.push(instruction),
    }
    ModelRequest { prompt: ValidPrompt::check(all).unwrap(), ..base }
}

fn round(thinks: bool, results: &[(usize, bool)], seq: &mut u64) -> Vec<PromptMessage> {
    let mut calls = words(thinks, 0, *seq);
    let mut answers = Vec::new();
    for (i, (n, media)) in results.iter().enumerate() {
        let id = format!("toolu_{seq}_{i}");
        calls.push(format!(
            r#"{{"type":"tool_use","id":"{id}","name":"Read","input":{{"n":{i}}}}}"#
        ));
        let image = if *media { format!(",{IMAGE}") } else { String::new() };
        let content = format!("[{}{image}]", text(&many(*n)));
        answers
            .push(format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":{content}}}"#));
    }
    *seq += 1;
    vec![said(Role::Assistant, *seq - 1, &calls), said(Role::User, *seq, &answers)]
}

const IMAGE: &str = r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAE="}}"#;
const DOCUMENT: &str =
    r#"{"type":"document","source":{"type":"text","media_type":"text/plain","data":"page one"}}"#;

fn speech(n: usize, media: bool) -> Vec<String> {
    let mut blocks = vec![text(&many(n))];
    if media {
        blocks.extend([IMAGE.to_owned(), DOCUMENT.to_owned()]);
    }
    blocks
}

fn words(thinks: bool, n: usize, seq: u64) -> Vec<String> {
    let mut blocks = Vec::new();
    if thinks {
        blocks.push(format!(r#"{{"type":"thinking","thinking":"hm","signature":"s{seq}"}}"#));
    }
    if n > 0 {
        blocks.push(text(&many(n)));
    }
    blocks
}

fn many(n: usize) -> String {
    (0..=n).fold(String::new(), |mut out, i| {
        let _ = write!(out, "word{i} ");
        out
    }) + "end"
}

pub(crate) fn text(text: &str) -> String {
    String::from_utf8(bethink_transcript::json::text_block(text).to_vec()).unwrap()
}

/// Makes a message of a prompt from the JSON of its blocks. Counts a token per four bytes, and 1,000 for media.
pub(crate) fn said(role: Role, seq: u64, blocks: &[String]) -> PromptMessage {
    let blocks = content(role, blocks).into_iter().enumerate().map(|(i, block)| PromptBlock {
        origin: Origin::Stored {
            seq: Seq(seq),
            block: u32::try_from(i).unwrap(),
            variant: bethink_transcript::Variant::Whole,
        },
        ..PromptBlock::answered(
            &block,
            Seq(seq),
            crate::request::about_tokens(block.json.len()) + 1_000 * u32::from(block.media),
        )
    });
    PromptMessage { role, blocks: blocks.collect() }
}

pub(crate) fn content(role: Role, blocks: &[String]) -> Vec<Block> {
    let raw = format!(r#"{{"role":"{role}","content":[{}]}}"#, blocks.join(","));
    let meta =
        MessageMeta { seq: Seq(1), id: MessageId::new("m").unwrap(), created_at: UnixMicros(0) };
    Message::parse(meta, Bytes::from(raw), MessageSource::Client).unwrap().blocks.into_vec()
}

pub(crate) fn reply(stop: Stop, blocks: &[String]) -> Reply {
    Reply {
        id: "msg_1".to_owned(),
        model: "small".to_owned(),
        content: content(Role::Assistant, blocks),
        stop,
        usage: TokenUsage::default(),
        usage_doubtful: false,
    }
}

/// Formats a request for a person: roles, and the kind or the text of each block.
pub(crate) fn shown(request: &ModelRequest) -> String {
    let mut out = String::new();
    for (at, message) in request.prompt.messages().iter().enumerate() {
        let blocks = message.blocks.iter().enumerate().map(|(i, block)| {
            let mark =
                if request.marks.contains(&CacheMark { message: at, block: i }) { "*" } else { "" };
            let text = Block::shown(block.json.clone(), block.kind.clone()).text().into_owned();
            let what = match &block.kind {
                BlockKind::Text => format!("{text:?}"),
                BlockKind::ToolUse { .. } => "call".to_owned(),
                BlockKind::ToolResult { .. } => format!("result {text:?}"),
                BlockKind::Thinking | BlockKind::RedactedThinking => "thinking".to_owned(),
                other => format!("{other:?}").to_lowercase(),
            };
            format!("{mark}{what}")
        });
        let blocks: Vec<String> = blocks.collect();
        let _ = writeln!(out, "{at} {}: {}", message.role, blocks.join(", "));
    }
    out
}
