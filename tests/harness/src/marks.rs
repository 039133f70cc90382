//! Values that replace each other: todos, plans, notes, titles and topics. Each write has a unique word, which shows what is
//! stored.

use std::path::Path;

use serde_json::json;

use crate::http::{Answer, Request};

/// A place whose value a write replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Register {
    Todos,
    Plan,
    Notes,
    Title,
    Topic(usize),
}

impl Register {
    pub(crate) fn is_removable(self) -> bool {
        matches!(self, Self::Topic(_))
    }

    /// A request that stores the word, or removes the topic.
    pub(crate) fn write(self, session: &str, project: &Path, word: Option<&str>) -> Request {
        let path = self.path(session, project);
        let Some(word) = word else { return Request::new("DELETE", &path) };
        let markdown =
            |text: String| Request::new("PUT", &path).bytes("text/markdown", text.as_bytes());
        let todos = json!({"todos": [{"content": word, "status": "pending"}]});
        match self {
            Self::Todos => Request::new("PUT", &path).json(&todos),
            Self::Plan => {
                Request::new("PUT", &path).json(&json!({"content": word, "active": true}))
            }
            Self::Title => Request::new("PATCH", &path).json(&json!({"title": word})),
            Self::Notes => markdown(format!("# Session Title\n{word}\n")),
            Self::Topic(_) => markdown(format!("---\ndescription: of a writer\n---\n{word}\n")),
        }
    }

    pub(crate) fn read(self, session: &str, project: &Path) -> Request {
        Request::new("GET", &self.path(session, project))
    }

    fn path(self, session: &str, project: &Path) -> String {
        match self {
            Self::Todos => format!("/v1/sessions/{session}/todos"),
            Self::Plan => format!("/v1/sessions/{session}/state/plan"),
            Self::Notes => format!("/v1/sessions/{session}/notes"),
            Self::Title => format!("/v1/sessions/{session}"),
            Self::Topic(n) => {
                format!("/v1/memories/private/topic-{n}?project_dir={}", project.display())
            }
        }
    }
}

/// What is known about a register: the words that were sent, in order. A writer has one request at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mark(Vec<SentWord>);

#[derive(Clone, Debug)]
struct SentWord {
    /// `None` removes.
    word: Option<String>,
    /// When the answer arrived, if it did.
    answered: Option<u64>,
}

impl Mark {
    pub(crate) fn is_set(&self) -> bool {
        self.0.last().is_some_and(|last| last.word.is_some())
    }

    pub(crate) fn sent(&mut self, word: Option<String>) {
        self.0.push(SentWord { word, answered: None });
    }

    /// The last write was acknowledged.
    pub(crate) fn acknowledged(&mut self, at: u64) {
        if let Some(last) = self.0.last_mut() {
            last.answered = Some(at);
        }
    }

    /// The last write was answered with an error, so it did not happen.
    pub(crate) fn refused(&mut self) {
        self.0.pop();
    }

    /// It is known what is stored, so that all before does not matter.
    pub(crate) fn settle(&mut self, word: Option<String>, at: u64) {
        self.0 = vec![SentWord { word, answered: Some(at) }];
    }

    /// Whether this may be stored, if only what was acknowledged until `at` must be.
    pub(crate) fn allows(&self, found: &Option<String>, at: u64) -> bool {
        let is_due = |sent: &SentWord| sent.answered.is_some_and(|answered| answered <= at);
        match self.0.iter().rposition(is_due) {
            Some(last) => self.0[last..].iter().any(|sent| sent.word == *found),
            None => found.is_none() || self.0.iter().any(|sent| sent.word == *found),
        }
    }
}

/// The word in an answer; `None` if there is none. An error if the answer is one.
pub(crate) fn mark_in(answer: &Answer) -> Result<Option<String>, String> {
    match answer.status {
        404 => return Ok(None),
        200..300 => {}
        status => return Err(format!("{status}: {}", answer.brief())),
    }
    let text = answer.text();
    let Some(from) = text.find("mark-") else { return Ok(None) };
    // `mark-WRITER-NUMBER-`
    let end = text[from..].match_indices('-').nth(2).map(|(at, _)| from + at + 1);
    Ok(Some(text[from..end.unwrap_or(text.len())].to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(body: &str) -> Option<String> {
        let answer = Answer { status: 200, headers: Vec::new(), body: body.as_bytes().to_vec() };
        mark_in(&answer).expect("an answer")
    }

    #[test]
    fn a_word_is_found_whatever_stands_around_it() {
        assert_eq!(found("# Title\nmark-w1-17-\n").as_deref(), Some("mark-w1-17-"));
        assert_eq!(found(r#"{"title":"mark-w1-3-"}"#).as_deref(), Some("mark-w1-3-"));
        assert_eq!(found("{}"), None);
    }

    #[test]
    fn a_lost_write_is_seen_and_an_unanswered_one_is_not_held_against_anybody() {
        let word = |n: u32| Some(format!("mark-w-{n}-"));
        let mut mark = Mark::default();
        mark.sent(word(1));
        mark.acknowledged(5);
        assert!(mark.allows(&word(1), 9) && !mark.allows(&None, 9));
        assert!(mark.allows(&None, 4), "it was not acknowledged yet");
        mark.sent(word(2));
        assert!(mark.allows(&word(1), 9) && mark.allows(&word(2), 9) && !mark.allows(&word(3), 9));
        mark.refused();
        assert!(!mark.allows(&word(2), 9));
    }
}
