//! One pass over JSON without a tree: where values begin and end.

use memchr::memchr2;

/// Deepest nesting that is read.
const MAX_DEPTH: usize = 256;

/// The message is not one that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("not JSON from byte {0} on")]
    Json(usize),
    #[error("nested deeper than {MAX_DEPTH}")]
    Depth,
    #[error("not a message: an object with `role` and `content`")]
    Message,
}

/// A place in a text of JSON.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a [u8],
    pub(crate) at: usize,
    depth: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    pub(crate) fn wrong(&self) -> Unreadable {
        Unreadable::Json(self.at)
    }

    pub(crate) fn slice(&self, from: usize) -> &'a [u8] {
        self.text.get(from..self.at).unwrap_or_default()
    }

    /// The next byte that is not white space.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.text.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    /// Passes by `wanted` if it comes next.
    pub(crate) fn takes(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    pub(crate) fn take(&mut self, wanted: u8) -> Result<(), Unreadable> {
        if self.takes(wanted) { Ok(()) } else { Err(self.wrong()) }
    }

    /// Goes into an array or object.
    pub(crate) fn open(&mut self, bracket: u8) -> Result<(), Unreadable> {
        self.take(bracket)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(Unreadable::Depth) } else { Ok(()) }
    }

    /// Whether there is another element; at the end, goes out.
    pub(crate) fn more(&mut self, first: bool, bracket: u8) -> Result<bool, Unreadable> {
        if self.takes(bracket) {
            self.depth -= 1;
            return Ok(false);
        }
        if !first {
            self.take(b',')?;
        }
        Ok(true)
    }

    /// A key and its colon: the literal without its quotes.
    pub(crate) fn key(&mut self) -> Result<&'a [u8], Unreadable> {
        let literal = self.string()?;
        self.take(b':')?;
        Ok(literal)
    }

    /// A string's literal without its quotes.
    pub(crate) fn string(&mut self) -> Result<&'a [u8], Unreadable> {
        self.take(b'"')?;
        let from = self.at;
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            match memchr2(b'"', b'\\', rest) {
                None => return Err(self.wrong()),
                Some(found) if rest.get(found) == Some(&b'"') => {
                    self.at += found + 1;
                    return Ok(self.text.get(from..self.at - 1).unwrap_or_default());
                }
                Some(found) => self.at += found + 2,
            }
        }
    }

    /// A number, or one of JSON's three words.
    pub(crate) fn word(&mut self) -> Result<&'a [u8], Unreadable> {
        self.peek();
        let from = self.at;
        let rest = self.text.get(from..).unwrap_or_default();
        let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.');
        self.at += rest.iter().take_while(|b| plain(b)).count();
        if self.at == from { Err(self.wrong()) } else { Ok(self.slice(from)) }
    }

    /// Passes by a whole value.
    pub(crate) fn skip(&mut self) -> Result<&'a [u8], Unreadable> {
        let first = self.peek();
        let from = self.at;
        match first {
            Some(b'"') => drop(self.string()?),
            Some(b'{') => {
                self.open(b'{')?;
                let mut nth = 0;
                while self.more(nth == 0, b'}')? {
                    self.key()?;
                    self.skip()?;
                    nth += 1;
                }
            }
            Some(b'[') => {
                self.open(b'[')?;
                let mut nth = 0;
                while self.more(nth == 0, b']')? {
                    self.skip()?;
                    nth += 1;
                }
            }
            _ => drop(self.word()?),
        }
        Ok(self.slice(from))
    }

    /// Nothing but white space is left.
    pub(crate) fn end(&mut self) -> Result<(), Unreadable> {
        if self.peek().is_none() { Ok(()) } else { Err(self.wrong()) }
    }
}
