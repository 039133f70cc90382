//! Decodes server-sent events from bytes that arrive in pieces of any size.
//!
//! Other decoders buffer events of any size; this one limits the size. This decoder follows the standard's rules for
//! `event`, `data` and `id`, and ignores `retry`.

/// One event that was completed by a blank line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The last id in the stream, after which a client can resume.
    pub id: String,
    /// Empty if the event has no name.
    pub kind: String,
    /// Lines of data, joined by line feeds. Invalid UTF-8 is replaced.
    pub data: String,
}

/// The error for an event that is larger than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event has more than {0} bytes")]
pub struct TooLarge(pub usize);

/// Decodes bytes into events. As the standard requires, an event without its final blank line is never returned,
/// because it may be incomplete.
#[derive(Debug)]
pub struct Decoder {
    most: usize,
    line: Vec<u8>,
    /// The byte order mark that the first line may begin with, which is ignored; empty after that line.
    mark: &'static [u8],
    after_cr: bool,
    id: String,
    kind: String,
    data: Vec<u8>,
    has_data: bool,
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Decoder {
    /// Limits events to `most` bytes, including their names and ids.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            line: Vec::new(),
            mark: BYTE_ORDER_MARK,
            after_cr: false,
            id: String::new(),
            kind: String::new(),
            data: Vec::new(),
            has_data: false,
        }
    }

    /// Decodes the bytes that arrived, and appends the events that they complete.
    pub fn push(&mut self, bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), TooLarge> {
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|b| matches!(b, b'\n' | b'\r')) {
            let (line, end) = rest.split_at(at);
            self.grow(line)?;
            rest = end.get(1..).unwrap_or_default();
            let is_return = end.first() == Some(&b'\r');
            let second_half =
                std::mem::replace(&mut self.after_cr, is_return) && !is_return && at == 0;
            if !second_half {
                let line = std::mem::take(&mut self.line);
                events.extend(self.read_line(&line));
            }
        }
        self.grow(rest)
    }

    fn grow(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.after_cr = false;
        if self.line.len() + self.data.len() + self.kind.len() + self.id.len() + bytes.len()
            > self.most
        {
            return Err(TooLarge(self.most));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn read_line(&mut self, line: &[u8]) -> Option<SseEvent> {
        let line = line.strip_prefix(std::mem::take(&mut self.mark)).unwrap_or(line);
        if line.is_empty() {
            return self.end_event();
        }
        let colon = line.iter().position(|b| *b == b':').unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            // The standard ignores ids with a NUL.
            b"id" if !value.contains(&0) => {
                self.id = String::from_utf8_lossy(value).into_owned();
            }
            b"event" => self.kind = String::from_utf8_lossy(value).into_owned(),
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            // Comments, which keep the connection open, and unknown fields.
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<SseEvent> {
        let kind = std::mem::take(&mut self.kind);
        let data = std::mem::take(&mut self.data);
        if !std::mem::take(&mut self.has_data) {
            return None;
        }
        let data = String::from_utf8(data)
            .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned());
        Some(SseEvent { id: self.id.clone(), kind, data })
    }
}

#[cfg(test)]
mod tests;
