use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bethink_model::{Answer, Counted, Figures, Stop};
use bethink_transcript::message::{MessageMeta, MessageSource};
use bethink_transcript::{
    Block, BlockKind, Message, MessageId, PromptMessage, Role, Seq, UnixMicros, ValidPrompt,
};
use bytes::Bytes;

use super::*;
use crate::fork::Budget;
use crate::host::Waited;
use crate::tool::{Done, Permit, Tool, ToolCall};

mod budgets;
mod hostile;
mod recovering;
mod tools;
mod whole;

/// A model with scripted answers, which records its requests. The last answer is repeated.
#[derive(Debug)]
struct Script {
    answers: Mutex<VecDeque<Result<Reply, ModelError>>>,
    asked: Mutex<Vec<ModelRequest>>,
}

impl Script {
    fn new(answers: impl IntoIterator<Item = Result<Reply, ModelError>>) -> Self {
        Self { answers: Mutex::new(answers.into_iter().collect()), asked: Mutex::default() }
    }

    fn asked(&self) -> Vec<ModelRequest> {
        self.asked.lock().unwrap().clone()
    }
}

impl Model for Script {
    fn provider(&self) -> &'static str {
        "anthropic"
    }

    fn call<'a>(&'a self, request: &'a ModelRequest) -> Answer<'a> {
        self.asked.lock().unwrap().push(request.clone());
        let mut answers = self.answers.lock().unwrap();
        let next = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        Box::pin(async move { next.unwrap() })
    }

    fn count<'a>(&'a self, _: &'a ModelRequest) -> Counted<'a> {
        Box::pin(async { Ok(None) })
    }
}

/// A host that does not really wait. A call costs `price`.
#[derive(Default)]
struct World {
    steps: Mutex<Vec<AgentStep>>,
    waits: Mutex<Vec<Duration>>,
    price: Option<u64>,
}

impl Host for World {
    fn wait(&self, time: Duration) -> Waited<'_> {
        self.waits.lock().unwrap().push(time);
        Box::pin(async {})
    }

    fn cost(&self, _: &str, _: &TokenUsage) -> Option<u64> {
        self.price
    }

    fn record(&self, step: &AgentStep) {
        self.steps.lock().unwrap().push(step.clone());
    }
}

/// A tool that may only edit one file, and records its calls.
#[derive(Default)]
struct Edit {
    made: Mutex<Vec<String>>,
}

const NOTES: &str = r#"{"path":"notes.md"}"#;

impl Tool for Edit {
    fn name(&self) -> &str {
        "edit"
    }

    fn permit(&self, call: ToolCall<'_>) -> Permit {
        if call.input == NOTES { Permit::Allow } else { Permit::Deny("only notes.md".to_owned()) }
    }

    fn run<'a>(&'a self, call: ToolCall<'a>) -> Done<'a> {
        self.made.lock().unwrap().push(call.input.to_owned());
        Box::pin(async { Ok("edited".to_owned()) })
    }
}

const BUDGET: Budget =
    Budget { turns: 3, tokens: 1_000_000, cost: 1_000_000, calls: 5, max_output: 4_000 };

/// Runs a future to its end without a runtime. Panics if it never becomes ready.
fn finish<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..1_000 {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
    panic!("the future is never ready")
}

fn forked(
    script: &Script,
    world: &World,
    tools: &[&dyn Tool],
    budget: Budget,
) -> Result<Finished, ModelError> {
    let request = instruction();
    finish(run(Fork { request: &request, budget, tools }, script, world))
}

fn instruction() -> ModelRequest {
    ModelRequest {
        model: "small".to_owned(),
        system: Bytes::from_static(b"[]"),
        tools: Bytes::from_static(b"[]"),
        prompt: ValidPrompt::check(vec![PromptMessage::said("Take notes.", Seq(1), 3)]).unwrap(),
        marks: Vec::new(),
        max_tokens: 1_000,
        form: Default::default(),
    }
}

/// Returns a request with thirty rounds of filler text, then the instruction.
fn long_instruction() -> ModelRequest {
    let said = |role, text: &str| PromptMessage { role, ..PromptMessage::said(text, Seq(1), 30) };
    let words = "word ".repeat(40);
    let mut messages: Vec<PromptMessage> = (0..30)
        .flat_map(|_| [said(Role::User, "question"), said(Role::Assistant, &words)])
        .collect();
    messages.push(said(Role::User, "Summarise."));
    ModelRequest { prompt: ValidPrompt::check(messages).unwrap(), ..instruction() }
}

fn blocks(blocks: &[String]) -> Vec<Block> {
    let raw = format!(r#"{{"role":"assistant","content":[{}]}}"#, blocks.join(","));
    let meta =
        MessageMeta { seq: Seq(1), id: MessageId::new("m").unwrap(), created_at: UnixMicros(0) };
    Message::parse(meta, Bytes::from(raw), MessageSource::Client).unwrap().blocks.into_vec()
}

fn reply(stop: Stop, content: &[String]) -> Reply {
    Reply {
        id: "msg_1".to_owned(),
        model: "small".to_owned(),
        content: blocks(content),
        stop,
        usage: TokenUsage { input_tokens: 10, output_tokens: 5, ..TokenUsage::default() },
        usage_doubtful: false,
    }
}

fn text(text: &str) -> String {
    serde_json::json!({"type": "text", "text": text}).to_string()
}

fn call(id: &str, name: &str, input: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{input}}}"#)
}

fn says(words: &str) -> Result<Reply, ModelError> {
    Ok(reply(Stop::EndTurn, &[text(words)]))
}

fn calls(content: &[String]) -> Result<Reply, ModelError> {
    Ok(reply(Stop::ToolUse, content))
}

fn fails(class: ErrorClass) -> Result<Reply, ModelError> {
    Err(ModelError::new(class, "it failed"))
}

/// Returns the prompt from message `from` on as text, one block per line.
fn reads(request: &ModelRequest, from: usize) -> String {
    let messages = request.prompt.messages().iter().enumerate().skip(from);
    let lines = messages.flat_map(|(at, message)| {
        message.blocks.iter().map(move |block| {
            let shown = Block::shown(block.json.clone(), block.kind.clone());
            let what = match &block.kind {
                BlockKind::ToolResult { tool_use_id, is_error } => {
                    let state = if *is_error { "error" } else { "ok" };
                    format!("{} {state}: {}", tool_use_id.as_str(), shown.text())
                }
                BlockKind::Text => shown.text().into_owned(),
                _ => shown.as_str().to_owned(),
            };
            format!("{at} {}: {what}", message.role)
        })
    });
    lines.collect::<Vec<_>>().join("\n")
}
