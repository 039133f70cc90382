//! What a transcript says about its session as a whole.

use std::path::PathBuf;

use serde_json::Value;

/// A session that another session belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParentTranscript {
    /// The id that the agent gave the parent session.
    pub id: String,
    /// For a fork, the number of the parent's first record that the fork does not contain. For a subagent, this is `None`.
    pub fork_before: Option<u64>,
}

/// Facts that are collected while the transcript is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranscriptHeader {
    /// The id that the agent gave the session.
    pub id: Option<String>,
    pub parent: Option<ParentTranscript>,
    /// The first working directory.
    pub cwd: Option<String>,
    /// Number of messages so far.
    pub messages: u64,
    /// Time of the newest message, as recorded.
    pub newest: Option<String>,
}

impl TranscriptHeader {
    /// Returns whether the session begins with a part of another session's history.
    pub fn is_fork(&self) -> bool {
        self.parent.as_ref().is_some_and(|parent| parent.fork_before.is_some())
    }
}

/// What is known about a transcript from other files and from its path.
#[derive(Clone, Debug, Default)]
pub struct TranscriptContext {
    pub path: PathBuf,
    /// The project's directory, if the agent stores its path outside the transcript.
    pub cwd: Option<String>,
    /// Facts about the session, as JSON that the agent stores next to the transcript.
    pub facts: Value,
    /// The newest compaction, as JSON that the agent stores next to the transcript.
    pub compaction: Value,
}

impl TranscriptContext {
    /// Returns the name of the file without its extension.
    pub(crate) fn stem(&self) -> &str {
        self.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
    }

    /// Returns the name of the directory that is `above` levels above the file's own directory.
    pub(crate) fn directory(&self, above: usize) -> Option<&str> {
        self.path.ancestors().nth(above + 1)?.file_name()?.to_str()
    }
}
