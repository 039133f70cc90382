//! One pass over bytes: each is paid for by its class and the class before it.

use crate::counts::Counts;
use crate::kind::{Kind, LONG_RUN};

/// What a byte is to a tokenizer's splitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Class {
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
    /// A later byte of a character: paid for by its first.
    Continued,
}

/// Room for classes in tables: a power of two, so that a pair of them is an index without a check.
const ROOM: usize = 16;

static CLASS: [Class; 256] = classes();
/// The kind that a byte of the second class counts as after one of the first.
static STEP: [[Kind; ROOM]; ROOM] = steps();

pub(crate) fn text(text: &str, counts: &mut Counts) {
    let mut scan = Scan::new();
    for byte in text.bytes() {
        scan.step(CLASS[usize::from(byte)]);
    }
    scan.settle(counts);
}

/// JSON as a model sees it: what escapes stand for, not how they are written.
pub(crate) fn json(json: &str, counts: &mut Counts) {
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

/// Tallies pairs of neighbours and asks what they cost at the end alone: the loop over bytes has
/// nothing to decide.
struct Scan {
    pairs: [u32; ROOM * ROOM],
    long: u32,
    before: Class,
    /// Bytes of the same class in a row.
    run: u32,
}

impl Scan {
    fn new() -> Self {
        Self { pairs: [0; ROOM * ROOM], long: 0, before: Class::Start, run: 0 }
    }

    #[inline(always)]
    fn step(&mut self, class: Class) {
        if class == Class::Continued {
            return;
        }
        let pair = (self.before as usize * ROOM + class as usize) % (ROOM * ROOM);
        self.pairs[pair] = self.pairs[pair].wrapping_add(1);
        self.run = if class == self.before { self.run + 1 } else { 1 };
        let letter = (class == Class::Small) | (class == Class::Capital);
        self.long += u32::from((self.run > LONG_RUN) & letter);
        self.before = class;
    }

    fn settle(&self, counts: &mut Counts) {
        for (kinds, pairs) in STEP.iter().zip(self.pairs.chunks(ROOM)) {
            for (kind, times) in kinds.iter().zip(pairs) {
                counts.add(*kind, *times);
            }
        }
        counts.add(Kind::Long, self.long);
    }
}

/// The class of what stands after a backslash, and how many bytes of it there are.
fn escaped(rest: &[u8]) -> (Class, usize) {
    match rest {
        [b'n' | b'r', ..] => (Class::Line, 1),
        [b't', ..] => (Class::Space, 1),
        [b'u', a, b, c, d, ..] => (of_unit([*a, *b, *c, *d]), 5),
        [_, ..] => (Class::Mark, 1),
        [] => (Class::Mark, 0),
    }
}

/// The class of a UTF-16 unit in hex.
fn of_unit(hex: [u8; 4]) -> Class {
    let text = std::str::from_utf8(&hex).unwrap_or_default();
    match u32::from_str_radix(text, 16) {
        // The second half of a pair, which the first has paid for.
        Ok(0xDC00..=0xDFFF) => Class::Continued,
        Ok(0xD800..=0xDBFF) => Class::Emoji,
        Ok(unit) => char::from_u32(unit).map_or(Class::Mark, of_char),
        Err(_) => Class::Mark,
    }
}

fn of_char(c: char) -> Class {
    let mut utf8 = [0; 4];
    c.encode_utf8(&mut utf8);
    CLASS[usize::from(utf8[0])]
}

const fn classes() -> [Class; 256] {
    let mut table = [Class::Mark; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' => Class::Small,
            b'A'..=b'Z' => Class::Capital,
            b'0'..=b'9' => Class::Digit,
            b'\n' | b'\r' => Class::Line,
            b' ' | b'\t' => Class::Space,
            0x80..=0xBF => Class::Continued,
            // U+2000 to U+2FFF.
            0xE2 => Class::Symbol,
            // All else of three bytes: kana, han and hangul, and scripts that are as dear (Indic, Thai).
            0xE0 | 0xE1 | 0xE3..=0xEF => Class::Cjk,
            0xF0..=0xFF => Class::Emoji,
            0xC0..=0xDF => Class::Script,
            _ => Class::Mark,
        };
        byte += 1;
    }
    table
}

const fn steps() -> [[Kind; ROOM]; ROOM] {
    let mut table = [[Kind::Free; ROOM]; ROOM];
    let mut before = 0;
    while before < ROOM {
        let row = &mut table[before];
        row[Class::Small as usize] = Kind::Word;
        row[Class::Capital as usize] = Kind::Capital;
        row[Class::Digit as usize] = Kind::Digits;
        row[Class::Line as usize] = Kind::Line;
        row[Class::Mark as usize] = Kind::Mark;
        row[Class::Symbol as usize] = Kind::Symbol;
        row[Class::Cjk as usize] = Kind::Cjk;
        row[Class::Emoji as usize] = Kind::Emoji;
        row[Class::Script as usize] = Kind::Script;
        before += 1;
    }
    table[Class::Small as usize][Class::Small as usize] = Kind::Free;
    table[Class::Capital as usize][Class::Small as usize] = Kind::Free;
    table[Class::Capital as usize][Class::Capital as usize] = Kind::Free;
    table[Class::Digit as usize][Class::Digit as usize] = Kind::Digit;
    table[Class::Line as usize][Class::Line as usize] = Kind::Free;
    table[Class::Space as usize][Class::Space as usize] = Kind::Indent;
    table[Class::Mark as usize][Class::Mark as usize] = Kind::Marks;
    table
}
