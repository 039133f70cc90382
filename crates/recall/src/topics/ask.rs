//! Splits a question into words, each with the amount of information that it carries.

use bethink_api::TopicField;

use super::catalog::Catalog;
use super::kin::{MISSPELT, kin, neighbours};
use super::weights::{
    BESIDE_EXACT, COMMON, FULL_WORDS, HABITUAL, HEAD_BYTES, IMAGINED_TOPICS, MOST_WORDS, PART,
    TAIL_BYTES, UNKNOWN,
};
use super::words::general_information;
use crate::stem::stem;
use crate::terms::{TermShape, for_each_shaped_term};
use bethink_names::is_plain;
use bethink_names::words::for_each_word;

#[derive(Clone, Debug)]
pub(crate) struct QuestionWord {
    pub(crate) asked: String,
    /// The word as spelled in the question.
    pub(crate) written: String,
    /// Terms of the catalog that match the word, and how well each one matches (at most 1). Empty if the word occurs
    /// nowhere.
    pub(crate) terms: Vec<(u32, f32)>,
    /// How much information the word carries, from 0 (none) to 1 (a specific word that very few topics contain).
    pub(crate) information: f32,
    /// The word's share of the question's information. All shares sum to 1.
    pub(crate) share: f32,
}

/// How much the words of a question count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Words that people use about any subject count little or nothing, because the question may not be about any
    /// topic.
    Doubtful,
    /// The rarer a word is in the directory, the more it counts, because the question is about one of the topics.
    Trusting,
}

/// Returns a question's informative words, the most informative first.
pub(crate) fn words(catalog: &Catalog, question: &str, reading: Reading) -> Vec<QuestionWord> {
    let mut words: Vec<QuestionWord> = Vec::new();
    for text in ends(question) {
        // The parts of a compound name, which are followed by the whole.
        let mut parts: Vec<usize> = Vec::new();
        for_each_shaped_term(text, |term, shape, range| {
            if shape != TermShape::Part {
                let is_new_name = shape == TermShape::Joined && catalog.find(term).is_none();
                for part in parts.drain(..).filter(|_| is_new_name) {
                    words[part].information *= PART;
                }
            }
            if !words.iter().any(|word| word.asked == term)
                && let Some(word) = word(catalog, term, &text[range], shape, reading)
            {
                if shape == TermShape::Part {
                    parts.push(words.len());
                }
                words.push(word);
            }
        });
    }
    for joined in ends(question).into_iter().flat_map(joined) {
        let term = stem(&joined);
        if !words.iter().any(|word| word.asked == term) && catalog.find(&term).is_some() {
            words.extend(word(catalog, &term, &joined, TermShape::Joined, reading));
        }
    }
    words.sort_by(|a, b| b.information.total_cmp(&a.information));
    words.truncate(MOST_WORDS);
    let mut whole = 0.0;
    for (rank, word) in words.iter_mut().enumerate() {
        word.share = word.information / (rank + 1).saturating_sub(FULL_WORDS).max(1) as f32;
        whole += word.share;
    }
    words.iter_mut().for_each(|word| word.share /= whole);
    words
}

/// Joins neighboring words, because a topic may contain `rollback` where the question says `roll back`.
fn joined(text: &str) -> Vec<String> {
    let mut before = String::new();
    let mut joined = Vec::new();
    for_each_word(text, |word| {
        let word = text[word.range].to_lowercase();
        if is_plain(&before) && is_plain(&word) {
            joined.push(format!("{before}{word}"));
        }
        before = word;
    });
    joined
}

/// Returns the parts of a long text that usually contain the question: its beginning and its end.
fn ends(question: &str) -> Vec<&str> {
    if question.len() <= HEAD_BYTES + TAIL_BYTES {
        return vec![question];
    }
    let head = question.floor_char_boundary(HEAD_BYTES);
    let tail = question.ceil_char_boundary(question.len() - TAIL_BYTES);
    vec![&question[..head], &question[tail..]]
}

fn word(
    catalog: &Catalog,
    term: &str,
    written: &str,
    shape: TermShape,
    reading: Reading,
) -> Option<QuestionWord> {
    let exact = catalog.find(term);
    if exact.is_none() && shape == TermShape::Joined {
        // Its parts are already words of the question.
        return None;
    }
    let (general, beside) = match reading {
        Reading::Doubtful => (general_information(term), 1.0),
        Reading::Trusting => (1.0, BESIDE_EXACT),
    };
    let beside = if exact.is_some() { beside } else { 1.0 };
    if general == 0.0 {
        return None;
    }
    let mut terms: Vec<(u32, f32)> = exact.map(|number| (number, 1.0)).into_iter().collect();
    let others =
        kin(term).iter().filter_map(|(other, worth)| Some((catalog.find(other)?, beside * worth)));
    terms.extend(others);
    if terms.is_empty() && general > COMMON {
        terms.extend(neighbours(catalog, term).into_iter().map(|number| (number, MISSPELT)));
    }
    let information = match terms.first() {
        Some((number, _)) => {
            general.min(in_catalog(catalog, *number, general)) * rarity(catalog, *number)
        }
        None => general * UNKNOWN,
    };
    let (asked, written) = (term.to_owned(), written.to_owned());
    Some(QuestionWord { asked, written, terms, information, share: 0.0 })
}

/// Returns the information that a term carries in any directory. A word that people often have rules about ("commit")
/// counts in full only if it occurs in a topic's name.
fn in_catalog(catalog: &Catalog, number: u32, general: f32) -> f32 {
    let is_subject = || {
        let mut postings = catalog.postings[number as usize].iter();
        postings.any(|posting| posting.mark.is_in(TopicField::Name))
    };
    if general == HABITUAL && !is_subject() { COMMON } else { general }
}

/// Returns how much information a term's occurrence in a topic carries: near 0 if all topics of a large directory
/// contain the term, 1 if none does.
pub(crate) fn rarity(catalog: &Catalog, number: u32) -> f32 {
    let all = catalog.len() as f32 + IMAGINED_TOPICS + 1.0;
    let holding = catalog.postings[number as usize].len() as f32 + 1.0;
    (all / holding).ln().max(0.0) / all.ln()
}
