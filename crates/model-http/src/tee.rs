//! Reads a forwarded answer without delaying it: collects the bytes as they arrive, and parses them later.

use bethink_model::Reply;
use bethink_sse::{Decoder, SseEvent};
use bytes::Bytes;
use reqwest::header::HeaderMap;

use crate::anthropic::AnthropicDialect;
use crate::dialect::{AnswerFormat, DeltaTaken, PartialReply, Stream};
use crate::gemini::GeminiFormat;
use crate::head::{BodyKind, encoding, kind};
use crate::limits::{MAX_ANSWER, MAX_EVENT, MAX_UNREAD};
use crate::openai::OpenAiDialect;
use crate::provider::WireFormat;
use crate::responses::ResponsesFormat;
use crate::trouble::ProviderTrouble;

/// Collects and parses the bytes of one answer.
#[derive(Debug)]
pub struct Tee {
    /// `None` if the body is compressed or not an answer.
    reader: Option<Box<dyn AnswerReader>>,
    unread: Vec<Bytes>,
    unread_bytes: usize,
    taken: usize,
    /// Whether the answer is too long or unreadable, so that it is no longer collected.
    given_up: bool,
}

/// The result of reading an answer.
#[derive(Debug, Default)]
pub struct ReadAnswer {
    /// The complete answer; `None` if it is incomplete or unreadable.
    pub reply: Option<Reply>,
    pub partial: PartialReply,
    /// Whether the answer is a stream without an end event.
    pub lacks_end: bool,
}

impl Tee {
    /// Creates a reader for an answer with these headers.
    pub fn new(format: WireFormat, headers: &HeaderMap) -> Self {
        let reader = match format {
            WireFormat::Messages => reader(AnthropicDialect, headers),
            WireFormat::ChatCompletions => reader(OpenAiDialect::new(false), headers),
            WireFormat::Responses => reader(ResponsesFormat, headers),
            WireFormat::GenerateContent { message } => reader(GeminiFormat { message }, headers),
        };
        Self { reader, unread: Vec::new(), unread_bytes: 0, taken: 0, given_up: false }
    }

    /// Collects bytes; parses them only if many are waiting.
    pub fn take(&mut self, bytes: &Bytes) {
        self.taken = self.taken.saturating_add(bytes.len());
        if self.given_up || self.taken > MAX_ANSWER {
            self.given_up = true;
            self.unread = Vec::new();
            return;
        }
        self.unread.push(bytes.clone());
        self.unread_bytes += bytes.len();
        if self.unread_bytes > MAX_UNREAD {
            self.read();
        }
    }

    /// Parses the bytes that are waiting.
    pub fn read(&mut self) {
        self.unread_bytes = 0;
        let Some(reader) = &mut self.reader else { return self.unread.clear() };
        for bytes in self.unread.drain(..) {
            self.given_up |= reader.push(&bytes).is_err();
        }
    }

    /// Finishes after the last byte.
    pub fn end(mut self) -> ReadAnswer {
        self.read();
        match self.reader {
            None => ReadAnswer::default(),
            Some(reader) if self.given_up => {
                ReadAnswer { partial: reader.partial(), ..ReadAnswer::default() }
            }
            Some(reader) => reader.end(),
        }
    }
}

/// Reads one kind of answer.
trait AnswerReader: Send + std::fmt::Debug {
    /// Fails if the answer cannot be read any further, not even to find its end.
    fn push(&mut self, bytes: &[u8]) -> Result<(), ()>;
    fn end(self: Box<Self>) -> ReadAnswer;

    fn partial(&self) -> PartialReply {
        PartialReply::default()
    }
}

fn reader<D: AnswerFormat + 'static>(
    dialect: D,
    headers: &HeaderMap,
) -> Option<Box<dyn AnswerReader>> {
    match kind(headers) {
        _ if encoding(headers).is_some() => None,
        BodyKind::Events => Some(Box::new(Streamed {
            stream: dialect.begin(),
            dialect,
            decoder: Decoder::new(MAX_EVENT),
            end: End::Missing,
            readable: true,
        })),
        BodyKind::Json | BodyKind::Unspecified => {
            Some(Box::new(WholeReader { dialect, json: Vec::new() }))
        }
        BodyKind::Other(_) => None,
    }
}

/// An answer that is not streamed. HTTP itself shows whether such an answer is complete.
#[derive(Debug)]
struct WholeReader<D> {
    dialect: D,
    json: Vec<u8>,
}

impl<D: AnswerFormat> AnswerReader for WholeReader<D> {
    fn push(&mut self, bytes: &[u8]) -> Result<(), ()> {
        self.json.extend_from_slice(bytes);
        Ok(())
    }

    fn end(self: Box<Self>) -> ReadAnswer {
        let json = std::str::from_utf8(&self.json).ok();
        let reply = json.and_then(|json| self.dialect.read_whole(json).ok());
        ReadAnswer { reply, ..ReadAnswer::default() }
    }
}

/// Whether a stream has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Missing,
    Reached,
    /// The provider sent an error in the stream, which ends it.
    Refused,
}

#[derive(Debug)]
struct Streamed<D: AnswerFormat> {
    dialect: D,
    stream: D::Stream,
    decoder: Decoder,
    end: End,
    /// Whether all events so far could be read. After an unreadable event, the reader only looks for the end event.
    readable: bool,
}

impl<D: AnswerFormat> AnswerReader for Streamed<D> {
    fn push(&mut self, bytes: &[u8]) -> Result<(), ()> {
        let mut events = Vec::new();
        let decoded = self.decoder.push(bytes, &mut events);
        for event in &events {
            if self.end == End::Missing {
                self.take(event);
            }
        }
        decoded.map_err(drop)
    }

    fn partial(&self) -> PartialReply {
        self.stream.meta().partial()
    }

    fn end(self: Box<Self>) -> ReadAnswer {
        let partial = self.stream.meta().partial();
        let may_be = self.readable && self.end != End::Refused;
        let reply = if may_be { self.stream.end().ok() } else { None };
        let lacks_end = D::HAS_END_EVENT && self.end == End::Missing && reply.is_none();
        ReadAnswer { reply, partial, lacks_end }
    }
}

impl<D: AnswerFormat> Streamed<D> {
    fn take(&mut self, event: &SseEvent) {
        if !self.readable {
            if self.dialect.is_last(event) {
                self.end = End::Reached;
            }
            return;
        }
        match self.stream.take(event) {
            Ok(DeltaTaken::Last) => self.end = End::Reached,
            Ok(DeltaTaken::More) => {}
            Err(ProviderTrouble::Refused(_)) => self.end = End::Refused,
            Err(ProviderTrouble::Detected(..) | ProviderTrouble::Silent(_)) => {
                self.readable = false;
                self.take(event);
            }
        }
    }
}

#[cfg(test)]
mod tests;
