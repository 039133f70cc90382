//! The second phase: adds topics that were learned from sessions and do not exist yet.

use std::sync::Arc;

use bethink_memdir::{Name, header};

use crate::bench::{DreamBench, TopicState};
use crate::consolidate::TextContent;
use crate::directory::TaughtTopic;
use crate::plan::Phase;

/// Numbers that are appended to a topic's name to make it unique are lower than this.
const MOST_OF_A_NAME: usize = 100;

pub(crate) fn gather(bench: &mut DreamBench, taught: &[TaughtTopic]) {
    bench.phase = Phase::Gather;
    if taught.is_empty() {
        return;
    }
    let mut known: Vec<Arc<TextContent>> =
        bench.pages().values().map(TopicState::content).collect();
    for one in taught {
        let content = Arc::new(TextContent::of(header::read(&one.text).body));
        if content.said.is_empty() || known.iter().any(|topic| topic.says(&content)) {
            continue;
        }
        let Some(name) = free(bench, &one.name) else { continue };
        bench.write(
            &name,
            one.text.clone(),
            "a new topic",
            "it was learned from a session, and no other topic contains it",
        );
        known.push(content);
    }
}

/// Returns the name if it is free, or else the first free one of `name-2`, `name-3`, ….
fn free(bench: &DreamBench, name: &Name) -> Option<Name> {
    let is_free = |name: &Name| !bench.pages().contains_key(name) && !bench.unread.contains(name);
    let numbered = (2..MOST_OF_A_NAME).filter_map(|n| Name::parse(&format!("{name}-{n}")).ok());
    std::iter::once(name.clone()).chain(numbered).find(is_free)
}
