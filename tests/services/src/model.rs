//! A model in memory, for tests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bethink_model::{Answer, Counted, ErrorClass, Model, ModelError, ModelRequest, Reply, Stop};
use bethink_transcript::{
    Block, Message, MessageId, MessageMeta, Seq, TokenUsage, UnixMicros, message::MessageSource,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// Gives the prepared answers in order. A call after the last one never ends.
#[derive(Debug, Default)]
pub struct Scripted {
    answers: Mutex<VecDeque<Result<Value, ErrorClass>>>,
    asked: Mutex<Vec<ModelRequest>>,
    /// Notified at each call.
    pub called: Notify,
}

impl Scripted {
    /// Each answer is the content of a message, or the class of an error.
    pub fn new(answers: impl IntoIterator<Item = Result<Value, ErrorClass>>) -> Arc<Self> {
        let answers = Mutex::new(answers.into_iter().collect());
        Arc::new(Self { answers, ..Self::default() })
    }

    /// More answers, after those that are left.
    pub fn answer(&self, answers: impl IntoIterator<Item = Result<Value, ErrorClass>>) {
        lock(&self.answers).extend(answers);
    }

    /// All requests so far.
    pub fn asked(&self) -> Vec<ModelRequest> {
        lock(&self.asked).clone()
    }
}

impl Model for Scripted {
    fn provider(&self) -> &'static str {
        "scripted"
    }

    fn call<'a>(&'a self, request: &'a ModelRequest) -> Answer<'a> {
        lock(&self.asked).push(request.clone());
        self.called.notify_one();
        let answer = lock(&self.answers).pop_front();
        Box::pin(async move {
            match answer {
                Some(Ok(content)) => Ok(reply(&content)),
                Some(Err(class)) => Err(ModelError::new(class, "an error of the test")),
                None => std::future::pending().await,
            }
        })
    }

    fn count<'a>(&'a self, _request: &'a ModelRequest) -> Counted<'a> {
        Box::pin(async { Ok(None) })
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn reply(content: &Value) -> Reply {
    let calls = content.as_array().is_some_and(|all| all.iter().any(|b| b["type"] == "tool_use"));
    Reply {
        id: "msg_1".to_owned(),
        model: "claude-sonnet-4-5".to_owned(),
        content: blocks(content),
        stop: if calls { Stop::ToolUse } else { Stop::EndTurn },
        usage: TokenUsage { input_tokens: 100, output_tokens: 50, ..TokenUsage::default() },
        usage_doubtful: false,
    }
}

#[allow(clippy::expect_used, reason = "a test stops where it fails")]
fn blocks(content: &Value) -> Vec<Block> {
    let raw = json!({ "role": "assistant", "content": content }).to_string();
    let meta = MessageMeta {
        seq: Seq(1),
        id: MessageId::new("m").expect("an id"),
        created_at: UnixMicros(0),
    };
    Message::parse(meta, raw.into(), MessageSource::Client)
        .expect("content of a message")
        .blocks
        .into_vec()
}
