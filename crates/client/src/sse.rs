//! Server-sent events from bytes, however the network cuts them.
//!
//! Our own decoder because the public ones buffer an event of any size.

/// Largest event taken in, in bytes; the daemon's own are far smaller.
pub const MAX_EVENT: usize = 8 * 1024 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The last id seen, to resume after.
    pub id: String,
    /// `message` when the stream names none.
    pub kind: String,
    pub data: String,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of more than {} bytes", MAX_EVENT)]
pub struct TooLarge;

/// Takes bytes in, gives events out.
#[derive(Debug, Default)]
pub struct Decoder {
    line: Vec<u8>,
    after_cr: bool,
    id: String,
    kind: String,
    data: String,
    has_data: bool,
}

impl Decoder {
    /// Takes in what arrived and appends the events it completes.
    pub fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), TooLarge> {
        for &byte in bytes {
            let second_half = std::mem::take(&mut self.after_cr) && byte == b'\n';
            if second_half {
                continue;
            }
            match byte {
                b'\n' | b'\r' => {
                    self.after_cr = byte == b'\r';
                    events.extend(self.end_line());
                }
                _ if self.line.len() + self.data.len() >= MAX_EVENT => return Err(TooLarge),
                _ => self.line.push(byte),
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return self.end_event();
        }
        let text = String::from_utf8_lossy(&line);
        let (field, value) = text.split_once(':').unwrap_or((&text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.kind),
            "id" => value.clone_into(&mut self.id),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            // comments keep the connection alive; other fields are for later
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<Event> {
        let kind = std::mem::take(&mut self.kind);
        let data = std::mem::take(&mut self.data);
        if !std::mem::take(&mut self.has_data) {
            return None;
        }
        let kind = if kind.is_empty() { "message".to_owned() } else { kind };
        Some(Event { id: self.id.clone(), kind, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(pieces: &[&[u8]]) -> Vec<Event> {
        let (mut decoder, mut events) = (Decoder::default(), Vec::new());
        for piece in pieces {
            decoder.push(piece, &mut events).unwrap();
        }
        events
    }

    fn event(id: &str, kind: &str, data: &str) -> Event {
        Event { id: id.into(), kind: kind.into(), data: data.into() }
    }

    #[test]
    fn events_are_the_same_wherever_the_bytes_are_cut() {
        let stream = ": hello\r\n\r\nid: 1\r\nevent: notes\r\ndata: {\"a\":\"\u{e9}\u{4e2d}\"}\r\n\r\ndata:x\ndata: y\n\nretry: 5\nid: 3\n\ndata\n\n".as_bytes();
        let expect = [
            event("1", "notes", "{\"a\":\"\u{e9}\u{4e2d}\"}"),
            event("1", "message", "x\ny"),
            event("3", "message", ""),
        ];
        assert_eq!(decode(&[stream]), expect);
        for cut in 0..stream.len() {
            assert_eq!(decode(&[&stream[..cut], &stream[cut..]]), expect, "cut at {cut}");
        }
        let single: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(decode(&single), expect);
    }

    #[test]
    fn an_unfinished_event_is_not_handed_out() {
        assert_eq!(decode(&[b"event: message\ndata: 1\n"]), []);
    }

    #[test]
    fn an_endless_event_is_refused() {
        let (mut decoder, mut events) = (Decoder::default(), Vec::new());
        let piece = vec![b'x'; 64 * 1024];
        let refused =
            (0..=MAX_EVENT / piece.len()).find_map(|_| decoder.push(&piece, &mut events).err());
        assert_eq!((refused, events.len()), (Some(TooLarge), 0));
        // many short lines are no way around it
        let mut decoder = Decoder::default();
        let lines = b"data: 0123456789\n".repeat(4096);
        let refused =
            (0..=MAX_EVENT / 4096 / 10).find_map(|_| decoder.push(&lines, &mut events).err());
        assert_eq!(refused, Some(TooLarge));
    }
}
