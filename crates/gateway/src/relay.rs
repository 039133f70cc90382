//! An answer on its way to the client: each piece as it comes, and no faster than the client takes it.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bethink_model::{ModelError, Reply, Stop};
use bethink_model_http::{Begun, Passing, Provider, Tee};
use bethink_transcript::TokenUsage;
use bethink_transcript::json::encode_string;
use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http_body::{Body as HttpBody, Frame};

use crate::conversation::{AnswerOutcome, GatewayService, ProviderResponse};
use crate::exchange::PendingAnswer;
use crate::headers;
use crate::planner::PromptPlanner;

/// The answer broke off, and so does the connection to the client: it must not take the half for the whole.
#[derive(Debug, thiserror::Error)]
#[error("the upstream's answer was cut off")]
pub(crate) struct BrokeOff;

/// Where an answer comes from.
pub(crate) trait AnswerSource: Send + 'static {
    /// The next bytes; `None` at the end.
    fn poll_data(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Box<ModelError>>>>;
}

impl AnswerSource for Passing {
    fn poll_data(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Box<ModelError>>>> {
        Passing::poll_data(self, context)
    }
}

/// A body that passes through, and is read on the side while nothing comes.
pub(crate) struct Relay<M: PromptPlanner, S> {
    source: S,
    /// None where nobody listens, or all was said.
    ear: Option<(Tee, PendingAnswer<M>)>,
}

impl<M: PromptPlanner, S> Relay<M, S> {
    /// After the last byte. Whether the stream lacks the end that its provider gives every one.
    fn end(&mut self, otherwise: AnswerOutcome) -> bool {
        let Some((tee, mut pending)) = self.ear.take() else { return false };
        let heard = tee.end();
        let outcome = if heard.reply.is_some() { AnswerOutcome::Whole } else { otherwise };
        let message = match heard.reply {
            Some(reply) => Some(whole(&reply)),
            None => begun(&heard.begun),
        };
        pending.heard(ProviderResponse { message, outcome });
        heard.lacks_end
    }
}

/// Nothing in it is pinned where it stands.
impl<M: PromptPlanner, S> Unpin for Relay<M, S> {}

impl<M: PromptPlanner, S: AnswerSource> HttpBody for Relay<M, S> {
    type Data = Bytes;
    type Error = BrokeOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokeOff>>> {
        match self.source.poll_data(context) {
            Poll::Ready(Some(Ok(bytes))) => {
                if let Some((tee, _)) = &mut self.ear {
                    tee.take(&bytes);
                }
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Poll::Ready(Some(Err(error))) => {
                tracing::debug!(%error, "an answer was cut off");
                self.end(AnswerOutcome::Broken);
                Poll::Ready(Some(Err(BrokeOff)))
            }
            Poll::Ready(None) => match self.end(AnswerOutcome::Broken) {
                true => {
                    tracing::debug!("an answer ended without its final event");
                    Poll::Ready(Some(Err(BrokeOff)))
                }
                false => Poll::Ready(None),
            },
            Poll::Pending => {
                if let Some((tee, _)) = &mut self.ear {
                    tee.read();
                }
                Poll::Pending
            }
        }
    }
}

/// Nobody polls for the end of a body whose length was told, so that a whole answer may end here, too.
impl<M: PromptPlanner, S> Drop for Relay<M, S> {
    fn drop(&mut self) {
        self.end(AnswerOutcome::Cancelled);
    }
}

/// An answer that the memory is told of.
pub(crate) fn heard<M: PromptPlanner>(
    provider: Provider,
    passing: Passing,
    pending: PendingAnswer<M>,
) -> Response {
    let tee = Tee::new(provider, &passing.headers);
    respond(passing, Some((tee, pending)))
}

/// An answer that nobody listens to.
pub(crate) fn plain(passing: Passing) -> Response {
    respond::<GatewayService>(passing, None)
}

/// A refusal that was read as a whole.
pub(crate) fn refusal(passing: &Passing, body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = passing.status;
    *response.headers_mut() = headers::down(&passing.headers);
    // A key may have been taken out of it.
    response.headers_mut().remove(CONTENT_LENGTH);
    response
}

fn respond<M: PromptPlanner>(passing: Passing, ear: Option<(Tee, PendingAnswer<M>)>) -> Response {
    let (status, headers) = (passing.status, headers::down(&passing.headers));
    let mut response = Response::new(Body::new(Relay { source: passing, ear }));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// `{id, role, model, content, stop_reason, usage}`; figures that can't be trusted are left out.
fn whole(reply: &Reply) -> Bytes {
    let content: Vec<&str> = reply.content.iter().map(bethink_transcript::Block::as_str).collect();
    let usage = (!reply.usage_doubtful).then_some(reply.usage);
    message(&reply.id, &reply.model, &content.join(","), Some(stop(&reply.stop)), usage)
}

/// Of an answer that did not come whole there are only its figures.
fn begun(begun: &Begun) -> Option<Bytes> {
    let known = !begun.id.is_empty() || begun.usage.is_some();
    known.then(|| message(&begun.id, &begun.model, "", None, begun.usage))
}

fn message(
    id: &str,
    model: &str,
    content: &str,
    stop: Option<&str>,
    usage: Option<TokenUsage>,
) -> Bytes {
    let id = match id {
        "" => String::new(),
        id => format!("\"id\":{},", encode_string(id)),
    };
    let stop = stop.map_or_else(|| "null".to_owned(), encode_string);
    let usage = usage.map_or_else(String::new, |usage| {
        format!(
            r#","usage":{{"input_tokens":{},"output_tokens":{},"cache_creation_input_tokens":{},"cache_read_input_tokens":{}}}"#,
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_creation_input_tokens,
            usage.cache_read_input_tokens
        )
    });
    let model = encode_string(model);
    Bytes::from(format!(
        r#"{{{id}"role":"assistant","model":{model},"content":[{content}],"stop_reason":{stop}{usage}}}"#
    ))
}

fn stop(stop: &Stop) -> &str {
    match stop {
        Stop::EndTurn => "end_turn",
        Stop::MaxTokens => "max_tokens",
        Stop::StopSequence => "stop_sequence",
        Stop::ToolUse => "tool_use",
        Stop::PauseTurn => "pause_turn",
        Stop::Refusal => "refusal",
        Stop::WindowFull => "model_context_window_exceeded",
        Stop::Other(other) => other,
    }
}

#[cfg(test)]
mod tests;
