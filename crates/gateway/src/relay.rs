//! Streams an answer to the client: each piece as it arrives, and no faster than the client reads it.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bethink_model::{ModelError, Reply};
use bethink_model_http::{PartialReply, ResponseStream, Tee, WireFormat};
use bethink_transcript::TokenUsage;
use bethink_transcript::json::encode_string;
use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http_body::{Body as HttpBody, Frame};

use crate::conversation::{AnswerOutcome, GatewayService, ProviderResponse};
use crate::exchange::PendingAnswer;
use crate::headers;
use crate::planner::PromptPlanner;

/// The provider's answer was cut off. The connection to the client is cut off too, so that the client does not mistake
/// the answer for a complete one.
#[derive(Debug, thiserror::Error)]
#[error("the provider's answer was cut off")]
pub(crate) struct CutOff;

/// A source of an answer's bytes.
pub(crate) trait AnswerSource: Send + 'static {
    /// Returns the next bytes; `None` at the end.
    fn poll_data(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Box<ModelError>>>>;
}

impl AnswerSource for ResponseStream {
    fn poll_data(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Box<ModelError>>>> {
        ResponseStream::poll_data(self, context)
    }
}

/// A body that is forwarded to the client, and parsed while no data arrives.
pub(crate) struct Relay<M: PromptPlanner, S> {
    source: S,
    /// `None` if the answer is not recorded, or has ended.
    reader: Option<(Tee, PendingAnswer<M>)>,
}

impl<M: PromptPlanner, S> Relay<M, S> {
    /// Reports the answer after the last byte. Returns whether the stream ended without the provider's final event.
    fn end(&mut self, otherwise: AnswerOutcome) -> bool {
        let Some((tee, mut pending)) = self.reader.take() else { return false };
        let answer = tee.end();
        let outcome = if answer.reply.is_some() { AnswerOutcome::Whole } else { otherwise };
        let message = match answer.reply {
            Some(reply) => Some(whole(&reply)),
            None => partial(&answer.partial),
        };
        pending.finish(ProviderResponse { message, outcome });
        answer.lacks_end
    }
}

/// No field is structurally pinned.
impl<M: PromptPlanner, S> Unpin for Relay<M, S> {}

impl<M: PromptPlanner, S: AnswerSource> HttpBody for Relay<M, S> {
    type Data = Bytes;
    type Error = CutOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CutOff>>> {
        match self.source.poll_data(context) {
            Poll::Ready(Some(Ok(bytes))) => {
                if let Some((tee, _)) = &mut self.reader {
                    tee.take(&bytes);
                }
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Poll::Ready(Some(Err(error))) => {
                tracing::debug!(%error, "an answer was cut off");
                self.end(AnswerOutcome::Broken);
                Poll::Ready(Some(Err(CutOff)))
            }
            Poll::Ready(None) => match self.end(AnswerOutcome::Broken) {
                true => {
                    tracing::debug!("an answer ended without its final event");
                    Poll::Ready(Some(Err(CutOff)))
                }
                false => Poll::Ready(None),
            },
            Poll::Pending => {
                if let Some((tee, _)) = &mut self.reader {
                    tee.read();
                }
                Poll::Pending
            }
        }
    }
}

/// The end of a body with a known length is never polled, so a complete answer may also end here.
impl<M: PromptPlanner, S> Drop for Relay<M, S> {
    fn drop(&mut self) {
        self.end(AnswerOutcome::Cancelled);
    }
}

/// Forwards an answer and reports it to the planner.
pub(crate) fn recorded<M: PromptPlanner>(
    format: WireFormat,
    upstream: ResponseStream,
    pending: PendingAnswer<M>,
) -> Response {
    let tee = Tee::new(format, &upstream.headers);
    respond(upstream, Some((tee, pending)))
}

/// Forwards an answer without recording it.
pub(crate) fn unrecorded(upstream: ResponseStream) -> Response {
    respond::<GatewayService>(upstream, None)
}

/// Forwards a refusal that was read completely.
pub(crate) fn refusal(upstream: &ResponseStream, body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = upstream.status;
    *response.headers_mut() = headers::down(&upstream.headers);
    // The length changes if a key was removed from the body.
    response.headers_mut().remove(CONTENT_LENGTH);
    response
}

fn respond<M: PromptPlanner>(
    upstream: ResponseStream,
    reader: Option<(Tee, PendingAnswer<M>)>,
) -> Response {
    let (status, headers) = (upstream.status, headers::down(&upstream.headers));
    let mut response = Response::new(Body::new(Relay { source: upstream, reader }));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Returns `{id, role, model, content, stop_reason, usage}`, without `usage` if it is implausible.
fn whole(reply: &Reply) -> Bytes {
    let content: Vec<&str> = reply.content.iter().map(bethink_transcript::Block::as_str).collect();
    let usage = (!reply.usage_doubtful).then_some(reply.usage);
    message(&reply.id, &reply.model, &content.join(","), Some(reply.stop.as_str()), usage)
}

/// Returns what is known about an incomplete answer: its model and usage.
fn partial(partial: &PartialReply) -> Option<Bytes> {
    let known = !partial.id.is_empty() || partial.usage.is_some();
    known.then(|| message(&partial.id, &partial.model, "", None, partial.usage))
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
    let usage = usage.and_then(|usage| serde_json::to_string(&usage).ok());
    let usage = usage.map_or_else(String::new, |usage| format!(r#","usage":{usage}"#));
    let model = encode_string(model);
    Bytes::from(format!(
        r#"{{{id}"role":"assistant","model":{model},"content":[{content}],"stop_reason":{stop}{usage}}}"#
    ))
}

#[cfg(test)]
mod tests;
