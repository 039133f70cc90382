//! Walks JSON in one pass without building a tree. Everything that it skips without an error is valid JSON.

use memchr::{memchr, memchr2};
use serde::de::IgnoredAny;

/// Default limit for nesting.
const MAX_DEPTH: usize = 256;

/// Why a text could not be walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadJson {
    #[error("invalid JSON at byte {0}")]
    At(usize),
    #[error("nested deeper than {MAX_DEPTH} levels")]
    Depth,
}

/// A position in a JSON text.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    text: &'a [u8],
    /// The position, in bytes.
    pub at: usize,
    depth: usize,
    deepest: usize,
    /// Whether a string has contained a surrogate escape, paired or not, since this was last reset.
    pub(crate) met_surrogate: bool,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at the beginning of `text`.
    pub fn new(text: &'a [u8]) -> Self {
        Self::with_depth(text, MAX_DEPTH)
    }

    /// Creates a cursor at the beginning of `text`, which may have at most `deepest` levels of nesting.
    pub fn with_depth(text: &'a [u8], deepest: usize) -> Self {
        Self { text, at: 0, depth: 0, deepest, met_surrogate: false }
    }

    /// Returns the error for this position.
    pub fn wrong(&self) -> BadJson {
        BadJson::At(self.at)
    }

    /// Returns the bytes from `from` to the current position.
    pub fn slice(&self, from: usize) -> &'a [u8] {
        self.text.get(from..self.at).unwrap_or_default()
    }

    /// Skips white space, and returns the next byte without skipping it.
    pub fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.text.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    /// Skips `wanted` if it comes next, and returns whether it was skipped.
    pub fn takes(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    /// Skips `wanted`, which must come next.
    pub fn take(&mut self, wanted: u8) -> Result<(), BadJson> {
        if self.takes(wanted) { Ok(()) } else { Err(self.wrong()) }
    }

    /// Enters an array or object.
    pub fn open(&mut self, bracket: u8) -> Result<(), BadJson> {
        self.take(bracket)?;
        self.depth += 1;
        if self.depth > self.deepest { Err(BadJson::Depth) } else { Ok(()) }
    }

    /// Returns whether there is another element. If not, leaves the array or object.
    pub fn more(&mut self, first: bool, bracket: u8) -> Result<bool, BadJson> {
        if self.takes(bracket) {
            self.depth -= 1;
            return Ok(false);
        }
        if !first {
            self.take(b',')?;
        }
        Ok(true)
    }

    /// Reads a key and its colon, and returns the key's literal without its quotes.
    pub fn key(&mut self) -> Result<&'a [u8], BadJson> {
        let literal = self.string()?;
        self.take(b':')?;
        Ok(literal)
    }

    /// Reads a string, and returns its literal without the quotes.
    pub fn string(&mut self) -> Result<&'a [u8], BadJson> {
        self.take(b'"')?;
        let from = self.at;
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let stop = memchr2(b'"', b'\\', rest).ok_or_else(|| self.wrong())?;
            // No early exit, so that the compiler can vectorize this.
            if rest[..stop].iter().fold(false, |found, byte| found | (*byte < b' ')) {
                return Err(self.wrong());
            }
            self.at += stop;
            if rest[stop] == b'"' {
                self.at += 1;
                return Ok(self.text.get(from..self.at - 1).unwrap_or_default());
            }
            self.at += match rest.get(stop + 1..).unwrap_or_default() {
                [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 2,
                [b'u', hex @ ..]
                    if hex.len() >= 4 && hex[..4].iter().all(u8::is_ascii_hexdigit) =>
                {
                    self.met_surrogate |= matches!(hex[0], b'd' | b'D') && hex[1] > b'7';
                    6
                }
                _ => return Err(self.wrong()),
            };
        }
    }

    /// Reads a number, `true`, `false` or `null`.
    pub fn word(&mut self) -> Result<&'a [u8], BadJson> {
        self.peek();
        let from = self.at;
        let rest = self.text.get(from..).unwrap_or_default();
        let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.');
        let word = &rest[..rest.iter().take_while(|b| plain(b)).count()];
        serde_json::from_slice::<IgnoredAny>(word).map_err(|_| self.wrong())?;
        self.at += word.len();
        Ok(word)
    }

    /// Skips a whole value, without recursion.
    pub fn skip(&mut self) -> Result<&'a [u8], BadJson> {
        self.peek();
        let from = self.at;
        let mut closing = Vec::new();
        loop {
            let mut first = false;
            match self.peek() {
                Some(b'"') => drop(self.string()?),
                Some(bracket @ (b'{' | b'[')) => {
                    self.open(bracket)?;
                    closing.push(if bracket == b'{' { b'}' } else { b']' });
                    first = true;
                }
                _ => drop(self.word()?),
            }
            // Leave everything that ends here, up to the next value.
            loop {
                let Some(bracket) = closing.last().copied() else { return Ok(self.slice(from)) };
                if self.more(first, bracket)? {
                    if bracket == b'}' {
                        self.key()?;
                    }
                    break;
                }
                closing.pop();
                first = false;
            }
        }
    }

    /// Walks the array that comes next; `each` must skip one element.
    pub fn array(
        &mut self,
        mut each: impl FnMut(&mut Self) -> Result<(), BadJson>,
    ) -> Result<(), BadJson> {
        self.open(b'[')?;
        let mut first = true;
        while self.more(first, b']')? {
            first = false;
            each(self)?;
        }
        Ok(())
    }

    /// Walks the object that comes next; `known` must skip the value of the member `names[n]`. Returns `false` if a
    /// name occurs twice, or a key is not valid text (half a surrogate pair).
    pub fn object<const N: usize>(
        &mut self,
        names: [&str; N],
        mut known: impl FnMut(&mut Self, usize) -> Result<(), BadJson>,
    ) -> Result<bool, BadJson> {
        self.open(b'{')?;
        let (mut first, mut is_plain, mut met) = (true, true, [false; N]);
        while self.more(first, b'}')? {
            first = false;
            let key = self.key()?;
            let nth = match memchr(b'\\', key) {
                None => names.iter().position(|name| name.as_bytes() == key),
                Some(_) => match serde_json::from_slice::<String>(&[b"\"", key, b"\""].concat()) {
                    Ok(key) => names.iter().position(|name| *name == key),
                    Err(_) => {
                        is_plain = false;
                        None
                    }
                },
            };
            match nth {
                Some(nth) if !met[nth] => {
                    met[nth] = true;
                    known(self, nth)?;
                }
                _ => {
                    is_plain &= nth.is_none();
                    self.skip()?;
                }
            }
        }
        Ok(is_plain)
    }

    /// Checks that only white space is left.
    pub fn end(&mut self) -> Result<(), BadJson> {
        if self.peek().is_none() { Ok(()) } else { Err(self.wrong()) }
    }
}

/// Returns the index after the closing quote of the string that begins at `start`.
pub fn string_end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}
