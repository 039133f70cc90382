//! Helpers that make small directories and dream in them.

use bethink_dream::{DreamDirectory, DreamPlan, DreamTopic, TaughtTopic, plan};
use bethink_memdir::header::{self, Header};
use bethink_memdir::{DirectoryFile, MemoryKind, Name, Scope, Source};
use bethink_transcript::UnixMicros;

const DAY: i64 = 86_400_000_000;
/// 2026-06-20.
const NOW: i64 = 20_624 * DAY;

pub(crate) fn now() -> UnixMicros {
    UnixMicros(NOW)
}

pub(crate) fn empty() -> DreamDirectory {
    DreamDirectory {
        scope: Scope::Private,
        index: None,
        index_put_back: false,
        topics: Vec::new(),
        unread: Vec::new(),
    }
}

pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// Returns a file that a person wrote.
pub(crate) fn hand(name: &str, text: &str) -> DreamTopic {
    let modified = UnixMicros(NOW - 3 * DAY);
    DreamTopic {
        name: self::name(name),
        text: text.to_owned(),
        modified,
        untouched: false,
        put_back: false,
    }
}

/// Returns a topic as an extraction writes it.
pub(crate) fn own(name: &str, session: &str, day: &str, statement: &str) -> DreamTopic {
    let time = format!("{day}T10:00:00Z");
    let source = Source {
        session: session.to_owned(),
        messages: vec!["12".to_owned()],
        strategy: "embedded".to_owned(),
        time: time.clone(),
        ..Source::default()
    };
    let head = Header {
        name: Some(name.to_owned()),
        description: Some(statement.to_owned()),
        kind: Some(MemoryKind::Feedback),
        modified: Some(time),
        source: Some(source),
        ..Header::default()
    };
    let body = format!(
        "> {statement}\n\nThe user said so on {day}. How to apply: follow it without being asked, until the user says \
         otherwise.\n"
    );
    DreamTopic { untouched: true, ..hand(name, &header::write(&head, &body)) }
}

pub(crate) fn with(index: Option<&str>, topics: Vec<DreamTopic>) -> DreamDirectory {
    DreamDirectory { index: index.map(str::to_owned), topics, ..empty() }
}

pub(crate) fn dream(directory: &DreamDirectory) -> DreamPlan {
    plan(directory, &[], now())
}

pub(crate) fn taught(topic: &DreamTopic) -> TaughtTopic {
    TaughtTopic { name: topic.name.clone(), text: topic.text.clone() }
}

/// Returns the directory after the plan was applied. Each change must find the content that it was made for.
pub(crate) fn apply(directory: &DreamDirectory, plan: &DreamPlan) -> DreamDirectory {
    let mut after = directory.clone();
    for change in &plan.changes {
        let DirectoryFile::Topic(name) = &change.file else {
            assert_eq!(after.index, change.before);
            after.index.clone_from(&change.after);
            continue;
        };
        let at = after.topics.iter().position(|topic| topic.name == *name);
        assert_eq!(at.map(|at| after.topics[at].text.clone()), change.before);
        match (at, &change.after) {
            (Some(at), Some(text)) => after.topics[at].text.clone_from(text),
            (Some(at), None) => drop(after.topics.remove(at)),
            (None, Some(text)) => {
                after.topics.push(DreamTopic { untouched: true, ..hand(name.as_str(), text) });
            }
            (None, None) => panic!("a change from no file to no file"),
        }
    }
    after
}

/// Returns every text of a directory, joined.
pub(crate) fn all(directory: &DreamDirectory) -> String {
    let texts = directory.topics.iter().map(|topic| topic.text.as_str());
    texts.chain(directory.index.as_deref()).collect::<Vec<_>>().join("\n\n")
}

/// Returns the text of a topic.
pub(crate) fn text<'a>(directory: &'a DreamDirectory, name: &str) -> &'a str {
    let found = directory.topics.iter().find(|topic| topic.name.as_str() == name);
    found.map_or_else(|| panic!("no {name} in {:?}", names(directory)), |topic| topic.text.as_str())
}

pub(crate) fn names(directory: &DreamDirectory) -> Vec<&str> {
    directory.topics.iter().map(|topic| topic.name.as_str()).collect()
}

/// Returns the plan of a dream and the directory after it. A second dream must find nothing to do.
pub(crate) fn dreamt(directory: &DreamDirectory) -> (DreamPlan, DreamDirectory) {
    let plan = dream(directory);
    let after = apply(directory, &plan);
    let again = dream(&after);
    assert!(again.is_empty(), "a second dream: {}", bethink_dream::diff(&again));
    (plan, after)
}
