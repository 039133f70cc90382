//! What the memories of a model must rest on: the user's own sentences.

use std::collections::BTreeSet;

use bethink_memdir::header;
use bethink_statement::words;

use super::copy::RefusedWrite;
use super::spot::MemorySpot;
use crate::embedded::gates::{is_question, overrides_instructions, without_politeness};
use crate::embedded::plain::plain;
use crate::embedded::prose::sentences;

/// Minimum number of letters and digits in a quotation. "Yes" supports nothing.
const MIN_QUOTED: usize = 4;

/// The user's sentences that an extraction reads, and the topics that must keep their lines.
#[derive(Clone, Debug, Default)]
pub struct MemoryEvidence {
    /// The words of each sentence, longest first.
    said: Vec<Vec<String>>,
    /// Topics that a person wrote or edited.
    persons: BTreeSet<MemorySpot>,
}

impl MemoryEvidence {
    /// `said` are the user's new messages. Text in them that may be somebody else's, and questions, support nothing.
    pub fn new<'a>(said: impl IntoIterator<Item = &'a str>, persons: BTreeSet<MemorySpot>) -> Self {
        let sentences = said.into_iter().flat_map(sentences);
        let teaches = |text: &str| {
            let plain = plain(text);
            !is_question(&plain) || without_politeness(&plain).is_some()
        };
        let own = sentences.filter(|sentence| teaches(sentence.text));
        let mut said: Vec<Vec<String>> = own.map(|sentence| words_of(sentence.text)).collect();
        said.retain(|words| {
            words.iter().map(|word| word.chars().count()).sum::<usize>() >= MIN_QUOTED
        });
        said.sort_by_key(|words| std::cmp::Reverse(words.len()));
        Self { said, persons }
    }

    pub(super) fn check(
        &self,
        spot: &MemorySpot,
        text: &str,
        before: &str,
    ) -> Result<(), RefusedWrite> {
        let old: BTreeSet<&str> = before.lines().map(str::trim_end).collect();
        let new = || text.lines().map(str::trim_end).filter(|line| !old.contains(line));
        if let Some(line) = new().find(|line| overrides_instructions(line)) {
            return Err(RefusedWrite::Overrides(super::spot::shown(line.trim())));
        }
        if self.persons.contains(spot) {
            let kept: BTreeSet<&str> = text.lines().map(str::trim_end).collect();
            let is_lost = |line: &&&str| !line.is_empty() && !kept.contains(**line);
            if let Some(line) = old.iter().find(is_lost) {
                return Err(RefusedWrite::Persons(super::spot::shown(line.trim())));
            }
        }
        let mut quotations = quotations(header::read(text).body)
            .into_iter()
            .filter(|lines| lines.iter().any(|line| !old.contains(line.trim_end())))
            .map(|lines| lines.iter().flat_map(|line| words_of(line)).collect::<Vec<_>>())
            .peekable();
        if quotations.peek().is_none() {
            return Err(RefusedWrite::NoQuotation);
        }
        match quotations.find(|quoted| !self.is_said(quoted)) {
            Some(quoted) => Err(RefusedWrite::NotSaid(super::spot::shown(&quoted.join(" ")))),
            None => Ok(()),
        }
    }

    /// Whether the words are one or more whole sentences of the user. Part of a sentence could say the opposite.
    fn is_said(&self, quoted: &[String]) -> bool {
        let mut rest = quoted;
        while !rest.is_empty() {
            let next = self.said.iter().find_map(|said| rest.strip_prefix(said.as_slice()));
            let Some(next) = next else { return false };
            rest = next;
        }
        !quoted.is_empty()
    }
}

/// Returns the quotations of a topic's body, each with its lines.
fn quotations(body: &str) -> Vec<Vec<&str>> {
    let mut found: Vec<Vec<&str>> = Vec::new();
    let mut is_open = false;
    for line in body.lines() {
        let is_quoted = line.trim_start().starts_with('>');
        match found.last_mut().filter(|_| is_open) {
            Some(last) if is_quoted => last.push(line),
            _ if is_quoted => found.push(vec![line]),
            _ => {}
        }
        is_open = is_quoted;
    }
    found
}

fn words_of(text: &str) -> Vec<String> {
    words(text, 0..text.len()).into_iter().map(|word| word.lower).collect()
}
