//! Remembers which commits are in the history of a checkout, so that git is asked only once about each commit.

use std::collections::HashMap;
use std::sync::Mutex;

use bethink_git::Oid;
use bethink_service::locked;

/// Maximum number of HEADs whose answers are kept.
const MOST_HEADS: usize = 16;

/// For each HEAD, whether certain commits are in its history.
#[derive(Debug, Default)]
pub(crate) struct ContainedCommits(Mutex<HashMap<Oid, HashMap<Oid, bool>>>);

impl ContainedCommits {
    pub(crate) fn unknown(&self, head: &Oid, commits: &[Oid]) -> Vec<Oid> {
        let held = locked(&self.0);
        let known = held.get(head);
        let is_new = |commit: &&Oid| !known.is_some_and(|known| known.contains_key(*commit));
        let mut new: Vec<Oid> = commits.iter().filter(is_new).cloned().collect();
        new.sort();
        new.dedup();
        new
    }

    pub(crate) fn add(&self, head: &Oid, answers: impl IntoIterator<Item = (Oid, bool)>) {
        let mut held = locked(&self.0);
        if held.len() >= MOST_HEADS && !held.contains_key(head) {
            held.clear();
        }
        held.entry(head.clone()).or_default().extend(answers);
    }

    pub(crate) fn has(&self, head: &Oid, commit: &Oid) -> bool {
        let held = locked(&self.0);
        held.get(head).and_then(|known| known.get(commit)).copied().unwrap_or(true)
    }
}
