//! Counts in one pass over the bytes: the cost of each byte depends on its class and on the class of the previous byte.

use crate::counts::TokenCounts;
use crate::kind::{LONG_RUN, TokenKind};

/// The class of a byte, as a tokenizer splits text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum ByteClass {
    Start,
    Small,
    Capital,
    Digit,
    Line,
    Space,
    Mark,
    Symbol,
    Cjk,
    Emoji,
    Script,
    /// A later byte of a character; its cost is included in the first byte's.
    Continued,
}

const ALL: [ByteClass; 12] = {
    use ByteClass::*;
    [Start, Small, Capital, Digit, Line, Space, Mark, Symbol, Cjk, Emoji, Script, Continued]
};

/// Table size for classes: a power of two, so that indexing by a pair needs no bounds check.
const ROOM: usize = 16;

static CLASS: [ByteClass; 256] = classes();

pub(crate) fn text(text: &str, counts: &mut TokenCounts) {
    let mut scan = Scan::new();
    for byte in text.bytes() {
        scan.step(CLASS[usize::from(byte)]);
    }
    scan.settle(counts);
}

/// Counts JSON as a model sees it, with escapes decoded.
pub(crate) fn json(json: &str, counts: &mut TokenCounts) {
    let mut scan = Scan::new();
    let mut rest = json.as_bytes();
    while let [byte, tail @ ..] = rest {
        rest = tail;
        if *byte != b'\\' {
            scan.step(CLASS[usize::from(*byte)]);
            continue;
        }
        let (class, used) = escaped(rest);
        scan.step(class);
        rest = rest.get(used..).unwrap_or_default();
    }
    scan.settle(counts);
}

/// Counts pairs of neighbors and looks up their costs at the end, so that the loop over bytes has no
/// branches.
struct Scan {
    pairs: [u32; ROOM * ROOM],
    long: u32,
    before: ByteClass,
    /// Number of consecutive bytes of the same class.
    run: u32,
}

impl Scan {
    fn new() -> Self {
        Self { pairs: [0; ROOM * ROOM], long: 0, before: ByteClass::Start, run: 0 }
    }

    #[inline(always)]
    fn step(&mut self, class: ByteClass) {
        if class == ByteClass::Continued {
            return;
        }
        let pair = (self.before as usize * ROOM + class as usize) % (ROOM * ROOM);
        self.pairs[pair] = self.pairs[pair].wrapping_add(1);
        self.run = if class == self.before { self.run + 1 } else { 1 };
        let letter = (class == ByteClass::Small) | (class == ByteClass::Capital);
        self.long += u32::from((self.run > LONG_RUN) & letter);
        self.before = class;
    }

    fn settle(&self, counts: &mut TokenCounts) {
        for (before, pairs) in ALL.into_iter().zip(self.pairs.chunks(ROOM)) {
            for (class, times) in ALL.into_iter().zip(pairs) {
                counts.add(kind_after(before, class), *times);
            }
        }
        counts.add(TokenKind::Long, self.long);
    }
}

/// Returns the class of an escape, and its length after the backslash.
fn escaped(rest: &[u8]) -> (ByteClass, usize) {
    match rest {
        [b'n' | b'r', ..] => (ByteClass::Line, 1),
        [b't', ..] => (ByteClass::Space, 1),
        [b'u', a, b, c, d, ..] => (of_unit([*a, *b, *c, *d]), 5),
        [_, ..] => (ByteClass::Mark, 1),
        [] => (ByteClass::Mark, 0),
    }
}

/// Returns the class of a UTF-16 unit in hex.
fn of_unit(hex: [u8; 4]) -> ByteClass {
    let text = std::str::from_utf8(&hex).unwrap_or_default();
    match u32::from_str_radix(text, 16) {
        // The second half of a surrogate pair; its cost is included in the first half's.
        Ok(0xDC00..=0xDFFF) => ByteClass::Continued,
        Ok(0xD800..=0xDBFF) => ByteClass::Emoji,
        Ok(unit) => char::from_u32(unit).map_or(ByteClass::Mark, |c| {
            CLASS[usize::from(c.encode_utf8(&mut [0; 4]).as_bytes()[0])]
        }),
        Err(_) => ByteClass::Mark,
    }
}

const fn classes() -> [ByteClass; 256] {
    let mut table = [ByteClass::Mark; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' => ByteClass::Small,
            b'A'..=b'Z' => ByteClass::Capital,
            b'0'..=b'9' => ByteClass::Digit,
            b'\n' | b'\r' => ByteClass::Line,
            b' ' | b'\t' => ByteClass::Space,
            0x80..=0xBF => ByteClass::Continued,
            // U+2000 to U+2FFF.
            0xE2 => ByteClass::Symbol,
            // Other characters with three bytes: kana, han, hangul, and scripts that cost the same (Indic, Thai).
            0xE0 | 0xE1 | 0xE3..=0xEF => ByteClass::Cjk,
            0xF0..=0xFF => ByteClass::Emoji,
            0xC0..=0xDF => ByteClass::Script,
            _ => ByteClass::Mark,
        };
        byte += 1;
    }
    table
}

/// Returns the kind that a byte of `class` counts as after a byte of the class `before`.
fn kind_after(before: ByteClass, class: ByteClass) -> TokenKind {
    match (before, class) {
        (ByteClass::Small | ByteClass::Capital, ByteClass::Small)
        | (ByteClass::Capital, ByteClass::Capital) => TokenKind::Free,
        (ByteClass::Line, ByteClass::Line) | (_, ByteClass::Start | ByteClass::Continued) => {
            TokenKind::Free
        }
        (ByteClass::Digit, ByteClass::Digit) => TokenKind::Digit,
        (ByteClass::Space, ByteClass::Space) => TokenKind::Indent,
        (ByteClass::Mark, ByteClass::Mark) => TokenKind::Marks,
        (_, ByteClass::Small) => TokenKind::Word,
        (_, ByteClass::Capital) => TokenKind::Capital,
        (_, ByteClass::Digit) => TokenKind::Digits,
        (_, ByteClass::Line) => TokenKind::Line,
        (_, ByteClass::Space) => TokenKind::Free,
        (_, ByteClass::Mark) => TokenKind::Mark,
        (_, ByteClass::Symbol) => TokenKind::Symbol,
        (_, ByteClass::Cjk) => TokenKind::Cjk,
        (_, ByteClass::Emoji) => TokenKind::Emoji,
        (_, ByteClass::Script) => TokenKind::Script,
    }
}
