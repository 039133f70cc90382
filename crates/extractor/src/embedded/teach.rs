//! Finds what the user's statements teach: each sentence on its own, and requests about other sentences.

use bethink_facts::{RecordedStatement, SaidKind};
use bethink_transcript::Seq;

use super::asked::{MemoryWishKind, wish};
use super::gates::{self, No};
use super::plain::{links, plain};
use super::prose::{Sentence, sentences};
use super::table::{Lesson, TABLE, rule_for};
use crate::same::Meaning;

/// A message with more sentences is a pasted document, from which only explicit requests are used.
const MOST_SENTENCES: usize = 30;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaughtSentence<'a> {
    pub seq: Seq,
    /// The exact text in the message.
    pub sentence: &'a str,
    pub lesson: Lesson,
    pub rule: &'static str,
    /// The user asked for it to be remembered.
    pub asked: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Teachings<'a> {
    pub taught: Vec<TaughtSentence<'a>>,
    /// Requests to forget something. A person decides what to remove.
    pub forget: Vec<(Seq, &'a str)>,
    /// Statements that the user asked to remember and that were rejected, with the reason.
    pub declined: Vec<(Seq, &'a str, No)>,
}

pub fn taught_by<'a>(said: impl IntoIterator<Item = &'a RecordedStatement>) -> Teachings<'a> {
    let mut found = Teachings::default();
    for said in said.into_iter().filter(|said| said.kind != SaidKind::Handover) {
        TeachListener { said, found: &mut found, following: None, before: None }.listen();
    }
    found
}

/// Sentences to remember because an earlier one said so.
#[derive(Clone, Copy, Default)]
struct Following {
    /// The items below the paragraph have begun.
    items: bool,
    paragraph: Option<usize>,
}

struct TeachListener<'f, 'a> {
    said: &'a RecordedStatement,
    found: &'f mut Teachings<'a>,
    following: Option<Following>,
    before: Option<Sentence<'a>>,
}

impl<'a> TeachListener<'_, 'a> {
    fn listen(mut self) {
        let text: &'a str = &self.said.text;
        let sentences = sentences(text);
        let is_document = sentences.len() > MOST_SENTENCES;
        for sentence in sentences {
            let plain = plain(sentence.text);
            if plain.is_empty() {
                continue;
            }
            let plain = gates::without_politeness(&plain).unwrap_or(&plain);
            if !self.wished(sentence, plain) && !self.continued(sentence, plain) && !is_document {
                if sentence.opens() && !goes_on_in_prose(plain) {
                    // The text that follows was copied, or is a list of tasks.
                    return;
                }
                self.judge(sentence, plain);
            }
            self.before = Some(sentence);
        }
    }

    /// Whether it is an explicit instruction.
    fn wished(&mut self, sentence: Sentence<'a>, plain: &str) -> bool {
        // A list of standing orders follows.
        if TABLE.wishes.opens_rules.hold(plain) {
            self.following = Some(Following::default());
            return true;
        }
        let Some(wish) = wish(plain, sentence.opens()) else { return false };
        match wish {
            MemoryWishKind::Forget => self.found.forget.push((self.said.seq, sentence.text)),
            MemoryWishKind::Remember if plain.ends_with('?') => return false,
            MemoryWishKind::Remember => self.take_asked(sentence, plain),
            MemoryWishKind::RememberAfter => self.following = Some(Following::default()),
            MemoryWishKind::RememberBefore => {
                if let Some(before) = self.before {
                    self.take_asked(before, &super::plain::plain(before.text));
                }
            }
        }
        true
    }

    /// Whether an earlier sentence requested this one.
    fn continued(&mut self, sentence: Sentence<'a>, plain: &str) -> bool {
        let Some(Following { items, paragraph }) = &mut self.following else { return false };
        let own = *paragraph.get_or_insert(sentence.paragraph);
        let belongs = sentence.item || (!*items && own == sentence.paragraph);
        *items |= sentence.item;
        if !belongs {
            self.following = None;
            return false;
        }
        self.take_asked(sentence, plain);
        true
    }

    fn take_asked(&mut self, sentence: Sentence<'a>, plain: &str) {
        if let Some(no) = gates::never(sentence.text, plain) {
            self.found.declined.push((self.said.seq, sentence.text, no));
            return;
        }
        if Meaning::of(sentence.text).words.is_empty() {
            return;
        }
        let rule = rule_for(plain).or_else(|| rule_for(without_asking(plain)));
        let lesson = rule.map_or_else(|| looks_like(sentence.text, plain), |rule| rule.lesson);
        self.push(sentence, lesson, rule.map_or("remember", |rule| &rule.name), true);
    }

    fn judge(&mut self, sentence: Sentence<'a>, plain: &str) {
        let Some(rule) = rule_for(plain) else { return };
        if gates::unless_asked(plain).is_some() || gates::never(sentence.text, plain).is_some() {
            return;
        }
        if rule.name == "I prefer" && self.said.question.is_some() {
            // A choice among offered options, which says nothing about later ones.
            return;
        }
        if Meaning::of(sentence.text).words.len() >= rule.least_words {
            self.push(sentence, rule.lesson, &rule.name, false);
        }
    }

    fn push(&mut self, sentence: Sentence<'a>, lesson: Lesson, rule: &'static str, asked: bool) {
        let taught =
            TaughtSentence { seq: self.said.seq, sentence: sentence.text, lesson, rule, asked };
        // "Remember that", after a sentence that was accepted anyway.
        let double = |known: &&mut TaughtSentence<'_>| {
            known.seq == taught.seq && known.sentence == taught.sentence
        };
        match self.found.taught.iter_mut().find(double) {
            Some(known) => known.asked |= asked,
            None => self.found.taught.push(taught),
        }
    }
}

/// After a colon: the user's own list, not a list of tasks.
fn goes_on_in_prose(plain: &str) -> bool {
    let holds = |words: &str| words.split(' ').any(|word| plain.contains(word));
    holds("rules notes preferences conventions guidelines reminders things points wishes")
        && !holds("says said following feedback comment error output")
        && !plain.contains("these points")
}

/// The text to remember, without the words that request it.
fn without_asking(plain: &str) -> &str {
    let rest = plain.split_once([' ', ',', ':']).map_or(plain, |(_, rest)| rest).trim_start();
    let fillers = ["that ", "to ", "this: ", "dir, dass ", "dir dass ", "que ", "dass "];
    fillers.iter().find_map(|filler| rest.strip_prefix(filler)).unwrap_or(rest)
}

/// The kind of a statement that no rule matches.
fn looks_like(sentence: &str, plain: &str) -> Lesson {
    let rest = without_asking(plain);
    let begins = |words: &[&str]| words.iter().any(|word| rest.starts_with(word));
    if !links(sentence).is_empty() {
        Lesson::Pointer
    } else if begins(&[
        "i ", "i'm ", "my ", "ich ", "mein", "je ", "j'", "mon ", "yo ", "mi ", "我",
    ]) {
        Lesson::Person
    } else if plain.contains(" to ") && begins(&["always", "never", "not ", "don't", "do not"])
        || begins(&[
            "always", "never", "don't", "do not", "use ", "run ", "write ", "keep ", "avoid ",
        ])
        || plain.contains("remember to ")
    {
        Lesson::Standing
    } else {
        Lesson::Asked
    }
}
