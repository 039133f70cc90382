//! The line that a client shows to the user at the start of a session: how many memories there are, which of them are
//! new or changed, and how many candidates are waiting for a decision.

use std::sync::Arc;

use bethink_hook_events::Delivery;
use bethink_memories::MemoryTopic;
use bethink_service::Result;
use bethink_store::{PageRequest, SessionFilter};
use bethink_transcript::UnixMicros;
use bethink_transcript::text::shorten_at_word;

use crate::service::HookService;

/// Maximum number of new or changed topics that are named.
const NAMED: usize = 3;
/// Number of recently changed sessions that are searched for the newest one.
const RECENT: usize = 20;
/// Maximum length of a topic's title, in characters.
const TITLE_CHARS: usize = 48;

/// What the line reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Greeting {
    memories: usize,
    /// Titles of the topics that changed since the project's last session began, newest first.
    learnt: Vec<String>,
    candidates: usize,
}

impl HookService {
    /// Returns the line; `None` if there is nothing to say, or if an earlier session continues.
    pub(crate) async fn greeting(&self, delivery: &Delivery) -> Result<Option<String>> {
        let Some(dir) = delivery.input.cwd.as_ref().filter(|_| !delivery.input.is_continued())
        else {
            return Ok(None);
        };
        let project = self.memories.project(dir).await?;
        let since = self.last_session_began(dir.clone()).await?;
        let mut greeting = Greeting {
            candidates: self.memories.candidates(dir, false).await?.candidates.len(),
            ..Greeting::default()
        };
        let mut learnt: Vec<Arc<MemoryTopic>> = Vec::new();
        for snapshot in self.memories.snapshots_soon(&project).await {
            greeting.memories += snapshot.topics.len();
            let is_new = |topic: &&Arc<MemoryTopic>| since.is_some_and(|at| topic.modified >= at);
            learnt.extend(snapshot.topics.values().filter(is_new).cloned());
        }
        learnt.sort_by_key(|topic| std::cmp::Reverse(topic.modified));
        let title = |topic: &Arc<MemoryTopic>| shorten_at_word(&topic.title(), TITLE_CHARS);
        greeting.learnt = learnt.iter().map(title).collect();
        Ok(greeting.line())
    }

    /// Returns the time at which the newest session of a directory's project began. A session is stored with its first message,
    /// so when a session starts, the newest stored session is the previous one.
    async fn last_session_began(&self, dir: String) -> Result<Option<UnixMicros>> {
        let location = Some(self.sessions.location_of(dir).await?);
        let filter = SessionFilter { location, ..SessionFilter::default() };
        // They are in the order of their last changes.
        let page = PageRequest { limit: RECENT, cursor: None };
        let (sessions, _) = self.cx.store().sessions(filter, page).await?;
        Ok(sessions.iter().map(|session| session.created_at).max())
    }
}

impl Greeting {
    fn line(&self) -> Option<String> {
        let mut parts = Vec::new();
        match self.memories {
            0 => {}
            1 => parts.push("1 memory for this project".to_owned()),
            count => parts.push(format!("{count} memories for this project")),
        }
        if let Some(named) = self.learnt.get(..self.learnt.len().min(NAMED))
            && !named.is_empty()
        {
            let more = match self.learnt.len() - named.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let named = named.join(", ");
            parts.push(format!("new or changed since the last session: {named}{more}"));
        }
        match self.candidates {
            0 => {}
            1 => parts.push("1 candidate to review: run `bethink memory candidates`".to_owned()),
            count => {
                parts
                    .push(format!("{count} candidates to review: run `bethink memory candidates`"));
            }
        }
        (!parts.is_empty()).then(|| format!("bethink: {}", parts.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_what_there_is_and_nothing_else() {
        let check = |memories, learnt: &[&str], candidates, expect: Option<&str>| {
            let learnt = learnt.iter().map(|&title| title.to_owned()).collect();
            let line = Greeting { memories, learnt, candidates }.line();
            assert_eq!(line.as_deref(), expect);
        };
        check(0, &[], 0, None);
        check(1, &[], 0, Some("bethink: 1 memory for this project"));
        check(
            12,
            &["Deploys", "Colours"],
            2,
            Some(
                "bethink: 12 memories for this project; new or changed since the last session: Deploys, \
                 Colours; 2 candidates to review: run `bethink memory candidates`",
            ),
        );
        check(
            5,
            &["a", "b", "c", "d", "e"],
            0,
            Some(
                "bethink: 5 memories for this project; new or changed since the last session: a, b, c and \
                 2 more",
            ),
        );
        check(0, &[], 1, Some("bethink: 1 candidate to review: run `bethink memory candidates`"));
    }
}
