mod streams;

use std::sync::{Arc, Mutex};

use bethink_model::ErrorClass;
use bethink_service::Result;
use http::HeaderMap;
use http::header::{CONTENT_TYPE, HeaderValue};
use http_body_util::BodyExt;
use serde_json::Value;

use super::*;
use crate::conversation::{ChainedHistory, GatewayRequest, PreparedPrompt, UpstreamPrompt};
use streams::{Stream, generate};

/// Number of streams, each of which is split at several thousand offsets. A debug build uses a tenth of them, which
/// takes about as long.
const STREAMS: u64 = if cfg!(debug_assertions) { 20 } else { 200 };

/// A planner that records the answers.
#[derive(Clone, Debug, Default)]
struct Notebook(Arc<Mutex<Vec<ProviderResponse>>>);

impl PromptPlanner for Notebook {
    type Ticket = ();

    async fn prepare(&self, _: GatewayRequest) -> Result<PreparedPrompt<()>> {
        Ok(PreparedPrompt { ticket: (), prompt: UpstreamPrompt::Unchanged })
    }

    async fn history_through(&self, _: &str) -> Result<Option<ChainedHistory>> {
        Ok(None)
    }

    async fn count(&self, _: GatewayRequest) -> Result<UpstreamPrompt> {
        Ok(UpstreamPrompt::Unchanged)
    }

    async fn refused(&self, (): &(), _: u16, _: &str) -> Result<Option<PreparedPrompt<()>>> {
        Ok(None)
    }

    fn accepted(&self, (): &()) {}

    fn answered(&self, (): (), answer: ProviderResponse) {
        self.0.lock().unwrap().push(answer);
    }
}

/// The pieces of an answer, each after a pause, and whether it is cut off.
struct Pieces {
    left: Vec<Bytes>,
    silent: bool,
    breaks: bool,
}

impl AnswerSource for Pieces {
    fn poll_data(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Bytes, Box<ModelError>>>> {
        self.silent = !self.silent;
        if self.silent {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        match self.left.pop() {
            Some(piece) => Poll::Ready(Some(Ok(piece))),
            None if self.breaks => {
                Poll::Ready(Some(Err(Box::new(ModelError::new(ErrorClass::Broken, "reset")))))
            }
            None => Poll::Ready(None),
        }
    }
}

fn relay(wire: WireFormat, pieces: &[&[u8]], breaks: bool) -> (Relay<Notebook, Pieces>, Notebook) {
    let kind = HeaderValue::from_static("text/event-stream");
    let tee = Tee::new(wire, &HeaderMap::from_iter([(CONTENT_TYPE, kind)]));
    let left = pieces.iter().rev().map(|piece| Bytes::copy_from_slice(piece)).collect();
    let (notebook, source) = (Notebook::default(), Pieces { left, silent: false, breaks });
    let turn = PendingAnswer::new(notebook.clone(), ());
    (Relay { source, reader: Some((tee, turn)) }, notebook)
}

/// Returns what the client receives, if the answer ends correctly, and what is reported to the planner.
async fn run(
    wire: WireFormat,
    pieces: &[&[u8]],
    breaks: bool,
) -> (Option<Bytes>, ProviderResponse) {
    let (relay, notebook) = relay(wire, pieces, breaks);
    let came = relay.collect().await.ok().map(http_body_util::Collected::to_bytes);
    let mut answer = std::mem::take(&mut *notebook.0.lock().unwrap());
    assert_eq!(answer.len(), 1, "the answer is reported once");
    (came, answer.remove(0))
}

async fn every_split(seed: u64, stream: &Stream) {
    for at in 0..=stream.bytes.len() {
        let (a, b) = stream.bytes.split_at(at);
        let (came, answer) = run(stream.wire, &[a, b], false).await;
        assert!(came.is_some_and(|came| came == stream.bytes), "seed {seed} cut at {at}");
        assert_eq!(answer.outcome, AnswerOutcome::Whole, "seed {seed} cut at {at}");
        if at % 97 == 0 {
            let message: Value = serde_json::from_slice(&answer.message.unwrap()).unwrap();
            assert_eq!(message["content"], stream.content, "seed {seed} cut at {at}");
        }
    }
    let single: Vec<&[u8]> = stream.bytes.chunks(1).collect();
    let (came, answer) = run(stream.wire, &single, false).await;
    assert!(came.is_some_and(|came| came == stream.bytes));
    let message: Value = serde_json::from_slice(&answer.message.unwrap()).unwrap();
    assert_eq!(message["content"], stream.content);
}

/// Every byte is forwarded, and the recorded answer is complete, wherever the stream is split. Uses two threads for
/// several hundred thousand runs.
#[test]
fn streams_pass_byte_for_byte_at_every_split() {
    let half = |odd: u64| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        (0..STREAMS).filter(|seed| seed % 2 == odd).for_each(|seed| {
            runtime.block_on(every_split(seed, &generate(seed)));
        });
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(move || half(1));
        half(0);
        other.join().unwrap();
    });
}

#[tokio::test]
async fn a_stream_without_its_end_breaks_off_for_the_client_too() {
    for seed in 0..20 {
        let Stream { wire, bytes, .. } = generate(seed);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        // Complete events without the end event.
        let end = if wire == WireFormat::Messages { "event:" } else { "data:" };
        let cut = match wire {
            WireFormat::Messages => text.rfind(end).unwrap(),
            WireFormat::Responses => {
                let last = text.find("response.completed").unwrap();
                text[..last].rfind("response.output_item.done").unwrap()
            }
            // It has no end event, and its clients detect a missing reason themselves.
            WireFormat::GenerateContent { .. } => continue,
            WireFormat::ChatCompletions => {
                text.find("finish_reason\":\"").and_then(|at| text[..at].rfind(end)).unwrap()
            }
        };
        let (came, answer) = run(wire, &[&bytes[..cut]], false).await;
        assert!(came.is_none() && answer.outcome == AnswerOutcome::Broken, "seed {seed}");
        let (came, answer) = run(wire, &[&bytes[..cut]], true).await;
        assert!(came.is_none() && answer.outcome == AnswerOutcome::Broken, "seed {seed}");
        let (came, answer) = run(wire, &[&bytes], true).await;
        assert!(
            came.is_none() && answer.outcome == AnswerOutcome::Whole,
            "seed {seed}: the answer is complete"
        );
    }
}

#[test]
fn a_client_that_goes_is_told_of_with_what_is_known() {
    let Stream { wire, bytes, .. } =
        (0..).map(generate).find(|s| s.wire == WireFormat::Messages).unwrap();
    let (mut relay, notebook) = relay(wire, &[&bytes[..bytes.len() / 2]], false);
    let waker = std::task::Waker::noop();
    let mut context = Context::from_waker(waker);
    while Pin::new(&mut relay).poll_frame(&mut context).is_pending() {}
    drop(relay);
    let answer = notebook.0.lock().unwrap().pop().unwrap();
    assert_eq!(answer.outcome, AnswerOutcome::Cancelled);
    let message: Value = serde_json::from_slice(&answer.message.unwrap()).unwrap();
    assert_eq!(
        (message["id"].as_str(), message["content"].as_array().map(Vec::len)),
        (Some("msg_1"), Some(0))
    );
    assert_eq!(message["usage"]["input_tokens"], 9);
}
