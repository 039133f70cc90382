//! What stands around the messages of a call: system, tools, and the answer that holds them all.

use std::hash::{DefaultHasher, Hash, Hasher};

use bethink_api as api;
use bethink_context::{SystemBlock, order_system, system_json};
use bethink_tokens::Estimator;
use bytes::Bytes;

use crate::hot::{ESTIMATOR, tokens};
use crate::memory::ProjectPart;
use crate::models::Sent;
use crate::{Kind, Refusal, Result};

/// The part of the system prompt that is about the project.
const PROJECT: &str = "project_context";

/// What the client gave of a call beside the messages.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) parts: Vec<api::SystemPart>,
    pub(crate) tools: String,
    /// Files that the session works on, as far as its messages do not tell.
    pub(crate) touched: Vec<String>,
}

impl Given {
    pub(crate) fn new(
        parts: Option<Vec<api::SystemPart>>,
        tools: Option<&str>,
        touched: Option<Vec<String>>,
    ) -> Result<Self> {
        let tools = match tools {
            None | Some("null") => "[]".to_owned(),
            Some(raw) if raw.starts_with('[') => raw.to_owned(),
            Some(_) => {
                return Err(Refusal::invalid("tools", "must be an array of tool definitions"));
            }
        };
        let touched = touched.unwrap_or_default();
        Ok(Self { parts: parts.unwrap_or_default(), tools, touched })
    }
}

/// System and tools of a call, ready to be joined.
pub(crate) struct Frame {
    pub(crate) system: Vec<SystemBlock>,
    pub(crate) tools: String,
    pub(crate) system_tokens: u64,
    pub(crate) instruction_tokens: u64,
    /// The memory's index.
    pub(crate) memory_tokens: u64,
    pub(crate) tool_tokens: u64,
}

/// Tokens of what stands before the messages, by part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fixed {
    pub(crate) system: u64,
    pub(crate) instructions: u64,
    pub(crate) memory: u64,
    pub(crate) tools: u64,
}

impl Fixed {
    /// A frame without its texts, for figures alone.
    pub(crate) fn frame(self) -> Frame {
        Frame {
            system: Vec::new(),
            tools: "[]".to_owned(),
            system_tokens: self.system,
            instruction_tokens: self.instructions,
            memory_tokens: self.memory,
            tool_tokens: self.tools,
        }
    }
}

impl Frame {
    pub(crate) fn fixed(&self) -> Fixed {
        Fixed {
            system: self.system_tokens,
            instructions: self.instruction_tokens,
            memory: self.memory_tokens,
            tools: self.tool_tokens,
        }
    }

    /// What bethink adds follows what the client says of the project.
    pub(crate) fn new(given: &Given, added: ProjectPart) -> Result<Self> {
        let parts = given.parts.iter().map(|p| (p.part.clone(), p.text.clone()));
        let count = |text: Option<&String>| text.map_or(0, |text| u64::from(tokens(text)));
        let memory_tokens = count(added.memory.as_ref());
        let own = [added.instructions, added.memory].into_iter().flatten();
        let parts = parts.chain(own.map(|text| (PROJECT.to_owned(), text))).collect();
        let system = order_system(parts).map_err(|unknown| {
            Refusal::invalid(format!("system[{}].part", unknown.index), unknown.to_string())
        })?;
        let of = |project: bool| -> u64 {
            system
                .iter()
                .filter(|b| (b.part == PROJECT) == project)
                .map(|b| u64::from(tokens(&b.text)))
                .sum()
        };
        let tools = given.tools.clone();
        let tool_tokens = if tools.len() > 2 { u64::from(ESTIMATOR.json(&tools)) } else { 0 };
        Ok(Self {
            system_tokens: of(false),
            instruction_tokens: of(true).saturating_sub(memory_tokens),
            memory_tokens,
            tool_tokens,
            system,
            tools,
        })
    }

    /// What bethink adds to the client's own.
    pub(crate) fn added(&self) -> Option<String> {
        let added = self.system.iter().filter(|block| block.part == PROJECT);
        let added: Vec<&str> = added.map(|block| block.text.as_str()).collect();
        (!added.is_empty()).then(|| added.join("\n\n"))
    }

    /// As a request holds it that places no breakpoints of its own.
    pub(crate) fn sent(&self) -> Sent {
        let system = Bytes::from(system_json(&self.system));
        Sent { system, tools: Bytes::from(self.tools.clone()), marks: Vec::new() }
    }

    pub(crate) fn tokens(&self) -> u64 {
        self.system_tokens + self.instruction_tokens + self.memory_tokens + self.tool_tokens
    }
}

/// Nothing may be left out any more, and it still does not fit: what fills the window is named.
pub(crate) fn overflow(report: &api::ContextReport) -> Refusal {
    let parts = &report.parts;
    let mut largest = [
        ("system", parts.system),
        ("instructions", parts.instructions),
        ("memory", parts.memory),
        ("tools", parts.tools),
        ("summary", parts.summary),
        ("tail", parts.tail),
        ("attachments", parts.attachments),
    ];
    largest.sort_by_key(|(_, tokens)| std::cmp::Reverse(*tokens));
    let fills: Vec<String> = largest
        .iter()
        .filter(|(_, t)| *t > 0)
        .take(3)
        .map(|(name, t)| format!("{name} {t}"))
        .collect();
    let detail = format!(
        "the prompt has {} tokens; at most {} can be sent. What fills the window: {}",
        report.tokens,
        report.thresholds.blocking,
        fills.join(", ")
    );
    Refusal {
        context: Some(Box::new(report.clone())),
        ..Refusal::new(Kind::ContextOverflow, detail)
            .bounded(report.thresholds.blocking, report.tokens)
            .hint("shorten system or tools, compact, or give the session a larger window")
    }
}

/// The answer, of bytes that exist already.
pub(crate) fn join(
    system: &[u8],
    messages: &[u8],
    tools: &[u8],
    report: &api::ContextReport,
) -> Result<Bytes> {
    let report = serde_json::to_vec(report).map_err(Refusal::internal)?;
    let mut out =
        Vec::with_capacity(system.len() + messages.len() + tools.len() + report.len() + 64);
    out.extend_from_slice(br#"{"system":"#);
    out.extend_from_slice(system);
    out.extend_from_slice(br#","messages":"#);
    out.extend_from_slice(messages);
    out.extend_from_slice(br#","tools":"#);
    out.extend_from_slice(tools);
    out.extend_from_slice(br#","report":"#);
    out.extend_from_slice(&report);
    out.push(b'}');
    Ok(Bytes::from(out))
}

pub(crate) fn hash(system: &[SystemBlock]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for block in system {
        block.part.hash(&mut hasher);
        block.text.hash(&mut hasher);
    }
    hasher.finish()
}

pub(crate) fn hash_text(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
