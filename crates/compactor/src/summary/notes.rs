//! Level 1: the session's notes are the summary of the messages that they cover. The user's own words, and needed files
//! and names that are not in the notes, are added from facts.

use bethink_transcript::Seq;

use crate::SummaryLevel;
use crate::ladder::{Summarizer, SummaryRequest};

use super::names::files_and_names;
use super::user_words::user_messages;

/// The notes of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionNotes {
    /// The Markdown file with a person's edits.
    pub text: String,
    /// The last message that they cover.
    pub through: Seq,
}

/// Writes a summary from notes, without a model call.
#[derive(Clone, Copy, Debug)]
pub struct NotesSummarizer<'a> {
    pub notes: &'a SessionNotes,
    /// Whether no other level may be tried. Notes may then leave less room for additions.
    pub is_only: bool,
}

/// Maximum percentage of the summary's budget for notes. Longer ones leave too little room for additions, and the next
/// level writes a better summary.
const NOTES_PERCENT: usize = 50;
/// The same if no other level may be tried.
const ONLY_PERCENT: usize = 85;
/// Percentage of the remaining room for the user's words.
const USER_PERCENT: usize = 20;
/// Minimum room for the newest of them and for the line that says how many are left out, in bytes.
const USER_MIN_BYTES: usize = 400;
const USER_HEADING: &str = "# All User Messages";
const ALSO_HEADING: &str = "# Other Files and Names";
const INTRODUCTION: &str = "Notes taken during the session";

impl Summarizer for NotesSummarizer<'_> {
    fn level(&self) -> SummaryLevel {
        SummaryLevel::SessionMemory
    }

    fn covers(&self) -> Option<Seq> {
        Some(self.notes.through)
    }

    fn summarize(&self, request: &SummaryRequest<'_>) -> Result<String, String> {
        let notes = self.notes.text.trim();
        if request.focus.is_some() {
            return Err("the notes cannot follow a focus instruction".to_owned());
        }
        if notes.is_empty() {
            return Err("the notes are empty".to_owned());
        }
        let percent = if self.is_only { ONLY_PERCENT } else { NOTES_PERCENT };
        let limit = request.max_bytes * percent / 100;
        if notes.len() > limit {
            return Err(format!("the notes are {} bytes; the limit here is {limit}", notes.len()));
        }
        Ok(self.write(notes, request))
    }

    fn is_well_formed(&self, summary: &str) -> bool {
        summary.starts_with(INTRODUCTION) && summary.contains(USER_HEADING)
    }
}

impl NotesSummarizer<'_> {
    fn write(&self, notes: &str, request: &SummaryRequest<'_>) -> String {
        let introduction = format!(
            "{INTRODUCTION}; they cover messages 1 to {}. The sections after them were added from history.\n\n",
            self.notes.through
        );
        let headings = USER_HEADING.len() + ALSO_HEADING.len() + 6;
        let room = request.max_bytes.saturating_sub(introduction.len() + notes.len() + headings);
        let for_user = (room * USER_PERCENT / 100).max(USER_MIN_BYTES.min(room / 2));
        let for_user = for_user.min(request.user_bytes);
        let user = user_messages(request, for_user);
        let left = room.saturating_sub(user.len());
        let (files, others) =
            files_and_names(request, request.visible.clone(), &[notes, &user], left);
        let mut out = format!(
            "{introduction}{notes}\n\n{USER_HEADING}\n{user}\n{ALSO_HEADING}\n{files}{others}"
        );
        out.truncate(out.trim_end().len());
        out
    }
}
