//! Reads a forwarded answer without delaying it: bytes are collected as they arrive, and read when there is time.

use bethink_model::Reply;
use bethink_sse::{Decoder, SseEvent};
use bytes::Bytes;
use reqwest::header::HeaderMap;

use crate::anthropic::AnthropicDialect;
use crate::dialect::{Begun, DeltaTaken, Dialect, Stream};
use crate::head::{BodyKind, encoding, kind};
use crate::limits::{MAX_ANSWER, MAX_EVENT, MAX_UNREAD};
use crate::openai::OpenAiDialect;
use crate::provider::Provider;
use crate::trouble::ProviderTrouble;

/// Collects the bytes of one answer.
#[derive(Debug)]
pub struct Tee {
    /// `None` if it is not an answer, or a compressed one.
    reader: Option<Box<dyn AnswerReader>>,
    unread: Vec<Bytes>,
    unread_bytes: usize,
    taken: usize,
    /// It is too long or unreadable: nothing of it is kept.
    given_up: bool,
}

/// What was read of an answer.
#[derive(Debug, Default)]
pub struct Overheard {
    /// The complete answer; `None` if it is incomplete or unreadable.
    pub reply: Option<Reply>,
    pub begun: Begun,
    /// It is a stream without an end event.
    pub lacks_end: bool,
}

impl Tee {
    /// For an answer with these headers.
    pub fn new(provider: Provider, headers: &HeaderMap) -> Self {
        let reader = match provider {
            Provider::Anthropic => reader(AnthropicDialect, headers),
            Provider::OpenAi => reader(OpenAiDialect::new(false), headers),
        };
        Self { reader, unread: Vec::new(), unread_bytes: 0, taken: 0, given_up: false }
    }

    /// Collects bytes; reads them only if many are waiting.
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

    /// Reads the bytes that are waiting.
    pub fn read(&mut self) {
        self.unread_bytes = 0;
        let Some(reader) = &mut self.reader else { return self.unread.clear() };
        for bytes in self.unread.drain(..) {
            self.given_up |= reader.push(&bytes).is_err();
        }
    }

    /// Finishes after the last byte.
    pub fn end(mut self) -> Overheard {
        self.read();
        match self.reader {
            None => Overheard::default(),
            Some(reader) if self.given_up => {
                Overheard { begun: reader.begun(), ..Overheard::default() }
            }
            Some(reader) => reader.end(),
        }
    }
}

/// Reads one kind of answer. `Err` means that it cannot be read any further, not even to find its end.
trait AnswerReader: Send + std::fmt::Debug {
    fn push(&mut self, bytes: &[u8]) -> Result<(), ()>;
    fn end(self: Box<Self>) -> Overheard;

    fn begun(&self) -> Begun {
        Begun::default()
    }
}

fn reader<D: Dialect + 'static>(dialect: D, headers: &HeaderMap) -> Option<Box<dyn AnswerReader>> {
    match kind(headers) {
        _ if encoding(headers).is_some() => None,
        BodyKind::Events => Some(Box::new(Streamed {
            stream: D::Stream::default(),
            dialect,
            decoder: Decoder::new(MAX_EVENT),
            end: End::Missing,
            readable: true,
        })),
        BodyKind::Json | BodyKind::Unsaid => {
            Some(Box::new(WholeReader { dialect, json: Vec::new() }))
        }
        BodyKind::Other(_) => None,
    }
}

/// An answer that is not streamed; HTTP says whether it is complete.
#[derive(Debug)]
struct WholeReader<D> {
    dialect: D,
    json: Vec<u8>,
}

impl<D: Dialect> AnswerReader for WholeReader<D> {
    fn push(&mut self, bytes: &[u8]) -> Result<(), ()> {
        self.json.extend_from_slice(bytes);
        Ok(())
    }

    fn end(self: Box<Self>) -> Overheard {
        let json = std::str::from_utf8(&self.json).ok();
        let reply = json.and_then(|json| self.dialect.read_whole(json).ok());
        Overheard { reply, ..Overheard::default() }
    }
}

/// How far a stream has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Missing,
    Came,
    /// The provider sent an error in the stream, which ends it.
    Refused,
}

#[derive(Debug)]
struct Streamed<D: Dialect> {
    dialect: D,
    stream: D::Stream,
    decoder: Decoder,
    end: End,
    /// Every event so far was understood. After one that was not, only the end is looked for.
    readable: bool,
}

impl<D: Dialect> AnswerReader for Streamed<D> {
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

    fn begun(&self) -> Begun {
        self.stream.begun()
    }

    fn end(self: Box<Self>) -> Overheard {
        let begun = self.stream.begun();
        let may_be = self.readable && self.end != End::Refused;
        let reply = if may_be { self.stream.end().ok() } else { None };
        let lacks_end = self.end == End::Missing && reply.is_none();
        Overheard { reply, begun, lacks_end }
    }
}

impl<D: Dialect> Streamed<D> {
    fn take(&mut self, event: &SseEvent) {
        if !self.readable {
            if self.dialect.is_last(event) {
                self.end = End::Came;
            }
            return;
        }
        match self.stream.take(event) {
            Ok(DeltaTaken::Last) => self.end = End::Came,
            Ok(DeltaTaken::More) => {}
            Err(ProviderTrouble::Refused(_)) => self.end = End::Refused,
            Err(ProviderTrouble::Found(..)) => {
                self.readable = false;
                self.take(event);
            }
        }
    }
}

#[cfg(test)]
mod tests;
