//! Reads lines from stdin on a separate thread, so that a blocked read does not delay the end of the process.

use std::io::{self, BufRead, Read};

use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Maximum length of a line, in bytes. The daemon's own limit is lower, and its error says so.
const MAX_BYTES: usize = 16 << 20;
/// Number of lines that are read ahead.
const AHEAD: usize = 16;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum InputLine {
    Whole(Vec<u8>),
    /// A line above the limit, which was skipped.
    TooLong,
}

pub(super) fn read() -> Receiver<InputLine> {
    let (to, lines) = channel(AHEAD);
    std::thread::spawn(move || each(&mut io::stdin().lock(), &to));
    lines
}

fn each(from: &mut impl BufRead, to: &Sender<InputLine>) {
    while let Ok(Some(line)) = next(from, MAX_BYTES) {
        if to.blocking_send(line).is_err() {
            return;
        }
    }
}

/// Reads the next line that is not blank.
fn next(from: &mut impl BufRead, most: usize) -> io::Result<Option<InputLine>> {
    loop {
        let mut line = Vec::new();
        let read = from.by_ref().take(most as u64 + 1).read_until(b'\n', &mut line)?;
        if read > most {
            if !line.ends_with(b"\n") {
                from.skip_until(b'\n')?;
            }
            return Ok(Some(InputLine::TooLong));
        }
        if read == 0 {
            return Ok(None);
        }
        if !line.iter().all(u8::is_ascii_whitespace) {
            return Ok(Some(InputLine::Whole(line)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, most: usize) -> Vec<InputLine> {
        // The small buffer makes lines arrive in parts.
        let mut from = io::BufReader::with_capacity(3, text.as_bytes());
        std::iter::from_fn(|| next(&mut from, most).unwrap()).collect()
    }

    fn whole(text: &str) -> InputLine {
        InputLine::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn blank_lines_are_skipped() {
        assert_eq!(all("", 99), []);
        assert_eq!(all("\n \r\n\n", 99), []);
        assert_eq!(all("one\n\ntwo and more", 99), [whole("one\n"), whole("two and more")]);
        assert_eq!(all("one\r\n", 99), [whole("one\r\n")]);
    }

    #[test]
    fn an_overlong_line_is_skipped_without_being_kept() {
        let text = format!("{}\nshort\n", "x".repeat(1_000));
        assert_eq!(all(&text, 10), [InputLine::TooLong, whole("short\n")]);
        assert_eq!(all(&"x".repeat(1_000), 10), [InputLine::TooLong]);
    }
}
