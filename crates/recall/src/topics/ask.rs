//! A question as words, each with its information.

use super::Field;
use super::catalog::Catalog;
use super::kin::{MISSPELT, kin, neighbours};
use super::weights::{
    COMMON, FULL_WORDS, HABITUAL, HEAD_BYTES, IMAGINED_TOPICS, MOST_WORDS, TAIL_BYTES, UNKNOWN,
};
use super::words::telling;
use crate::stem::stem;
use crate::terms::{TermShape, for_each_shaped_term};
use bethink_names::is_plain;
use bethink_names::words::for_each_word;

#[derive(Clone, Debug)]
pub(crate) struct QuestionWord {
    pub(crate) asked: String,
    /// As the question spells it.
    pub(crate) written: String,
    /// Terms of the catalog that match it, with how well. Empty if it occurs nowhere.
    pub(crate) terms: Vec<(u32, f32)>,
    /// Its information: 0 is none, 1 is that of a word in no topic.
    pub(crate) information: f32,
    /// Its share of the question; all shares sum to 1.
    pub(crate) share: f32,
}

/// The informative words of a question, the most informative first.
pub(crate) fn words(catalog: &Catalog, question: &str) -> Vec<QuestionWord> {
    let mut words: Vec<QuestionWord> = Vec::new();
    for text in ends(question) {
        for_each_shaped_term(text, |term, shape, range| {
            if !words.iter().any(|word| word.asked == term)
                && let Some(word) = word(catalog, term, &text[range], shape)
            {
                words.push(word);
            }
        });
    }
    for joined in ends(question).into_iter().flat_map(joined) {
        let term = stem(&joined);
        if !words.iter().any(|word| word.asked == term) && catalog.find(&term).is_some() {
            words.extend(word(catalog, &term, &joined, TermShape::Joined));
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

/// Neighbouring words joined: `roll back` may be written `rollback`.
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

/// The parts of a long text that usually contain the question: its beginning and its end.
fn ends(question: &str) -> Vec<&str> {
    if question.len() <= HEAD_BYTES + TAIL_BYTES {
        return vec![question];
    }
    let head = question.floor_char_boundary(HEAD_BYTES);
    let tail = question.ceil_char_boundary(question.len() - TAIL_BYTES);
    vec![&question[..head], &question[tail..]]
}

fn word(catalog: &Catalog, term: &str, written: &str, shape: TermShape) -> Option<QuestionWord> {
    let exact = catalog.find(term);
    if exact.is_none() && shape == TermShape::Joined {
        // Its parts are already words of the question.
        return None;
    }
    let telling = telling(term);
    if telling == 0.0 {
        return None;
    }
    let mut terms: Vec<(u32, f32)> = exact.map(|number| (number, 1.0)).into_iter().collect();
    let others = kin(term).iter().filter_map(|(other, worth)| Some((catalog.find(other)?, *worth)));
    terms.extend(others);
    if terms.is_empty() && telling > COMMON {
        terms.extend(neighbours(catalog, term).into_iter().map(|number| (number, MISSPELT)));
    }
    let information = match terms.first() {
        Some((number, _)) => {
            telling.min(most(catalog, *number, telling)) * rarity(catalog, *number)
        }
        None => telling * UNKNOWN,
    };
    let (asked, written) = (term.to_owned(), written.to_owned());
    Some(QuestionWord { asked, written, terms, information, share: 0.0 })
}

/// What people have rules for is a subject where a topic is named after it, else a word like others of work.
fn most(catalog: &Catalog, number: u32, telling: f32) -> f32 {
    let is_subject = || {
        let mut postings = catalog.postings[number as usize].iter();
        postings.any(|posting| posting.mark.fields & Field::Name as u8 != 0)
    };
    if telling == HABITUAL && !is_subject() { COMMON } else { telling }
}

/// The information in the fact that a topic contains this term: 0 if all do, 1 if none does.
pub(crate) fn rarity(catalog: &Catalog, number: u32) -> f32 {
    let all = catalog.len() as f32 + IMAGINED_TOPICS + 1.0;
    let holding = catalog.postings[number as usize].len() as f32 + 1.0;
    (all / holding).ln().max(0.0) / all.ln()
}
