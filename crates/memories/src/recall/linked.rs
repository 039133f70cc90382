//! Topics that a recalled topic links to.

use std::collections::HashMap;

use bethink_api::LinkedTopic;
use bethink_memdir::{Name, header, index};

use crate::directory::{DirectorySnapshot, MemoryTopic};

/// Maximum number of linked topics that are named for each recalled topic.
const MOST: usize = 5;

/// Returns the topics of the same directory that a text links to, in order, except for the text's own topic.
pub(super) fn linked(shown: &DirectorySnapshot, own: &Name, text: &str) -> Vec<LinkedTopic> {
    let body = header::read(text).body;
    if !body.contains('[') {
        return Vec::new();
    }
    let by_name: HashMap<String, &MemoryTopic> =
        shown.topics.values().map(|topic| (topic.name.hyphenated(), &**topic)).collect();
    let lines = index::lines(body);
    let links = lines.iter().flat_map(|line| &line.links);
    let mut seen = vec![own.hyphenated()];
    let mut found = Vec::new();
    for name in links.filter_map(|link| link.topic()) {
        let name = name.hyphenated();
        let Some(topic) = by_name.get(&name) else { continue };
        if found.len() < MOST && !seen.contains(&name) {
            let (name, description) = (topic.name.to_string(), topic.described.clone());
            found.push(LinkedTopic { name, description });
        }
        seen.push(name);
    }
    found
}
