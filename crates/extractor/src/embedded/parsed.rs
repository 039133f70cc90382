//! The user's statements, split into sentences that rules and cues can be compared with.

use bethink_facts::{RecordedStatement, SaidKind};

use super::plain::plain;
use super::prose::{Sentence, sentences};

/// Maximum number of sentences in a message. A longer message counts as a pasted document, in which only explicit
/// requests are used.
const MAX_SENTENCES: usize = 30;

/// A statement with its sentences.
#[derive(Debug)]
pub struct ParsedStatement<'a> {
    pub said: &'a RecordedStatement,
    pub sentences: Vec<ParsedSentence<'a>>,
}

/// A sentence and its normalized form.
#[derive(Debug)]
pub struct ParsedSentence<'a> {
    pub sentence: Sentence<'a>,
    pub plain: String,
}

pub fn statements(said: &[RecordedStatement]) -> Vec<ParsedStatement<'_>> {
    said.iter().map(ParsedStatement::of).collect()
}

impl<'a> ParsedStatement<'a> {
    /// Parses a statement by the user. A handover and a single word have no sentences.
    fn of(said: &'a RecordedStatement) -> Self {
        let is_read = said.kind != SaidKind::Handover && !is_one_word(&said.text);
        let sentences = if is_read { parsed(&said.text) } else { Vec::new() };
        Self { said, sentences }
    }

    pub fn is_document(&self) -> bool {
        self.sentences.len() > MAX_SENTENCES
    }

    /// Returns the sentences after a quoted comment if the user marked their own words with an arrow (`->`).
    pub fn after_quotation(self) -> Self {
        let text: &'a str = &self.said.text;
        let after_arrow = |(at, _)| {
            let line = &text[at + 1..];
            ["-> ", "=> ", "→ "].into_iter().find_map(|arrow| line.strip_prefix(arrow))
        };
        match text.match_indices('\n').find_map(after_arrow) {
            Some(own) if !self.sentences.is_empty() => Self { sentences: parsed(own), ..self },
            _ => self,
        }
    }
}

fn parsed(text: &str) -> Vec<ParsedSentence<'_>> {
    let sentences = sentences(text).into_iter();
    sentences.map(|sentence| ParsedSentence { sentence, plain: plain(sentence.text) }).collect()
}

/// Whether a text is a single word of a language with spaces between words.
fn is_one_word(text: &str) -> bool {
    text.is_ascii() && text.split_ascii_whitespace().nth(1).is_none()
}
