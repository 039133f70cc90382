//! What the user's statements teach: each sentence on its own, and what is said about sentences.

use bethink_facts::{Said, SaidKind};
use bethink_transcript::Seq;

use super::asked::{Wish, opens_rules, wish};
use super::gates::{self, No};
use super::plain::{links, plain};
use super::prose::{Sentence, sentences};
use super::rules::{Lesson, taught};
use crate::same::Meaning;

/// With more sentences a message is a document that was pasted, and only what is asked for is taken of it.
const MOST_SENTENCES: usize = 30;

/// A sentence that teaches something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taught<'a> {
    pub seq: Seq,
    /// Letter by letter, as it stands in the message.
    pub sentence: &'a str,
    pub lesson: Lesson,
    /// By which rule.
    pub rule: &'static str,
    /// The user asked for it to be remembered.
    pub asked: bool,
}

/// What was found in the user's words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found<'a> {
    pub taught: Vec<Taught<'a>>,
    /// Requests to forget something. A person decides what that is.
    pub forget: Vec<(Seq, &'a str)>,
    /// What the user asked to remember and is not taken, with the reason.
    pub declined: Vec<(Seq, &'a str, No)>,
}

/// Looks through statements in order.
pub fn taught_by<'a>(said: impl IntoIterator<Item = &'a Said>) -> Found<'a> {
    let mut found = Found::default();
    for said in said.into_iter().filter(|said| said.kind != SaidKind::Handover) {
        Listener { said, found: &mut found, after: After::Nothing, before: None }.listen();
    }
    found
}

/// What a sentence said about those after it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    Nothing,
    /// They are to be remembered; they stand in this paragraph and in items below it.
    Remember {
        items: bool,
        paragraph: Option<usize>,
    },
}

struct Listener<'f, 'a> {
    said: &'a Said,
    found: &'f mut Found<'a>,
    after: After,
    before: Option<Sentence<'a>>,
}

impl<'a> Listener<'_, 'a> {
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
                    // What follows was copied, or is a list of things to do.
                    return;
                }
                self.judge(sentence, plain);
            }
            self.before = Some(sentence);
        }
    }

    /// Whether it was said outright what to do.
    fn wished(&mut self, sentence: Sentence<'a>, plain: &str) -> bool {
        if opens_rules(plain) {
            self.after = After::Remember { items: false, paragraph: None };
            return true;
        }
        let Some(wish) = wish(plain, sentence.opens()) else { return false };
        match wish {
            Wish::Forget => self.found.forget.push((self.said.seq, sentence.text)),
            Wish::Remember if plain.ends_with('?') => return false,
            Wish::Remember => self.take_asked(sentence, plain),
            Wish::RememberAfter => self.after = After::Remember { items: false, paragraph: None },
            Wish::RememberBefore => {
                if let Some(before) = self.before {
                    self.take_asked(before, &super::plain::plain(before.text));
                }
            }
        }
        true
    }

    /// Whether a sentence before it asked for this one.
    fn continued(&mut self, sentence: Sentence<'a>, plain: &str) -> bool {
        let After::Remember { items, paragraph } = &mut self.after else { return false };
        let own = *paragraph.get_or_insert(sentence.paragraph);
        let belongs = sentence.item || (!*items && own == sentence.paragraph);
        *items |= sentence.item;
        if !belongs {
            self.after = After::Nothing;
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
        let held = taught(plain).or_else(|| taught(without_asking(plain)));
        let lesson = held.map_or_else(|| looks_like(sentence.text, plain), |held| held.lesson);
        let rule = held.map_or("remember", |held| held.rule);
        self.push(sentence, lesson, rule, true);
    }

    fn judge(&mut self, sentence: Sentence<'a>, plain: &str) {
        let Some(held) = taught(plain) else { return };
        if gates::unless_asked(plain).is_some() || gates::never(sentence.text, plain).is_some() {
            return;
        }
        let is_choice = held.lesson == Lesson::Preference && held.rule == "I prefer";
        if is_choice && self.said.question.is_some() {
            // One of what was offered; it says nothing of the next choice.
            return;
        }
        if Meaning::of(sentence.text).words.len() >= held.least_words() {
            self.push(sentence, held.lesson, held.rule, false);
        }
    }

    fn push(&mut self, sentence: Sentence<'a>, lesson: Lesson, rule: &'static str, asked: bool) {
        let taught = Taught { seq: self.said.seq, sentence: sentence.text, lesson, rule, asked };
        // "Remember that", after a sentence that was taken anyway.
        let double =
            |known: &&mut Taught<'_>| known.seq == taught.seq && known.sentence == taught.sentence;
        match self.found.taught.iter_mut().find(double) {
            Some(known) => known.asked |= asked,
            None => self.found.taught.push(taught),
        }
    }
}

/// After a colon: a list of one's own, not one of things to do.
fn goes_on_in_prose(plain: &str) -> bool {
    const OWN: [&str; 9] = [
        "rules",
        "notes",
        "preferences",
        "conventions",
        "guidelines",
        "reminders",
        "things",
        "points",
        "wishes",
    ];
    let copied =
        ["says", "said", "following", "feedback", "comment", "error", "output", "these points"];
    OWN.iter().any(|word| plain.contains(word)) && !copied.iter().any(|word| plain.contains(word))
}

/// What is to be remembered, without the words that ask for it.
fn without_asking(plain: &str) -> &str {
    let rest = plain.split_once([' ', ',', ':']).map_or(plain, |(_, rest)| rest).trim_start();
    let fillers = ["that ", "to ", "this: ", "dir, dass ", "dir dass ", "que ", "dass "];
    fillers.iter().find_map(|filler| rest.strip_prefix(filler)).unwrap_or(rest)
}

/// What a statement is that no rule knows.
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
