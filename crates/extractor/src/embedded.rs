//! Finds memories without a model, only in the user's prose.
//!
//! Precision matters more than recall, because most turns teach nothing. A memory is the user's own sentence, so its
//! source can be checked.

pub mod asked;
pub mod candidates;
pub mod draft;
pub mod gates;
pub mod matter;
pub mod parsed;
mod patterns;
pub mod plain;
pub mod prose;
pub mod table;
pub mod teach;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use bethink_facts::RecordedStatement;
use bethink_memdir::{Hash, Name, Scope, Source, header};
use bethink_transcript::{Seq, UnixMicros};

use crate::same::Meaning;
use matter::settled_by;
use parsed::ParsedStatement;
use teach::{TaughtSentence, Teachings, taught_by};

pub use candidates::{FoundCandidate, MAX_CANDIDATES};
pub use draft::STRATEGY;
pub use gates::No;

/// Maximum number of topics that one extraction writes: people teach a few things at a time.
pub const MAX_WRITES: usize = 16;

#[derive(Clone, Debug)]
pub struct KnownTopic {
    pub name: Name,
    pub hash: Hash,
    pub text: String,
    /// Team topics are not changed.
    pub scope: Scope,
}

/// The input of an extraction: new statements and existing topics.
#[derive(Clone, Copy, Debug)]
pub struct ExtractionInput<'a> {
    /// The user's statements since the last extraction.
    pub said: &'a [RecordedStatement],
    pub known: &'a [KnownTopic],
    /// Statements that a person removed or refused.
    pub refused: &'a [Meaning],
    pub session: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenTopic {
    pub name: Name,
    /// Hash of the current text; `None` if the file must not exist.
    pub over: Option<Hash>,
    pub text: String,
    /// The user's own words.
    pub sentence: String,
    /// The message that contains these words.
    pub seq: Seq,
    pub rule: &'static str,
}

/// The reason why a statement was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// A topic already says the same.
    Known,
    /// A person removed or refused the statement.
    Refused,
    /// The user later said something else on the same matter.
    Replaced,
    /// The extraction had already written the maximum number of topics.
    TooMany,
    Gate(No),
}

/// The result of an extraction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extraction {
    pub writes: Vec<WrittenTopic>,
    /// Statements that wait for a decision, the best first; at most [`MAX_CANDIDATES`].
    pub candidates: Vec<FoundCandidate>,
    pub dropped: Vec<(Seq, String, DropReason)>,
    /// The user's requests to forget something.
    pub forget: Vec<(Seq, String)>,
}

/// Finds what the statements teach and no topic says yet.
pub fn extract(lookup: &ExtractionInput<'_>) -> Extraction {
    let statements = parsed::statements(lookup.said);
    let Teachings { taught, forget, declined } = taught_by(&statements);
    let mut extractor = Extractor::new(lookup);
    for (seq, sentence, no) in declined {
        extractor.out.dropped.push((seq, sentence.to_owned(), DropReason::Gate(no)));
    }
    for taught in &taught {
        extractor.take(taught);
    }
    extractor.out.candidates = extractor.candidates(statements);
    extractor.out.forget = forget.into_iter().map(|(seq, text)| (seq, text.to_owned())).collect();
    extractor.out
}

/// The name of a topic to write, the hash of its current text, and the new text.
type WrittenText = (Name, Option<Hash>, String);

struct Extractor<'a> {
    lookup: &'a ExtractionInput<'a>,
    out: Extraction,
    /// Statements that are already part of this extraction.
    new: Vec<Meaning>,
    names: HashSet<String>,
}

impl<'a> Extractor<'a> {
    fn new(lookup: &'a ExtractionInput<'a>) -> Self {
        let names = lookup.known.iter().map(|known| known.name.folded()).collect();
        Self { lookup, out: Extraction::default(), new: Vec::new(), names }
    }

    fn take(&mut self, taught: &TaughtSentence<'_>) {
        let meaning = Meaning::of(taught.sentence);
        if let Some(dropped) = self.dropped(taught, &meaning) {
            self.out.dropped.push((taught.seq, taught.sentence.to_owned(), dropped));
            return;
        }
        let source = Source {
            session: self.lookup.session.to_owned(),
            messages: vec![taught.seq.0.to_string()],
            strategy: STRATEGY.to_owned(),
            time: draft::time(taught.at),
            ..Source::default()
        };
        self.drop_replaced(taught);
        let replaced = self.replaced(taught, &source);
        let continued = replaced.or_else(|| self.continued(taught, &meaning, &source));
        let (name, over, text) = continued.unwrap_or_else(|| self.fresh(taught, &source));
        self.names.insert(name.folded());
        self.new.push(meaning);
        let TaughtSentence { seq, rule, .. } = *taught;
        let sentence = taught.sentence.to_owned();
        self.out.writes.push(WrittenTopic { name, over, text, sentence, seq, rule });
    }

    /// Returns the best candidates that are neither known nor refused. If two have the same subject, the later one is
    /// kept.
    fn candidates(&self, statements: Vec<ParsedStatement<'_>>) -> Vec<FoundCandidate> {
        let mut kept: Vec<(Meaning, FoundCandidate)> = Vec::new();
        for candidate in candidates::found_in(statements) {
            let meaning = Meaning::of(&candidate.sentence);
            if self.is_refused(&meaning) || self.is_known(&meaning, None) {
                continue;
            }
            let is_like = |(other, _): &&mut (Meaning, FoundCandidate)| {
                meaning.same(other) || meaning.about(other)
            };
            match kept.iter_mut().find(is_like) {
                Some(other) if candidate.seq > other.1.seq => *other = (meaning, candidate),
                Some(_) => {}
                None => kept.push((meaning, candidate)),
            }
            if kept.len() > MAX_CANDIDATES {
                kept.truncate(MAX_CANDIDATES);
                break;
            }
        }
        kept.into_iter().map(|(_, candidate)| candidate).collect()
    }

    fn is_refused(&self, meaning: &Meaning) -> bool {
        self.lookup.refused.iter().any(|refused| meaning.repeats(refused))
    }

    /// Whether a topic already says the same, or this extraction has already found it. `at` is when it was said, if a
    /// later statement on its subject can override a topic's newest one.
    fn is_known(&self, meaning: &Meaning, at: Option<UnixMicros>) -> bool {
        let says_it = |known: &KnownTopic| {
            let topic = header::read(&known.text);
            let described = Meaning::of(&topic.header.description.unwrap_or_default());
            let is_ours = topic.header.source.is_some_and(|source| source.strategy == STRATEGY);
            // The user came back to what they said before the topic's newest statement.
            let is_newer = || is_ours && at > said_at(known) && meaning.about(&described);
            meaning.same(&described) || meaning.within(topic.body) && !is_newer()
        };
        self.new.iter().any(|new| meaning.same(new)) || self.lookup.known.iter().any(says_it)
    }

    fn dropped(&self, taught: &TaughtSentence<'_>, meaning: &Meaning) -> Option<DropReason> {
        // An explicit request is accepted even if a person removed the statement before: the user changed their mind.
        if !taught.asked && self.is_refused(meaning) {
            return Some(DropReason::Refused);
        }
        if self.is_known(meaning, Some(taught.at)) {
            return Some(DropReason::Known);
        }
        if self.settled(taught).is_some_and(|known| said_at(known) > Some(taught.at)) {
            return Some(DropReason::Replaced);
        }
        (self.out.writes.len() >= MAX_WRITES).then_some(DropReason::TooMany)
    }

    /// Returns the topic that an extraction wrote about the same matter as this statement.
    fn settled(&self, taught: &TaughtSentence<'_>) -> Option<&'a KnownTopic> {
        let matter = settled_by(taught.sentence)?;
        // A statement about a project overrides the person's memory in that project, and does not change it.
        let is_persons = Scope::of(Some(taught.lesson.kind())) == Scope::Person;
        self.lookup.known.iter().find(|known| {
            let head = header::read(&known.text).header;
            (known.scope == Scope::Private || known.scope == Scope::Person && is_persons)
                && head.source.is_some_and(|source| source.strategy == STRATEGY)
                && head.description.is_some_and(|said| settled_by(&said).as_ref() == Some(&matter))
        })
    }

    /// Drops what this extraction already found on the same matter.
    fn drop_replaced(&mut self, taught: &TaughtSentence<'_>) {
        let Some(matter) = settled_by(taught.sentence) else { return };
        let is_on_it = |write: &WrittenTopic| settled_by(&write.sentence).as_ref() == Some(&matter);
        let (old, kept) = std::mem::take(&mut self.out.writes).into_iter().partition(is_on_it);
        self.out.writes = kept;
        for WrittenTopic { name, sentence, seq, over, .. } in old {
            if over.is_none() {
                self.names.remove(&name.folded());
            }
            self.new.retain(|new| *new != Meaning::of(&sentence));
            self.out.dropped.push((seq, sentence, DropReason::Replaced));
        }
    }

    /// Replaces the statement of a topic about the same matter.
    fn replaced(&self, taught: &TaughtSentence<'_>, source: &Source) -> Option<WrittenText> {
        let known = self.settled(taught)?;
        let text = draft::replaced(&known.text, taught, &known.name, source);
        Some((known.name.clone(), Some(known.hash), text))
    }

    /// Adds the statement to a topic on the same subject, if an extraction wrote one.
    fn continued(
        &self,
        taught: &TaughtSentence<'_>,
        meaning: &Meaning,
        source: &Source,
    ) -> Option<WrittenText> {
        let is_ours = |known: &&KnownTopic| {
            let head = header::read(&known.text).header;
            let written = self.out.writes.iter().any(|written| written.name == known.name);
            let ours = head.source.is_some_and(|source| source.strategy == STRATEGY);
            let about = head.description.is_some_and(|said| meaning.about(&Meaning::of(&said)));
            known.scope != Scope::Team
                && ours
                && about
                && !written
                && head.kind == Some(taught.lesson.kind())
        };
        let known = self.lookup.known.iter().find(is_ours)?;
        let text = draft::continued(&known.text, taught, &known.name, source).ok()?;
        Some((known.name.clone(), Some(known.hash), text))
    }

    fn fresh(&self, taught: &TaughtSentence<'_>, source: &Source) -> WrittenText {
        let base = draft::name(taught.sentence);
        let names = std::iter::once(base.clone()).chain((2..).map(|number| base.numbered(number)));
        let mut free = names.filter(|name| !self.names.contains(&name.folded()));
        let name = free.next().unwrap_or(base);
        let text = draft::topic(taught, &name, source);
        (name, None, text)
    }
}

/// Returns when the newest statement of a topic was said.
fn said_at(known: &KnownTopic) -> Option<UnixMicros> {
    let source = header::read(&known.text).header.source?;
    draft::parse_time(&source.time)
}
