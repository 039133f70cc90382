//! Scores how well a topic fits a question, based on where in the topic the question's words occur.

use bethink_api::TopicField;

use super::ask::{QuestionWord, rarity};
use super::catalog::{Catalog, TopicPosting};
use super::weights::{
    BODY, COVERED, DESCRIPTION, EVIDENCE, EVIDENT, FITS, FULL_EVIDENCE, HALF_MENTIONS, HEADING,
    IDENTIFIER, JOINT, LENGTH_SHARE, NAME, NAMED, NEAR_COVERED, NEAR_HEADER, NEAR_TOGETHER,
    PLAIN_LENGTH, QUESTION, TOGETHER,
};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TopicFit {
    /// Share of the question's information that the topic covers.
    pub(crate) covered: f32,
    /// Share of the question's information that the topic's best passage covers.
    pub(crate) together: f32,
    /// Like `together`, but without the most informative word of that passage.
    pub(crate) joint: f32,
    /// Share of the question's information that the topic's name and description cover.
    pub(crate) header: f32,
    /// Share of the topic's name that occurs in the question.
    pub(crate) named: f32,
    /// Amount of information that the topic covers.
    pub(crate) evidence: f32,
}

impl TopicFit {
    /// Returns a score from 0 to 1 that has the same meaning in every directory.
    pub(crate) fn score(&self) -> f32 {
        let evident = (self.evidence / FULL_EVIDENCE).min(1.0);
        let score = COVERED * self.covered
            + TOGETHER * self.together
            + JOINT * self.joint
            + NAMED * self.named
            + EVIDENT * evident;
        score.min(1.0)
    }

    /// Returns how closely the topic matches an explicit question. The result is only used to order topics.
    pub(crate) fn nearness(&self) -> f32 {
        NEAR_COVERED * self.covered + NEAR_TOGETHER * self.together + NEAR_HEADER * self.header
    }

    pub(crate) fn is_enough(&self) -> bool {
        self.evidence >= EVIDENCE && self.score() >= FITS
    }
}

/// Returns the probability that a topic is about a word, based on where in the topic the word occurs.
pub(crate) fn aboutness(posting: &TopicPosting, length: u32) -> f32 {
    let relative = 1.0 - LENGTH_SHARE + LENGTH_SHARE * length as f32 / PLAIN_LENGTH;
    let mentions = f32::from(posting.mark.mentions);
    let in_body = BODY * mentions / (mentions + HALF_MENTIONS * relative);
    let mut doubt = 1.0 - in_body;
    for (field, worth) in [
        (TopicField::Name, NAME),
        (TopicField::Description, DESCRIPTION),
        (TopicField::Question, QUESTION),
        (TopicField::Heading, HEADING),
        (TopicField::Identifier, IDENTIFIER),
    ] {
        if posting.mark.is_in(field) {
            doubt *= 1.0 - worth;
        }
    }
    1.0 - doubt
}

/// Scores a topic in detail. `matches` are the words of the question with their occurrences.
pub(crate) fn fit(catalog: &Catalog, slot: u32, matches: &[Match<'_>]) -> TopicFit {
    let topic = &catalog.topics[slot as usize];
    let mut fit = TopicFit::default();
    let mut passages = [0.0_f32; 16];
    let mut tops = [0.0_f32; 16];
    for found in matches {
        let about = found.worth * aboutness(found.posting, topic.length);
        fit.covered += found.word.share * about;
        fit.evidence += found.word.information * about;
        for (bit, passage) in passages.iter_mut().enumerate() {
            if found.posting.mark.passages & (1 << bit) != 0 {
                *passage += found.word.share * found.worth;
                tops[bit] = tops[bit].max(found.word.share * found.worth);
            }
        }
    }
    fit.header = passages[0];
    fit.together = passages.into_iter().fold(0.0, f32::max);
    fit.joint = passages.iter().zip(tops).map(|(p, t)| p - t).fold(0.0, f32::max);
    let named = topic.names.iter().map(|name| named(catalog, name, matches));
    fit.named = named.fold(0.0, f32::max);
    fit
}

#[derive(Debug)]
pub(crate) struct Match<'a> {
    pub(crate) word: &'a QuestionWord,
    pub(crate) posting: &'a TopicPosting,
    pub(crate) number: u32,
    pub(crate) worth: f32,
}

fn named(catalog: &Catalog, name: &[u32], matches: &[Match<'_>]) -> f32 {
    let (mut said, mut whole) = (0.0, 0.0);
    for number in name {
        let information = catalog.general_information(*number) * rarity(catalog, *number);
        whole += information;
        if let Some(found) = matches.iter().find(|found| found.number == *number) {
            said += information * found.worth;
        }
    }
    if whole > 0.0 { said / whole } else { 0.0 }
}
