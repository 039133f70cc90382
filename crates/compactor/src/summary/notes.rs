//! Level 1: the session's notes are the summary of the messages that they cover. The user's words, and open work that the
//! notes lack, are added from facts.

use bethink_transcript::Seq;

use crate::SummaryLevel;
use crate::ladder::{Summarizer, SummaryRequest};

use super::page::NONE;
use super::{open_work, user_words};

/// The notes of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionNotes {
    /// The Markdown file with a person's edits.
    pub text: String,
    /// The last message that the notes cover.
    pub through: Seq,
}

/// Writes a summary from notes, without a model call.
#[derive(Clone, Copy, Debug)]
pub struct NotesSummarizer<'a> {
    pub notes: &'a SessionNotes,
    /// Whether no other level may be tried. If so, notes may leave less room for additions.
    pub is_only: bool,
}

/// Maximum percentage of the summary's budget that notes may take up. Longer notes leave too little room for additions, and
/// the next level then writes a better summary.
const NOTES_PERCENT: usize = 50;
/// The same maximum if no other level may be tried.
const ONLY_PERCENT: usize = 85;
/// Percentage of the remaining room that open work may take up.
const OPEN_PERCENT: usize = 30;
const USER_HEADING: &str = "# All User Messages";
const OPEN_HEADING: &str = "# Open Work";
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
            return Err("a summary with a focus cannot be made from the notes".to_owned());
        }
        if notes.is_empty() {
            return Err("the notes are empty".to_owned());
        }
        let percent = if self.is_only { ONLY_PERCENT } else { NOTES_PERCENT };
        let limit = request.own_bytes * percent / 100;
        if notes.len() > limit {
            return Err(format!(
                "the notes are {} bytes; at most {limit} may be used for a summary",
                notes.len()
            ));
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
            "{INTRODUCTION}; they cover messages 1 to {}. The sections after them were added from the history.\n\n",
            self.notes.through
        );
        let headings = USER_HEADING.len() + OPEN_HEADING.len() + 6;
        let room = request.max_bytes.saturating_sub(introduction.len() + notes.len() + headings);
        let for_open = room * OPEN_PERCENT / 100;
        let (user, shown) = user_words(request, request.user_bytes.min(room - for_open));
        let open = open_work(request, &shown, &[notes], for_open);
        let or_none = |text: String| if text.is_empty() { NONE.to_owned() } else { text };
        let (user, open) = (or_none(user), or_none(open));
        let mut out =
            format!("{introduction}{notes}\n\n{USER_HEADING}\n{user}\n{OPEN_HEADING}\n{open}");
        out.truncate(out.trim_end().len());
        out
    }
}
