//! Reads an answer that passes by, without holding it up: bytes are taken as they come, and read when there is time.

use bethink_model::Reply;
use bethink_sse::{Decoder, Event};
use bethink_transcript::Usage;
use bytes::Bytes;
use reqwest::header::HeaderMap;

use crate::anthropic::Anthropic;
use crate::call::{Dialect, Stream, Taken};
use crate::endpoint::Provider;
use crate::head::{Kind, encoding, kind};
use crate::limits::{MAX_ANSWER, MAX_EVENT, MAX_UNREAD};
use crate::openai::OpenAi;
use crate::trouble::Trouble;
use crate::usage::Tally;

/// Takes the bytes of one answer.
#[derive(Debug)]
pub struct Tee {
    reader: Box<dyn Reader>,
    unread: Vec<Bytes>,
    unread_bytes: usize,
    taken: usize,
    /// It is longer than what is read, or can't be read: nothing of it is kept.
    given_up: bool,
}

/// What an answer was.
#[derive(Debug)]
pub struct Overheard {
    /// The whole answer; `None` where it did not come whole, or can't be read.
    pub reply: Option<Reply>,
    pub begun: Begun,
    /// It is a stream in which the provider did not say that it has ended.
    pub lacks_end: bool,
}

/// What is known of an answer that broke off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Begun {
    pub id: String,
    pub model: String,
    /// `None` where a figure is missing or absurd.
    pub usage: Option<Usage>,
}

impl Begun {
    pub(crate) fn new(id: String, model: String, tally: Tally) -> Self {
        let (usage, doubtful) = tally.end();
        Self { id, model, usage: (!doubtful).then_some(usage) }
    }
}

impl Tee {
    /// For an answer with these headers.
    pub fn new(provider: Provider, headers: &HeaderMap) -> Self {
        let reader = match provider {
            Provider::Anthropic => reader(Anthropic, headers),
            Provider::OpenAi => reader(OpenAi::new(false), headers),
        };
        Self { reader, unread: Vec::new(), unread_bytes: 0, taken: 0, given_up: false }
    }

    /// Takes what came; reads nothing unless much is waiting.
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

    /// Reads what is waiting.
    pub fn read(&mut self) {
        self.unread_bytes = 0;
        for bytes in std::mem::take(&mut self.unread) {
            self.given_up |= self.reader.push(&bytes).is_err();
        }
    }

    /// After the last byte.
    pub fn end(mut self) -> Overheard {
        self.read();
        if self.given_up {
            return Overheard { reply: None, begun: self.reader.begun(), lacks_end: false };
        }
        self.reader.end()
    }
}

/// Reads one shape of an answer. `Err`: it can't be read any further, not even for its end.
trait Reader: Send + std::fmt::Debug {
    fn push(&mut self, bytes: &[u8]) -> Result<(), ()>;
    fn begun(&self) -> Begun;
    fn end(self: Box<Self>) -> Overheard;
}

fn reader<D>(dialect: D, headers: &HeaderMap) -> Box<dyn Reader>
where
    D: Dialect + 'static,
    D::Stream: std::fmt::Debug,
{
    match kind(headers) {
        _ if encoding(headers).is_some() => Box::new(Unreadable),
        Kind::Events => Box::new(Streamed {
            stream: dialect.stream(),
            dialect,
            decoder: Decoder::new(MAX_EVENT),
            events: Vec::new(),
            end: End::Missing,
            readable: true,
        }),
        Kind::Json | Kind::Unsaid => Box::new(Whole { dialect, json: Vec::new() }),
        Kind::Other(_) => Box::new(Unreadable),
    }
}

/// Something else than an answer, or a compressed one.
#[derive(Debug)]
struct Unreadable;

impl Reader for Unreadable {
    fn push(&mut self, _: &[u8]) -> Result<(), ()> {
        Err(())
    }

    fn begun(&self) -> Begun {
        Begun::default()
    }

    fn end(self: Box<Self>) -> Overheard {
        Overheard { reply: None, begun: Begun::default(), lacks_end: false }
    }
}

/// HTTP tells whether it came whole.
#[derive(Debug)]
struct Whole<D> {
    dialect: D,
    json: Vec<u8>,
}

impl<D: Dialect> Reader for Whole<D> {
    fn push(&mut self, bytes: &[u8]) -> Result<(), ()> {
        self.json.extend_from_slice(bytes);
        Ok(())
    }

    fn begun(&self) -> Begun {
        Begun::default()
    }

    fn end(self: Box<Self>) -> Overheard {
        let json = std::str::from_utf8(&self.json).ok();
        let reply = json.and_then(|json| self.dialect.read_whole(json).ok());
        Overheard { reply, begun: Begun::default(), lacks_end: false }
    }
}

/// How far a stream has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Missing,
    Came,
    /// The provider told an error in the stream, which ends it.
    Refused,
}

#[derive(Debug)]
struct Streamed<D: Dialect> {
    dialect: D,
    stream: D::Stream,
    decoder: Decoder,
    events: Vec<Event>,
    end: End,
    /// No event yet that can't be understood. Others may follow, and the end is looked for among them.
    readable: bool,
}

impl<D> Reader for Streamed<D>
where
    D: Dialect,
    D::Stream: std::fmt::Debug,
{
    fn push(&mut self, bytes: &[u8]) -> Result<(), ()> {
        let mut events = std::mem::take(&mut self.events);
        let decoded = self.decoder.push(bytes, &mut events);
        for event in events.drain(..) {
            if self.end == End::Missing {
                self.take(&event);
            }
        }
        self.events = events;
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
    fn take(&mut self, event: &Event) {
        if !self.readable {
            if self.dialect.is_last(event) {
                self.end = End::Came;
            }
            return;
        }
        match self.stream.take(event) {
            Ok(Taken::Last) => self.end = End::Came,
            Ok(_) => {}
            Err(Trouble::Refused(_)) => self.end = End::Refused,
            Err(Trouble::Found(..)) => {
                self.readable = false;
                self.take(event);
            }
        }
    }
}

#[cfg(test)]
mod tests;
