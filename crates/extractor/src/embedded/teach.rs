//! Finds the lessons in the user's statements: sentences that teach something, and requests about other sentences.

use bethink_facts::RecordedStatement;
use bethink_transcript::{Seq, UnixMicros};

use super::asked::{MemoryRequestKind, memory_request};
use super::draft::without_request;
use super::gates::{self, No};
use super::parsed::{ParsedSentence, ParsedStatement};
use super::plain::links;
use super::prose::Sentence;
use super::table::{Lesson, TABLE, rule_for};
use crate::same::Meaning;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaughtSentence<'a> {
    pub seq: Seq,
    /// When the sentence was said.
    pub at: UnixMicros,
    /// The exact text in the message.
    pub sentence: &'a str,
    pub lesson: Lesson,
    pub rule: &'static str,
    /// Whether the user asked for it to be remembered.
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

pub fn taught_by<'a>(statements: &[ParsedStatement<'a>]) -> Teachings<'a> {
    let mut found = Teachings::default();
    for statement in statements {
        StatementReader { said: statement.said, found: &mut found, following: None, before: None }
            .read(statement);
    }
    found
}

/// The following sentences are to be remembered, because an earlier sentence asked for that.
#[derive(Clone, Copy, Default)]
struct Following {
    /// Whether a list item was read.
    items: bool,
    paragraph: Option<usize>,
}

struct StatementReader<'f, 'a> {
    said: &'a RecordedStatement,
    found: &'f mut Teachings<'a>,
    following: Option<Following>,
    before: Option<Sentence<'a>>,
}

impl<'a> StatementReader<'_, 'a> {
    fn read(mut self, statement: &ParsedStatement<'a>) {
        for ParsedSentence { sentence, plain } in &statement.sentences {
            if plain.is_empty() {
                continue;
            }
            let plain = gates::without_politeness(plain).unwrap_or(plain);
            if !self.requested(*sentence, plain)
                && !self.continued(*sentence, plain)
                && !statement.is_document()
            {
                let opens_list = sentence.opens() && !opens_own_list(plain);
                if opens_list || gates::opens_material(plain) {
                    // The text after it was copied, or is a list of tasks.
                    return;
                }
                self.judge(*sentence, plain);
            }
            self.before = Some(*sentence);
        }
    }

    /// Handles an explicit request; returns whether the sentence is one.
    fn requested(&mut self, sentence: Sentence<'a>, plain: &str) -> bool {
        // A list of standing orders follows.
        if TABLE.wishes.opens_rules.match_any(plain) {
            self.following = Some(Following::default());
            return true;
        }
        let Some(request) = memory_request(plain, sentence.opens()) else { return false };
        match request {
            MemoryRequestKind::Forget => self.found.forget.push((self.said.seq, sentence.text)),
            MemoryRequestKind::Remember if plain.ends_with(['?', '？']) => return false,
            MemoryRequestKind::Remember => self.take_asked(sentence, plain),
            MemoryRequestKind::RememberAfter => self.following = Some(Following::default()),
            MemoryRequestKind::RememberBefore => {
                if let Some(before) = self.before {
                    self.take_asked(before, &super::plain::plain(before.text));
                }
            }
        }
        true
    }

    /// Handles a sentence that the user asked to remember in an earlier sentence; returns whether the sentence is one of
    /// these.
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
        let is_task_now = plain.contains("remember to ") && gates::is_of_the_moment(plain);
        let no = is_task_now.then_some(No::OfTheMoment);
        if let Some(no) = no.or_else(|| gates::never(sentence.text, plain)) {
            self.found.declined.push((self.said.seq, sentence.text, no));
            return;
        }
        if Meaning::of(sentence.text).words.is_empty() {
            return;
        }
        let rule = rule_for(plain).or_else(|| rule_for(without_request(plain)));
        let lesson = rule.map_or_else(|| looks_like(sentence.text, plain), |rule| rule.lesson);
        let lesson = lesson.of_answers(without_request(plain));
        self.push(sentence, lesson, rule.map_or("remember", |rule| &rule.name), true);
    }

    fn judge(&mut self, sentence: Sentence<'a>, plain: &str) {
        if gates::is_too_long(sentence.text) {
            return;
        }
        let Some(rule) = rule_for(plain) else { return };
        if gates::unless_asked(plain).is_some() || gates::never(sentence.text, plain).is_some() {
            return;
        }
        if rule.name == "I prefer" && self.said.question.is_some() {
            // It is a choice among offered options, which says nothing about later choices.
            return;
        }
        if Meaning::of(sentence.text).words.len() >= rule.least_words {
            self.push(sentence, rule.lesson.of_answers(plain), &rule.name, false);
        }
    }

    fn push(&mut self, sentence: Sentence<'a>, lesson: Lesson, rule: &'static str, asked: bool) {
        let RecordedStatement { seq, at, .. } = *self.said;
        let taught = TaughtSentence { seq, at, sentence: sentence.text, lesson, rule, asked };
        // "Remember that" may follow a sentence that was already accepted.
        let double = |known: &&mut TaughtSentence<'_>| {
            known.seq == taught.seq && known.sentence == taught.sentence
        };
        match self.found.taught.last_mut().filter(double) {
            Some(known) => known.asked |= asked,
            None => self.found.taught.push(taught),
        }
    }
}

/// Words that show that a sentence with a colon opens a list of somebody else's statements.
const OTHERS: [&str; 32] = [
    "says",
    "said",
    "following",
    "feedback",
    "comment",
    "comments",
    "error",
    "output",
    "meeting",
    "release",
    "changelog",
    "readme",
    "doc",
    "docs",
    "wiki",
    "page",
    "article",
    "blog",
    "ticket",
    "issue",
    "mail",
    "email",
    "slack",
    "chat",
    "log",
    "review",
    "reviewer",
    "colleague",
    "his",
    "her",
    "their",
    "transcript",
];

/// Whether a sentence with a colon opens the user's own list, not a list of tasks.
fn opens_own_list(plain: &str) -> bool {
    let owns = "rules notes preferences conventions guidelines reminders things points wishes";
    let mut words = plain.split(|c: char| !c.is_alphanumeric());
    owns.split(' ').any(|word| plain.contains(word))
        && !words.any(|word| OTHERS.contains(&word))
        && !plain.contains("these points")
}

/// Guesses the kind of a statement without a matching rule.
fn looks_like(sentence: &str, plain: &str) -> Lesson {
    let rest = without_request(plain);
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
