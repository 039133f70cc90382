//! A directory's topics, parsed once, and how links to them are resolved.

use std::collections::HashMap;

use super::finding::TopicFile;
use crate::header::{self, TopicText};
use crate::index::Link;
use crate::name::{Name, fold};

pub(super) struct KnownTopics<'a> {
    pub(super) topics: Vec<(&'a Name, &'a str, TopicText<'a>)>,
    by_name: HashMap<&'a str, usize>,
    by_hyphenated: HashMap<String, usize>,
    /// By title, because a wikilink may name a topic's title.
    by_title: HashMap<String, usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkTarget {
    Topic(usize),
    /// A topic whose file name is spelled differently, so that some systems do not find it.
    Nearly(usize),
    Nothing,
}

impl<'a> KnownTopics<'a> {
    pub(super) fn of(files: &'a [TopicFile<'a>]) -> Self {
        let topics: Vec<_> =
            files.iter().map(|file| (file.name, file.text, header::read(file.text))).collect();
        let mut known = Self {
            by_name: HashMap::new(),
            by_hyphenated: HashMap::new(),
            by_title: HashMap::new(),
            topics,
        };
        for (at, (name, _, topic)) in known.topics.iter().enumerate() {
            known.by_name.insert(name.as_str(), at);
            known.by_hyphenated.entry(name.hyphenated()).or_insert(at);
            if let Some(title) = &topic.header.name {
                known.by_title.entry(fold(title)).or_insert(at);
            }
        }
        known
    }

    pub(super) fn find(&self, link: &Link) -> LinkTarget {
        let Some(name) = link.topic() else { return LinkTarget::Nothing };
        if let Some(at) = self.by_name.get(name.as_str()) {
            return LinkTarget::Topic(*at);
        }
        let by_title = self.by_title.get(&name.folded()).filter(|_| link.wiki);
        match (by_title, self.by_hyphenated.get(&name.hyphenated())) {
            (Some(at), _) => LinkTarget::Topic(*at),
            (None, Some(at)) => LinkTarget::Nearly(*at),
            (None, None) => LinkTarget::Nothing,
        }
    }
}
