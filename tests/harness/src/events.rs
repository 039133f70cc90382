//! Server-sent events as they arrive.

use std::collections::VecDeque;
use std::io::BufReader;
use std::net::TcpStream;

use serde_json::Value;

use crate::http;

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub id: String,
    pub kind: String,
    pub data: String,
}

impl Event {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).expect("event data is JSON")
    }
}

/// An open stream; the connection closes when it is dropped.
#[derive(Debug)]
pub struct EventStream {
    connection: BufReader<TcpStream>,
    text: Vec<u8>,
    ready: VecDeque<Event>,
}

impl EventStream {
    pub(crate) fn new(connection: BufReader<TcpStream>) -> Self {
        Self { connection, text: Vec::new(), ready: VecDeque::new() }
    }

    /// The next event of this kind; others are skipped.
    #[track_caller]
    pub fn next_of(&mut self, kind: &str) -> Event {
        loop {
            match self.next() {
                Some(event) if event.kind == kind => return event,
                Some(_) => {}
                None => panic!("the stream ended before a {kind} event"),
            }
        }
    }

    fn take(&mut self, chunk: &[u8]) {
        self.text.extend_from_slice(chunk);
        while let Some(end) = self.text.windows(2).position(|w| w == b"\n\n") {
            let block: Vec<u8> = self.text.drain(..end + 2).collect();
            self.ready.extend(parse(&String::from_utf8_lossy(&block)));
        }
    }
}

/// The events without comments. Panics if nothing comes within the connection's time limit.
impl Iterator for EventStream {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            match http::chunk(&mut self.connection) {
                Ok(Some(chunk)) => self.take(&chunk),
                Ok(None) => return None,
                Err(e) if http::lost(&e) => return None,
                Err(e) => panic!("no event: {e}"),
            }
        }
    }
}

fn parse(block: &str) -> Option<Event> {
    let mut event = Event { id: String::new(), kind: "message".to_owned(), data: String::new() };
    let mut any = false;
    for line in block.lines() {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => event.id = value.to_owned(),
            "event" => event.kind = value.to_owned(),
            "data" => event.data.push_str(value),
            _ => continue,
        }
        any = true;
    }
    (any && !event.data.is_empty()).then_some(event)
}
