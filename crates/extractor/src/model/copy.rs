//! The memory as an agent gets it: a copy that it reads and writes, under rules.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use bethink_memdir::header::{self, Change};
use bethink_memdir::{Hash, Name, Source, unseen};

use super::spot::Spot;
use crate::same::Meaning;

mod search;

/// Topics that one extraction changes at most: a conversation teaches a few things.
pub const MAX_TOPICS: usize = 12;
/// Bytes of a topic: four times what a recalled memory shows, so that nothing is written to be cut.
pub const MAX_TOPIC_BYTES: usize = 16 * 1024;
/// Characters of a description: a line of the index is reported above 200, its link and title included.
const DESCRIPTION_CHARS: usize = 180;

/// A topic on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// As the agent was given it; `None`: new.
    before: Option<String>,
    now: String,
}

/// The memory of a project, and what an agent made of it.
#[derive(Clone, Debug, Default)]
pub struct MemoryCopy {
    topics: BTreeMap<Name, Entry>,
    team: BTreeMap<Name, Entry>,
    index: String,
    team_index: String,
    refused: Vec<Meaning>,
}

/// A topic that an agent wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    pub name: Name,
    /// What the agent had before it; `None`: nothing.
    pub over: Option<Hash>,
    pub text: String,
}

/// Why a write was not taken. The copy is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("there is no such file")]
    Missing,
    #[error("the old text is empty, or equal to the new one")]
    NothingToDo,
    #[error("the old text does not stand there; it must be there letter by letter")]
    NotFound,
    #[error("the old text stands there {0} times; give more of what is around it")]
    Repeated(usize),
    #[error("{actual} bytes; a topic has at most {MAX_TOPIC_BYTES}: one fact, and why")]
    TooBig { actual: usize },
    #[error("{MAX_TOPICS} topics were written; no more are taken this time")]
    TooMany,
    #[error(
        "a topic begins with front matter that has a description of at most {DESCRIPTION_CHARS} characters on one line"
    )]
    NoDescription,
    #[error("the type must be user, feedback, project or reference")]
    NoKind,
    #[error("a topic is not emptied here; leave it as it is")]
    Emptied,
    #[error("it holds what must not be kept: {0}; say where it is kept instead")]
    Secret(String),
    #[error("it holds characters that are not seen: {0}")]
    Hidden(String),
    #[error("a person removed this: {0:?}; leave it out")]
    Unwanted(String),
    #[error("only topics are written")]
    NoTopic,
    #[error("another topic is named {0:?}, which some systems take for the same; write that one")]
    Twin(String),
}

impl MemoryCopy {
    pub fn new(topics: Vec<(Name, String)>, index: String, refused: Vec<Meaning>) -> Self {
        Self { topics: entries(topics), index, refused, ..Self::default() }
    }

    #[must_use]
    pub fn with_team(mut self, topics: Vec<(Name, String)>, index: String) -> Self {
        (self.team, self.team_index) = (entries(topics), index);
        self
    }

    pub fn read(&self, spot: &Spot) -> Result<&str, Refused> {
        let text = match spot {
            Spot::Topic(name) => self.topics.get(name).map(|entry| entry.now.as_str()),
            Spot::TeamTopic(name) => self.team.get(name).map(|entry| entry.now.as_str()),
            Spot::Index => Some(self.index.as_str()),
            Spot::TeamIndex => Some(self.team_index.as_str()),
            Spot::Directory | Spot::TeamDirectory => None,
        };
        text.filter(|text| !text.is_empty()).ok_or(Refused::Missing)
    }

    /// Writes a whole topic; the answer is for the model.
    pub fn write(&mut self, spot: &Spot, text: &str) -> Result<String, Refused> {
        let text = text.replace("\r\n", "\n");
        self.check(spot, &text)?;
        let (shelf, name) = self.shelf(spot)?;
        let told = if shelf.contains_key(name) { "changed" } else { "written" };
        let entry = shelf.entry(name.clone()).or_insert(Entry { before: None, now: String::new() });
        entry.now = text;
        Ok(format!("{} was {told}.", name.file()))
    }

    /// Puts `new` in place of `old`, which stands there once, or of each with `all`.
    pub fn edit(
        &mut self,
        spot: &Spot,
        old: &str,
        new: &str,
        all: bool,
    ) -> Result<String, Refused> {
        let text = self.read(spot)?;
        if old.is_empty() || old == new {
            return Err(Refused::NothingToDo);
        }
        let count = match text.matches(old).count() {
            0 => return Err(Refused::NotFound),
            count if count > 1 && !all => return Err(Refused::Repeated(count)),
            count => count,
        };
        // Known before it is made: a short text that stands there often can ask for gigabytes.
        let actual = text.len().saturating_add(new.len().saturating_mul(count));
        if actual > 2 * MAX_TOPIC_BYTES {
            return Err(Refused::TooBig { actual });
        }
        let text = text.replace(old, new);
        self.write(spot, &text)
    }

    /// Private topics that differ from what the agent was given, stamped with where they were learnt.
    pub fn changed(&self, source: &Source) -> Vec<Changed> {
        changed(&self.topics, source)
    }

    /// The same of what it would have the team know.
    pub fn proposed(&self, source: &Source) -> Vec<Changed> {
        changed(&self.team, source)
    }

    /// Name, type and description of each topic, a line each; those first that share words with `about`.
    pub fn manifest(&self, most: usize, about: &Meaning) -> String {
        let row = |prefix: &str, (name, entry): (&Name, &Entry)| {
            let topic = header::read(&entry.now);
            let kind = topic.header.kind.map_or_else(String::new, |kind| format!(" [{kind}]"));
            let described = topic.header.described(topic.body);
            let line = format!("- {prefix}{}{kind}: {described}", name.file());
            bethink_memdir::prompt::guarded(&line).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let own = self.topics.iter().map(|topic| row("", topic));
        let team = self.team.iter().map(|topic| row("team/", topic));
        let mut rows: Vec<String> = own.chain(team).collect();
        let left = rows.len().saturating_sub(most);
        if left > 0 {
            rows.sort_by_cached_key(|row| {
                Reverse(Meaning::of(row).words.intersection(&about.words).count())
            });
            rows.truncate(most);
        }
        let more = if left > 0 {
            format!("\n- and {left} more: list the directory")
        } else {
            String::new()
        };
        rows.join("\n") + &more
    }

    fn shelf<'s, 'n>(
        &'s mut self,
        spot: &'n Spot,
    ) -> Result<(&'s mut BTreeMap<Name, Entry>, &'n Name), Refused> {
        match spot {
            Spot::Topic(name) => Ok((&mut self.topics, name)),
            Spot::TeamTopic(name) => Ok((&mut self.team, name)),
            _ => Err(Refused::NoTopic),
        }
    }

    fn check(&self, spot: &Spot, text: &str) -> Result<(), Refused> {
        let (shelf, name) = match spot {
            Spot::Topic(name) => (&self.topics, name),
            Spot::TeamTopic(name) => (&self.team, name),
            _ => return Err(Refused::NoTopic),
        };
        let known = shelf.get(name);
        let twin = shelf.keys().find(|other| *other != name && other.folded() == name.folded());
        if let Some(twin) = twin.filter(|_| known.is_none()) {
            return Err(Refused::Twin(twin.file()));
        }
        let is_first = known.is_none_or(|entry| entry.before.as_deref() == Some(&entry.now));
        if is_first && self.count() >= MAX_TOPICS {
            return Err(Refused::TooMany);
        }
        if text.len() > MAX_TOPIC_BYTES {
            return Err(Refused::TooBig { actual: text.len() });
        }
        let before = known.map_or("", |entry| entry.before.as_deref().unwrap_or_default());
        is_topic(text, before)?;
        is_clean(name, text, before)?;
        self.is_wanted(text, before)
    }

    fn count(&self) -> usize {
        let all = self.topics.values().chain(self.team.values());
        all.filter(|entry| entry.before.as_deref() != Some(&entry.now)).count()
    }

    /// What a person removed or refused does not come back in other words.
    fn is_wanted(&self, text: &str, before: &str) -> Result<(), Refused> {
        let topic = header::read(text);
        let described = topic.header.description.unwrap_or_default();
        let mut lines = std::iter::once(described.as_str()).chain(topic.body.lines());
        let unwanted = lines.find(|line| {
            !before.contains(*line) && {
                let meaning = Meaning::of(line);
                self.refused.iter().any(|refused| refused.same(&meaning) || refused.within(line))
            }
        });
        unwanted.map_or(Ok(()), |line| Err(Refused::Unwanted(super::spot::shown(line.trim()))))
    }
}

fn entries(topics: Vec<(Name, String)>) -> BTreeMap<Name, Entry> {
    let entry = |text: String| Entry { before: Some(text.clone()), now: text };
    topics.into_iter().map(|(name, text)| (name, entry(text))).collect()
}

/// In the form of a topic. One that a person wrote otherwise may stay so.
fn is_topic(text: &str, before: &str) -> Result<(), Refused> {
    let (head, was) = (header::read(text), header::read(before).header);
    if head.body.trim().is_empty() && head.header.description.is_none() {
        return Err(if before.is_empty() { Refused::NoDescription } else { Refused::Emptied });
    }
    let described = head.header.description.unwrap_or_default();
    if described.trim().is_empty() && (before.is_empty() || was.description.is_some()) {
        return Err(Refused::NoDescription);
    }
    if described.chars().count() > DESCRIPTION_CHARS && was.description.as_ref() != Some(&described)
    {
        return Err(Refused::NoDescription);
    }
    let lost = head.header.kind.is_none() && (before.is_empty() || was.kind.is_some());
    if lost { Err(Refused::NoKind) } else { Ok(()) }
}

/// Without secrets and hidden characters, but for those that a person left there.
fn is_clean(name: &Name, text: &str, before: &str) -> Result<(), Refused> {
    let scan = |text| bethink_secrets::scan(&bethink_secrets::Text { name: name.as_str(), text });
    let found = scan(text);
    if found.len() > scan(before).len() {
        return Err(Refused::Secret(found.first().map_or_else(String::new, ToString::to_string)));
    }
    let hidden = unseen::find(text);
    if hidden.len() > unseen::find(before).len() {
        return Err(Refused::Hidden(hidden.first().map_or_else(String::new, ToString::to_string)));
    }
    Ok(())
}

fn changed(shelf: &BTreeMap<Name, Entry>, source: &Source) -> Vec<Changed> {
    let changed = shelf.iter().filter(|(_, entry)| entry.before.as_deref() != Some(&entry.now));
    let stamped = changed.map(|(name, entry)| {
        let changes = [Change::Modified(&source.time), Change::Source(source)];
        Changed {
            name: name.clone(),
            over: entry.before.as_ref().map(|text| Hash::of(text.as_bytes())),
            // Front matter that no key can be put into stays as a person wrote it.
            text: header::with(&entry.now, &changes).unwrap_or_else(|_| entry.now.clone()),
        }
    });
    stamped.collect()
}
