//! Splits a text into the word pieces that the encoder knows, as BERT does.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::weights::BrokenWeights;

/// Numbers of the pieces that mark the start and the end of a text, and a word that cannot be split.
const START: u16 = 101;
const END: u16 = 102;
const UNKNOWN: u16 = 100;
/// Maximum number of pieces of a text, including the marks. The rest of the text is ignored.
pub const MOST_PIECES: usize = 128;
/// Maximum length of a word that is split, in characters.
const MOST_WORD_CHARS: usize = 100;
/// Maximum number of bytes of a text that are read: enough for [`MOST_PIECES`] pieces of ordinary text.
const MOST_TEXT_BYTES: usize = 16 * 1024;
/// Number of pieces in the vocabulary.
pub const VOCABULARY: usize = 30_522;

/// The word pieces with their numbers, in the order of their bytes.
#[derive(Debug)]
pub struct WordPieces<'a> {
    text: &'a str,
    /// Where each line begins, in bytes.
    lines: Vec<u32>,
}

impl<'a> WordPieces<'a> {
    pub fn read(text: &'a str) -> Result<Self, BrokenWeights> {
        let mut lines = Vec::with_capacity(VOCABULARY);
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            lines.push(u32::try_from(at).unwrap_or(u32::MAX));
            at += line.len();
        }
        if lines.len() != VOCABULARY || !text.ends_with('\n') {
            return Err(BrokenWeights::Vocabulary { have: lines.len(), need: VOCABULARY });
        }
        Ok(Self { text, lines })
    }

    /// Returns the numbers of a text's pieces, with a mark at each end, at most [`MOST_PIECES`].
    pub fn of(&self, text: &str) -> Vec<u16> {
        let text = &text[..text.floor_char_boundary(MOST_TEXT_BYTES)];
        let mut pieces = vec![START];
        let mut word = String::new();
        for c in text.chars().filter(|c| !is_dropped(*c)) {
            if pieces.len() >= MOST_PIECES {
                break;
            }
            if c.is_whitespace() || c.is_control() {
                self.end_word(&mut word, &mut pieces);
            } else if stands_alone(c) {
                self.end_word(&mut word, &mut pieces);
                word.push(c);
                self.end_word(&mut word, &mut pieces);
            } else {
                word.push(c);
            }
        }
        self.end_word(&mut word, &mut pieces);
        pieces.truncate(MOST_PIECES - 1);
        pieces.push(END);
        pieces
    }

    fn end_word(&self, word: &mut String, pieces: &mut Vec<u16>) {
        if word.is_empty() {
            return;
        }
        let plain: String = word.nfd().filter(|c| !is_combining_mark(*c)).collect();
        self.split(&plain.to_lowercase(), pieces);
        word.clear();
    }

    /// Adds the pieces of a word, each the longest that fits.
    fn split(&self, word: &str, pieces: &mut Vec<u16>) {
        let before = pieces.len();
        if word.chars().count() > MOST_WORD_CHARS {
            return pieces.push(UNKNOWN);
        }
        let mut rest = word;
        let mut piece = String::new();
        while !rest.is_empty() {
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
            let found = ends.into_iter().find_map(|end| {
                piece.clear();
                if rest.len() < word.len() {
                    piece.push_str("##");
                }
                piece.push_str(&rest[..end]);
                Some((self.number(&piece)?, end))
            });
            let Some((number, end)) = found else {
                pieces.truncate(before);
                return pieces.push(UNKNOWN);
            };
            pieces.push(number);
            rest = &rest[end..];
        }
    }

    fn number(&self, piece: &str) -> Option<u16> {
        let at = self.lines.binary_search_by(|start| self.line(*start).0.cmp(piece)).ok()?;
        self.line(self.lines[at]).1.parse().ok().filter(|number| usize::from(*number) < VOCABULARY)
    }

    fn line(&self, start: u32) -> (&'a str, &'a str) {
        let rest = self.text.get(start as usize..).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or_default();
        line.split_once('\t').unwrap_or_default()
    }
}

fn is_dropped(c: char) -> bool {
    let is_space = matches!(c, '\t' | '\n' | '\r');
    matches!(c, '\0' | '\u{FFFD}') || (c.is_control() && !is_space) || is_format(c)
}

/// Whether a character only controls formatting, such as a zero-width joiner.
fn is_format(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{600}'..='\u{605}' | '\u{61C}' | '\u{6DD}' | '\u{70F}' | '\u{180E}'
        | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}'
        | '\u{FFF9}'..='\u{FFFB}' | '\u{E000}'..='\u{F8FF}' | '\u{E0000}'..='\u{E007F}')
}

/// Whether a character is a word of its own: punctuation, or an ideograph.
fn stands_alone(c: char) -> bool {
    c.is_ascii_punctuation() || is_other_punctuation(c) || is_ideograph(c)
}

fn is_other_punctuation(c: char) -> bool {
    matches!(c,
        '¡' | '§' | '«' | '¶' | '·' | '»' | '¿' | '\u{37E}' | '\u{387}' | '\u{55A}'..='\u{55F}'
        | '\u{589}' | '\u{58A}' | '\u{5BE}' | '\u{5C0}' | '\u{5C3}' | '\u{5C6}' | '\u{5F3}' | '\u{5F4}'
        | '\u{60C}' | '\u{60D}' | '\u{61B}' | '\u{61D}'..='\u{61F}' | '\u{66A}'..='\u{66D}' | '\u{6D4}'
        | '\u{964}' | '\u{965}' | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{2043}'
        | '\u{2045}'..='\u{2051}' | '\u{2053}'..='\u{205E}' | '\u{3001}'..='\u{3003}'
        | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301F}' | '\u{30FB}' | '\u{FF01}'..='\u{FF03}'
        | '\u{FF05}'..='\u{FF0A}' | '\u{FF0C}'..='\u{FF0F}' | '\u{FF1A}' | '\u{FF1B}' | '\u{FF1F}'
        | '\u{FF20}' | '\u{FF3B}'..='\u{FF3D}' | '\u{FF3F}' | '\u{FF5B}' | '\u{FF5D}'
        | '\u{FF5F}'..='\u{FF65}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c,
        '\u{4E00}'..='\u{9FFF}' | '\u{3400}'..='\u{4DBF}' | '\u{20000}'..='\u{2A6DF}'
        | '\u{2A700}'..='\u{2CEAF}' | '\u{F900}'..='\u{FAFF}' | '\u{2F800}'..='\u{2FA1F}')
}
