//! The tool calls of an answer: each is checked, the allowed ones run concurrently, and the results are returned in
//! order.

use std::collections::HashSet;

use bethink_model::request::{about_tokens, answered};
use bethink_model::{ModelRequest, Reply, Stop};
use bethink_transcript::{
    Block, BlockKind, PromptBlock, PromptMessage, Role, Seq, ToolUseId, json,
};
use futures_util::future::join_all;

use crate::fork::Fork;
use crate::host::{AgentStep, Host};
use crate::tool::{Denial, Permit, Tool, ToolCall};

/// Maximum size of a tool's output, in bytes. The tools of a fork read and edit small files.
const MAX_OUTPUT: usize = 50_000;
/// Maximum size of a call's input, in bytes: more than any file that a fork may write.
const MAX_INPUT: usize = 256 * 1024;
/// Maximum length of a tool's name in the Messages API, in characters.
const MAX_NAME: usize = 128;
/// Maximum length of a reason, in characters. A reason may quote text from a model.
const MAX_REASON: usize = 500;

/// All calls of an answer, in order, each with the decision about it.
pub(crate) struct Calls<'a> {
    calls: Vec<JudgedCall<'a>>,
}

struct JudgedCall<'a> {
    id: &'a ToolUseId,
    call: ToolCall<'a>,
    verdict: CallVerdict<'a>,
}

enum CallVerdict<'a> {
    Allowed(&'a dyn Tool),
    /// The call is not made; the model receives the reason as its result.
    Denied(String),
    /// Providers would reject the call, so the next request contains the reason instead of the call.
    LeftOut(String),
}

/// The output of a call, or its error.
pub(crate) type Outcome = Result<String, String>;

impl<'a> Calls<'a> {
    pub(crate) fn judge(reply: &'a Reply, request: &ModelRequest, fork: &Fork<'a>) -> Self {
        let mut used = ids(request);
        let blocks = reply.content.iter().filter_map(|block| match &block.kind {
            BlockKind::ToolUse { id, name } => Some((block, id, name)),
            _ => None,
        });
        let calls = blocks.enumerate().map(|(place, (block, id, name))| {
            let call = ToolCall { tool: name, input: block.input() };
            let verdict = match unfit(call, block, used.insert(id.clone())) {
                Some(reason) => CallVerdict::LeftOut(reason),
                None => decide(call, place, reply, fork),
            };
            JudgedCall { id, call, verdict }
        });
        Self { calls: calls.collect() }
    }

    pub(crate) fn denials(&self) -> Vec<Denial> {
        let denials = self.calls.iter().filter_map(|judged| match &judged.verdict {
            CallVerdict::Allowed(_) => None,
            CallVerdict::Denied(reason) | CallVerdict::LeftOut(reason) => {
                Some(Denial { tool: shown(judged.call.tool), reason: reason.clone() })
            }
        });
        denials.collect()
    }

    /// Runs the allowed calls concurrently. Outcomes are in the order of the calls.
    pub(crate) async fn run(&self, host: &dyn Host) -> Vec<Outcome> {
        let allowed = self.calls.iter().filter_map(|judged| match judged.verdict {
            CallVerdict::Allowed(tool) => Some((tool, judged.call)),
            _ => None,
        });
        let allowed: Vec<_> = allowed.collect();
        let outcomes = join_all(allowed.iter().map(|(tool, call)| tool.run(*call))).await;
        for ((_, call), outcome) in allowed.iter().zip(&outcomes) {
            host.record(&AgentStep::Called { tool: shown(call.tool), ok: outcome.is_ok() });
        }
        outcomes
    }

    /// Returns the answer as the next request contains it, without the calls that are left out.
    pub(crate) fn said(&self, reply: &Reply, after: Seq) -> PromptMessage {
        let mut verdicts = self.calls.iter().map(|judged| &judged.verdict);
        let content = reply.content.iter().filter(|block| {
            !matches!(block.kind, BlockKind::ToolUse { .. })
                || !matches!(verdicts.next(), Some(CallVerdict::LeftOut(_)))
        });
        answered(content, after)
    }

    /// Returns a message with a result for every call, and a note about those that were left out.
    pub(crate) fn answered(&self, outcomes: Vec<Outcome>, after: Seq) -> PromptMessage {
        let mut outcomes = outcomes.into_iter();
        let mut blocks = Vec::new();
        let mut left_out = Vec::new();
        for judged in &self.calls {
            match &judged.verdict {
                CallVerdict::Allowed(_) => {
                    let outcome =
                        outcomes.next().unwrap_or_else(|| Err("the call was not made".to_owned()));
                    blocks.push(result(judged.id, &outcome, after));
                }
                CallVerdict::Denied(reason) => {
                    blocks.push(result(judged.id, &Err(reason.clone()), after));
                }
                CallVerdict::LeftOut(reason) => left_out.push(reason.as_str()),
            }
        }
        if !left_out.is_empty() {
            let text = clipped(&left_out.join("\n"), MAX_OUTPUT);
            blocks.push(PromptBlock::written(&text, after, about_tokens(text.len())));
        }
        PromptMessage { role: Role::User, blocks }
    }
}

fn ids(request: &ModelRequest) -> HashSet<ToolUseId> {
    let blocks = request.prompt.messages().iter().flat_map(|message| &message.blocks);
    let ids = blocks.filter_map(|block| match &block.kind {
        BlockKind::ToolUse { id, .. } => Some(id.clone()),
        _ => None,
    });
    ids.collect()
}

/// Returns the reason if a call cannot be part of a request.
fn unfit(call: ToolCall<'_>, block: &Block, new_id: bool) -> Option<String> {
    let name = call.tool;
    let letters = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    let why = if name.is_empty() || name.len() > MAX_NAME || !letters {
        format!("a tool's name must consist of 1 to {MAX_NAME} letters, digits, _ or -")
    } else if !new_id {
        "its id was already used".to_owned()
    } else if call.input.len() > MAX_INPUT {
        format!("its input is {} bytes; at most {MAX_INPUT} are allowed", call.input.len())
    } else if serde_json::from_str::<WithInput>(block.as_str()).is_err() {
        "its input is not a JSON object".to_owned()
    } else {
        return None;
    };
    Some(format!("A call to {:?} was left out: {why}.", shown(name)))
}

/// Parsed from the whole block, because a missing input is not the same as an empty one.
#[derive(serde::Deserialize)]
struct WithInput {
    #[serde(rename = "input")]
    _input: serde_json::Map<String, serde_json::Value>,
}

fn decide<'a>(call: ToolCall<'_>, place: usize, reply: &Reply, fork: &Fork<'a>) -> CallVerdict<'a> {
    let most = fork.budget.calls;
    let Some(tool) = fork.tools.iter().find(|tool| tool.name() == call.tool) else {
        return CallVerdict::Denied(unknown(call.tool, fork.tools));
    };
    // The last call may be incomplete, and the earlier ones may depend on it.
    if reply.stop == Stop::MaxTokens {
        let why = "Not called: your answer was cut off at the output limit. Repeat the call in a shorter answer.";
        return CallVerdict::Denied(why.to_owned());
    }
    if place >= most {
        let why = format!(
            "Not called: at most {most} calls are allowed per answer. Repeat this call in your next answer."
        );
        return CallVerdict::Denied(why);
    }
    match tool.permit(call) {
        Permit::Allow => CallVerdict::Allowed(*tool),
        Permit::Deny(why) => CallVerdict::Denied(format!("Denied: {}", clipped(&why, MAX_REASON))),
    }
}

fn unknown(name: &str, tools: &[&dyn Tool]) -> String {
    if tools.is_empty() {
        return "You may not call tools here. Answer in text only.".to_owned();
    }
    let names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
    format!("You may not call {:?} here. Allowed tools: {}.", shown(name), names.join(", "))
}

/// Cleans a name from a model for display.
fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(MAX_NAME).collect()
}

fn result(id: &ToolUseId, outcome: &Outcome, after: Seq) -> PromptBlock {
    let (text, is_error) = match outcome {
        Ok(text) => (text, false),
        Err(text) => (text, true),
    };
    let text = if text.trim().is_empty() { "(no output)" } else { text };
    let text = clipped(text, MAX_OUTPUT);
    let json = format!(
        r#"{{"type":"tool_result","tool_use_id":{},"content":{},"is_error":{is_error}}}"#,
        json::encode_string(id.as_str()),
        json::encode_string(&text),
    );
    let kind = BlockKind::ToolResult { tool_use_id: id.clone(), is_error };
    let tokens = about_tokens(json.len());
    PromptBlock::answered(&Block::shown(json.into(), kind), after, tokens)
}

fn clipped(text: &str, most: usize) -> String {
    let head = &text[..text.floor_char_boundary(most)];
    if head.len() == text.len() {
        return text.to_owned();
    }
    format!("{head}\n[cut here; the whole text is {} bytes]", text.len())
}
