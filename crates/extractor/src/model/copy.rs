//! The copy of the memory that an agent reads and writes, and the rules for its writes.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::mem::discriminant;

use bethink_memdir::header::{self, HeaderChange};
use bethink_memdir::{Hash, Name, Source, unseen};

use super::evidence::MemoryEvidence;
use super::spot::MemorySpot;
use crate::same::Meaning;

mod search;

/// Maximum number of topics that one extraction may change: a conversation teaches a few things.
pub const MAX_TOPICS: usize = 12;
/// Maximum size of a topic, in bytes: four times the size of a recalled memory in a prompt.
pub const MAX_TOPIC_BYTES: usize = 16 * 1024;
/// Maximum length of a description, in characters. With link and title, it should fit into the 200 characters of an
/// index line.
const DESCRIPTION_CHARS: usize = 180;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CopiedTopic {
    /// The text that the agent was given; `None` for a new topic.
    before: Option<String>,
    now: String,
}

impl CopiedTopic {
    fn is_changed(&self) -> bool {
        self.before.as_deref() != Some(&self.now)
    }
}

#[derive(Clone, Debug, Default)]
pub struct MemoryCopy {
    files: BTreeMap<MemorySpot, CopiedTopic>,
    refused: Vec<Meaning>,
    /// What new text must rest on; `None` if the copy is not for an extraction.
    evidence: Option<MemoryEvidence>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    pub name: Name,
    /// Hash of the text that the agent was given; `None` for a new topic.
    pub over: Option<Hash>,
    pub text: String,
}

/// The reason why a write was refused. The copy is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedWrite {
    #[error("file not found")]
    Missing,
    #[error("the old text is empty, or the same as the new text")]
    NothingToDo,
    #[error("the old text is not in the file; it must match character for character")]
    NotFound,
    #[error("the old text occurs {0} times in the file; include more of the text around it")]
    Repeated(usize),
    #[error(
        "the topic would be {actual} bytes, more than {MAX_TOPIC_BYTES}; write one fact and its reason"
    )]
    TooBig { actual: usize },
    #[error("the limit of {MAX_TOPICS} topics is reached; no more are accepted this time")]
    TooMany,
    #[error(
        "a topic must begin with front matter that has a one-line description of at most {DESCRIPTION_CHARS} characters"
    )]
    NoDescription,
    #[error("the type must be user, feedback, project or reference")]
    NoKind,
    #[error("a topic cannot be emptied here; leave its content as it is")]
    Emptied,
    #[error("the text contains a secret: {0}; write where the secret is stored instead")]
    Secret(String),
    #[error("the text contains invisible characters: {0}")]
    Hidden(String),
    #[error("a person removed this statement: {0:?}; leave it out")]
    Unwanted(String),
    #[error(
        "add a quotation: a whole sentence from the user's new messages, word for word, in lines that begin with `> `"
    )]
    NoQuotation,
    #[error(
        "{0:?} is not a sentence of the user's new messages; quote a whole sentence, word for word, or write nothing"
    )]
    NotSaid(String),
    #[error(
        "a person wrote or edited this topic, so its line {0:?} must stay; add yours below it, or write a new topic"
    )]
    Persons(String),
    #[error("the text is about an agent's instructions: {0:?}; leave it out")]
    Overrides(String),
    #[error("only topics can be written")]
    NoTopic,
    #[error(
        "on some file systems, this name is the same as that of the existing topic {0:?}; change that topic instead"
    )]
    Twin(String),
}

impl MemoryCopy {
    pub fn new(topics: Vec<(Name, String)>, index: String, refused: Vec<Meaning>) -> Self {
        let mut copy = Self { refused, ..Self::default() };
        copy.give(topics, MemorySpot::Topic, index, MemorySpot::Index);
        copy
    }

    #[must_use]
    pub fn with_team(mut self, topics: Vec<(Name, String)>, index: String) -> Self {
        self.give(topics, MemorySpot::TeamTopic, index, MemorySpot::TeamIndex);
        self
    }

    /// Requires new text to rest on what the user said.
    #[must_use]
    pub fn with_evidence(self, evidence: MemoryEvidence) -> Self {
        Self { evidence: Some(evidence), ..self }
    }

    fn give(
        &mut self,
        topics: Vec<(Name, String)>,
        topic: fn(Name) -> MemorySpot,
        index: String,
        index_spot: MemorySpot,
    ) {
        let index = Some((index_spot, index)).filter(|(_, text)| !text.is_empty());
        let topics = topics.into_iter().map(|(name, text)| (topic(name), text));
        let entry = |text: String| CopiedTopic { before: Some(text.clone()), now: text };
        self.files.extend(topics.chain(index).map(|(spot, text)| (spot, entry(text))));
    }

    pub fn read(&self, spot: &MemorySpot) -> Result<&str, RefusedWrite> {
        let text = self.files.get(spot).map(|entry| entry.now.as_str());
        text.filter(|text| !text.is_empty()).ok_or(RefusedWrite::Missing)
    }

    /// Writes a whole topic. The result is a message to the model.
    pub fn write(&mut self, spot: &MemorySpot, text: &str) -> Result<String, RefusedWrite> {
        let text = text.replace("\r\n", "\n");
        let name = spot.topic().ok_or(RefusedWrite::NoTopic)?;
        self.check(spot, name, &text)?;
        let verb = if self.files.contains_key(spot) { "changed" } else { "written" };
        self.files.entry(spot.clone()).or_default().now = text;
        Ok(format!("{} was {verb}.", name.file()))
    }

    /// Replaces `old`, which must occur exactly once, with `new`; if `all` is set, replaces every occurrence.
    pub fn edit(
        &mut self,
        spot: &MemorySpot,
        old: &str,
        new: &str,
        all: bool,
    ) -> Result<String, RefusedWrite> {
        let text = self.read(spot)?;
        if old.is_empty() || old == new {
            return Err(RefusedWrite::NothingToDo);
        }
        let count = match text.matches(old).count() {
            0 => return Err(RefusedWrite::NotFound),
            count if count > 1 && !all => return Err(RefusedWrite::Repeated(count)),
            count => count,
        };
        // Checked before the text is built: replacing a short string that occurs often could need gigabytes.
        let actual = text.len().saturating_add(new.len().saturating_mul(count));
        if actual > 2 * MAX_TOPIC_BYTES {
            return Err(RefusedWrite::TooBig { actual });
        }
        let text = text.replace(old, new);
        self.write(spot, &text)
    }

    /// Returns the private topics that the agent changed, with their source added.
    pub fn changed(&self, source: &Source) -> Vec<Changed> {
        self.stamped(source, |spot| matches!(spot, MemorySpot::Topic(_)))
    }

    /// Returns the topics that the agent proposes to the team, with their source added.
    pub fn proposed(&self, source: &Source) -> Vec<Changed> {
        self.stamped(source, |spot| matches!(spot, MemorySpot::TeamTopic(_)))
    }

    fn stamped(&self, source: &Source, is_wanted: fn(&MemorySpot) -> bool) -> Vec<Changed> {
        let changes = [HeaderChange::Modified(&source.time), HeaderChange::Source(source)];
        let files = self.files.iter().filter(|(spot, file)| is_wanted(spot) && file.is_changed());
        let stamped = files.filter_map(|(spot, file)| {
            Some(Changed {
                name: spot.topic()?.clone(),
                over: file.before.as_ref().map(|text| Hash::of(text.as_bytes())),
                // If no key can be added to a person's front matter, it stays unchanged.
                text: header::with(&file.now, &changes).unwrap_or_else(|_| file.now.clone()),
            })
        });
        stamped.collect()
    }

    /// Lists up to `max_rows` topics, one per line, with name, type and description. Topics that share words with `about`
    /// come first.
    pub fn manifest(&self, max_rows: usize, about: &Meaning) -> String {
        let row = |(spot, entry): (&MemorySpot, &CopiedTopic)| {
            let topic = header::read(&entry.now);
            let kind = topic.header.kind.map_or_else(String::new, |kind| format!(" [{kind}]"));
            let described = topic.header.described(topic.body);
            let line = format!("- {}{kind}: {described}", spot.path());
            bethink_memdir::prompt::guarded(&line).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let topics = self.files.iter().filter(|(spot, _)| spot.topic().is_some());
        let mut rows: Vec<String> = topics.map(row).collect();
        let left = rows.len().saturating_sub(max_rows);
        if left > 0 {
            rows.sort_by_cached_key(|row| {
                Reverse(Meaning::of(row).words.intersection(&about.words).count())
            });
            rows.truncate(max_rows);
            rows.push(format!("- and {left} more: list the directory to see them"));
        }
        rows.join("\n")
    }

    fn check(&self, spot: &MemorySpot, name: &Name, text: &str) -> Result<(), RefusedWrite> {
        let known = self.files.get(spot);
        let is_twin = |other: &&MemorySpot| {
            *other != spot
                && discriminant(*other) == discriminant(spot)
                && other.topic().is_some_and(|topic| topic.folded() == name.folded())
        };
        if known.is_none()
            && let Some(twin) = self.files.keys().find(is_twin).and_then(MemorySpot::topic)
        {
            return Err(RefusedWrite::Twin(twin.file()));
        }
        let changed = self.files.values().filter(|file| file.is_changed()).count();
        if known.is_none_or(|file| !file.is_changed()) && changed >= MAX_TOPICS {
            return Err(RefusedWrite::TooMany);
        }
        if text.len() > MAX_TOPIC_BYTES {
            return Err(RefusedWrite::TooBig { actual: text.len() });
        }
        let before = known.and_then(|file| file.before.as_deref()).unwrap_or_default();
        is_topic(text, before)?;
        is_clean(name, text, before)?;
        self.is_wanted(text, before)?;
        self.evidence.as_ref().map_or(Ok(()), |evidence| evidence.check(spot, text, before))
    }

    /// Refuses statements that a person removed or refused before, even in other words.
    fn is_wanted(&self, text: &str, before: &str) -> Result<(), RefusedWrite> {
        let topic = header::read(text);
        let described = topic.header.description.unwrap_or_default();
        let mut lines = std::iter::once(described.as_str()).chain(topic.body.lines());
        let unwanted = lines.find(|line| {
            !before.contains(*line) && {
                let meaning = Meaning::of(line);
                self.refused.iter().any(|refused| meaning.repeats(refused) || refused.within(line))
            }
        });
        unwanted.map_or(Ok(()), |line| Err(RefusedWrite::Unwanted(super::spot::shown(line.trim()))))
    }
}

/// Checks the form of a topic. Faults that the topic already had are accepted.
fn is_topic(text: &str, before: &str) -> Result<(), RefusedWrite> {
    let (head, was) = (header::read(text), header::read(before).header);
    if head.body.trim().is_empty() && head.header.description.is_none() {
        return Err(if before.is_empty() {
            RefusedWrite::NoDescription
        } else {
            RefusedWrite::Emptied
        });
    }
    let described = head.header.description.unwrap_or_default();
    if described.trim().is_empty() && (before.is_empty() || was.description.is_some()) {
        return Err(RefusedWrite::NoDescription);
    }
    if described.chars().count() > DESCRIPTION_CHARS && was.description.as_ref() != Some(&described)
    {
        return Err(RefusedWrite::NoDescription);
    }
    let lost = head.header.kind.is_none() && (before.is_empty() || was.kind.is_some());
    if lost { Err(RefusedWrite::NoKind) } else { Ok(()) }
}

/// Refuses secrets and invisible characters, except those that the text had before.
fn is_clean(name: &Name, text: &str, before: &str) -> Result<(), RefusedWrite> {
    let scan =
        |text| bethink_secrets::scan(&bethink_secrets::ScannedText { name: name.as_str(), text });
    let found = scan(text);
    if found.len() > scan(before).len() {
        return Err(RefusedWrite::Secret(
            found.first().map_or_else(String::new, ToString::to_string),
        ));
    }
    let hidden = unseen::find(text);
    if hidden.len() > unseen::find(before).len() {
        return Err(RefusedWrite::Hidden(
            hidden.first().map_or_else(String::new, ToString::to_string),
        ));
    }
    Ok(())
}
