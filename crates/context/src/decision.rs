//! Decision records: everything that makes a prompt differ from its history.
//!
//! A decision is frozen once a prompt that used it was handed out. Decisions are only ever added; a
//! compaction starts a new view, in which decisions about earlier messages no longer matter.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use bethink_api::Todo;
pub use bethink_tokens::kind::RESULT_FRAME_TOKENS;
use bethink_tokens::text_tokens;
use bethink_transcript::{CollapseId, Seq, ToolUseId, Variant, json};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::history::History;

/// One record, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Decision {
    /// Every result up to `through` was shown in a prompt. Results without another record are frozen as they are.
    Shown { through: Seq },
    /// From now on the result is shown as `text`.
    Replaced(ClearedResult),
    /// Old results of re-obtainable tools were cleared.
    Cleared { results: Vec<ClearedResult>, made_after: Seq },
    /// Tool results that a later event made worthless.
    Snipped { results: Vec<ClearedResult>, made_after: Seq },
    /// The provider rejected these blocks of the messages `from` to `through`.
    Stripped { what: Stripped, from: Seq, through: Seq, made_after: Seq },
    /// Text is shown after a message: todos, reminders, restored state.
    Attached(Attachment),
    /// Instructions that apply to a file that the agent used. They are shown in the view that begins at `boundary`;
    /// after a compaction they return when such a file is used again.
    Instructed { boundary: Option<String>, attachment: Attachment },
    /// A span of whole rounds is shown as one text.
    Collapsed(Collapsed),
    /// A compaction: from now on the view begins at its boundary.
    Compacted(Compacted),
    /// A compaction was undone: the messages before its boundary are in view again.
    Undone { compaction: String },
}

/// A compaction as it is stored in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compacted {
    pub boundary: Boundary,
    /// The todo list at the time of the compaction, for use after a restart.
    #[serde(default)]
    pub todos: Vec<Todo>,
    /// Number of tokens that the provider counted in addition to the prompt, if known.
    #[serde(default)]
    pub unseen: u64,
}

/// A span that is shown as `text`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collapsed {
    pub id: CollapseId,
    pub first: Seq,
    pub last: Seq,
    pub text: String,
    pub tokens: u32,
    /// The newest message when the span was committed.
    pub made_after: Seq,
}

impl Collapsed {
    pub fn overlaps(&self, first: Seq, last: Seq) -> bool {
        self.first <= last && first <= self.last
    }
}

/// The kind of attachment that contains instructions.
pub const INSTRUCTIONS: &str = "instructions";

/// A kind of block that a view can leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stripped {
    /// Images and documents, including nested ones. A short text replaces them.
    Media,
    /// Thinking. A prompt whose earlier thinking is left out is still valid.
    Thinking,
}

impl Decision {
    pub fn kind(&self) -> &'static str {
        match self {
            Decision::Shown { .. } => "shown",
            Decision::Replaced(_) => "replaced",
            Decision::Cleared { .. } => "cleared",
            Decision::Snipped { .. } => "snipped",
            Decision::Stripped { .. } => "stripped",
            Decision::Attached(_) => "attached",
            Decision::Instructed { .. } => "instructed",
            Decision::Collapsed(_) => "collapsed",
            Decision::Compacted(_) => "compacted",
            Decision::Undone { .. } => "undone",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClearedResult {
    pub tool_use_id: ToolUseId,
    /// The message that contains the result.
    pub seq: Seq,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The message after which the text is shown.
    pub after: Seq,
    /// What the text is, such as `todos`, `memory`, `file` or `plan`.
    pub what: String,
    #[serde(default)]
    pub name: String,
    pub text: String,
    pub tokens: u32,
}

impl Attachment {
    pub fn new(after: Seq, what: &str, name: String, text: String) -> Self {
        let tokens = text_tokens(&text);
        Self { after, what: what.to_owned(), name, text, tokens }
    }
}

/// The parts of a compaction that the view needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boundary {
    pub id: String,
    pub kept_from: Seq,
    /// The newest message when the compaction was made.
    pub made_after: Seq,
    /// First text of the view, which explains that a compaction took place and how to read the earlier messages.
    pub marker: String,
    pub summary: String,
    pub tokens: u32,
    pub restored: Vec<Attachment>,
    /// Results in the kept tail that are shortened, because the whole tail would not fit.
    #[serde(default)]
    pub clipped: Vec<ClearedResult>,
}

/// The block that a prompt shows in place of a stored result.
#[derive(Clone, Debug)]
pub struct ShownResult {
    pub json: Bytes,
    pub variant: Variant,
    pub tokens: u32,
}

/// All decisions of a session's current view, indexed for lookup.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    pub boundary: Option<Boundary>,
    shown_through: Seq,
    /// By the call's id and the message with the result, because some clients use an id again.
    results: HashMap<(ToolUseId, Seq), ShownResult>,
    attachments: Vec<Attachment>,
    /// Oldest first; no two share a message.
    spans: Vec<Collapsed>,
    stripped: Vec<(Stripped, RangeInclusive<Seq>)>,
    edits: Vec<PromptEdit>,
}

/// A change to the prompt from message `from` on, made when `made_after` was the newest message. Thinking in between
/// was made from a different prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptEdit {
    pub from: Seq,
    pub made_after: Seq,
}

/// Returns the compactions of the log, newest first, and whether each was undone.
fn compactions(log: &[Decision]) -> impl Iterator<Item = (&Compacted, bool)> {
    log.iter().rev().filter_map(|entry| {
        let Decision::Compacted(compacted) = entry else { return None };
        let id = &compacted.boundary.id;
        let undoes =
            |entry: &Decision| matches!(entry, Decision::Undone { compaction } if compaction == id);
        Some((compacted, log.iter().any(undoes)))
    })
}

/// Returns the compaction in force, which is the newest one that was not undone.
pub fn in_force(log: &[Decision]) -> Option<&Compacted> {
    compactions(log).find(|(_, is_undone)| !is_undone).map(|(compacted, _)| compacted)
}

/// Returns the texts that compactions restored, except those that were undone.
pub fn restored(log: &[Decision]) -> impl Iterator<Item = &Attachment> {
    let in_view = compactions(log).filter(|(_, is_undone)| !is_undone);
    in_view.flat_map(|(compacted, _)| &compacted.boundary.restored)
}

pub fn newest_is_undone(log: &[Decision]) -> bool {
    compactions(log).next().is_some_and(|(_, is_undone)| is_undone)
}

impl Decisions {
    /// Replays a log; `history` begins at the boundary in force or before it.
    pub fn replay(log: &[Decision], history: &History) -> Self {
        let boundary = in_force(log).map(|compacted| compacted.boundary.clone());
        let mut decisions = Self::new(boundary, history);
        log.iter().for_each(|entry| decisions.apply(entry, history));
        decisions
    }

    /// Creates the decisions of a view that begins at `boundary`, or at the session's start.
    pub fn new(boundary: Option<Boundary>, history: &History) -> Self {
        let mut decisions = Self::default();
        if let Some(boundary) = &boundary {
            decisions.edits.push(PromptEdit { from: Seq::ZERO, made_after: boundary.made_after });
            for clipped in &boundary.clipped {
                decisions.replace(clipped, Variant::Clipped, history);
            }
            decisions.attachments.extend(boundary.restored.iter().cloned());
        }
        decisions.boundary = boundary;
        decisions
    }

    /// Applies a record. A record about a message before the boundary has no effect.
    pub fn apply(&mut self, record: &Decision, history: &History) {
        match record {
            Decision::Shown { through } => self.shown_through = self.shown_through.max(*through),
            Decision::Replaced(result) => self.replace(result, Variant::Preview, history),
            Decision::Cleared { results, made_after } => {
                self.edit(results, *made_after, Variant::Cleared, history);
            }
            Decision::Snipped { results, made_after } => {
                self.edit(results, *made_after, Variant::Snipped, history);
            }
            Decision::Stripped { what, from, through, made_after } => {
                if self.kept_from() <= *through {
                    self.stripped.push((*what, *from..=*through));
                    self.edits.push(PromptEdit { from: *from, made_after: *made_after });
                }
            }
            Decision::Attached(attachment) if self.kept_from() <= attachment.after => {
                self.attach(attachment);
            }
            Decision::Instructed { boundary, attachment } if *boundary == self.boundary_id() => {
                self.attach(attachment);
            }
            Decision::Attached(_) | Decision::Instructed { .. } => {}
            Decision::Collapsed(span) => self.collapse(span),
            // The boundary in force was found in the whole log before the first entry was applied.
            Decision::Compacted(_) | Decision::Undone { .. } => {}
        }
    }

    /// Returns the record that attaches a text to this view.
    pub fn attaching(&self, attachment: Attachment) -> Decision {
        if attachment.what != INSTRUCTIONS {
            return Decision::Attached(attachment);
        }
        Decision::Instructed { boundary: self.boundary_id(), attachment }
    }

    fn boundary_id(&self) -> Option<String> {
        self.boundary.as_ref().map(|boundary| boundary.id.clone())
    }

    fn attach(&mut self, attachment: &Attachment) {
        self.attachments.push(attachment.clone());
        self.attachments.sort_by_key(|a| a.after);
    }

    /// Ignores a span that begins before the view or shares a message with another.
    fn collapse(&mut self, span: &Collapsed) {
        let apart = self.spans.iter().all(|known| !known.overlaps(span.first, span.last));
        if span.first <= span.last && self.kept_from() <= span.first && apart {
            self.spans.push(span.clone());
            self.spans.sort_by_key(|known| known.first);
            self.edits.push(PromptEdit { from: span.first, made_after: span.made_after });
        }
    }

    fn edit(
        &mut self,
        results: &[ClearedResult],
        made_after: Seq,
        variant: Variant,
        history: &History,
    ) {
        for result in results {
            self.replace(result, variant, history);
        }
        let from = results.iter().map(|r| r.seq).filter(|seq| *seq >= self.kept_from()).min();
        if let Some(from) = from {
            self.edits.push(PromptEdit { from, made_after });
        }
    }

    fn replace(&mut self, result: &ClearedResult, variant: Variant, history: &History) {
        // A shortened result stays shortened; only a variant that shows less of it may replace it.
        let key = (result.tool_use_id.clone(), result.seq);
        let known = self.results.get(&key).map(|shown| shown.variant);
        if variant == Variant::Preview && known.is_some() {
            return;
        }
        let Some(block) = history.result(&result.tool_use_id, result.seq) else { return };
        let literal = json::encode_string(&result.text);
        if let Some(json) = json::with_member(block.as_str(), "content", &literal) {
            let tokens = text_tokens(&result.text) + RESULT_FRAME_TOKENS;
            let shown = ShownResult { json, variant, tokens };
            self.results.insert(key, shown);
        }
    }

    /// Carries the decisions over to the view that begins at `boundary`.
    pub fn rebased(&self, boundary: Boundary, history: &History) -> Self {
        let kept_from = boundary.kept_from;
        let mut rebased = Self::new(Some(boundary), history);
        rebased.shown_through = self.shown_through;
        for (key, shown) in &self.results {
            rebased.results.entry(key.clone()).or_insert_with(|| shown.clone());
        }
        // This compaction has its own restored texts.
        let restored = self.boundary.as_ref().map_or(&[][..], |boundary| &boundary.restored);
        let stays = |a: &&Attachment| {
            kept_from <= a.after && a.what != INSTRUCTIONS && !restored.contains(a)
        };
        // After the restored texts, as in a replay.
        rebased.attachments.extend(self.attachments.iter().filter(stays).cloned());
        rebased.attachments.sort_by_key(|a| a.after);
        rebased.spans = self.spans.iter().filter(|s| kept_from <= s.first).cloned().collect();
        let stripped = self.stripped.iter().filter(|(_, messages)| kept_from <= *messages.end());
        rebased.stripped = stripped.cloned().collect();
        rebased
    }

    /// Whether a prompt shows the history unchanged.
    pub fn is_plain(&self) -> bool {
        self.boundary.is_none()
            && self.results.is_empty()
            && self.attachments.is_empty()
            && self.spans.is_empty()
            && self.stripped.is_empty()
    }

    /// Whether this kind of block is left out of this message.
    pub fn is_stripped(&self, what: Stripped, seq: Seq) -> bool {
        self.stripped.iter().any(|(kind, messages)| *kind == what && messages.contains(&seq))
    }

    pub fn kept_from(&self) -> Seq {
        self.boundary.as_ref().map_or(Seq::ZERO, |b| b.kept_from)
    }

    /// Returns the newest message whose results were shown in a prompt that was handed out.
    pub fn shown_through(&self) -> Seq {
        self.shown_through
    }

    /// Returns how the result of `id` in this message is shown, if not as it was stored.
    pub fn result(&self, id: &ToolUseId, seq: Seq) -> Option<&ShownResult> {
        self.results.get(&(id.clone(), seq))
    }

    pub fn attachments(&self) -> &[Attachment] {
        &self.attachments
    }

    /// Whether the attachment is shown. A todo list within a collapsed span is not, because a newer one follows it.
    pub fn shows(&self, attachment: &Attachment) -> bool {
        attachment.what != "todos" || self.span_of(attachment.after).is_none()
    }

    /// Returns the collapsed spans, oldest first.
    pub fn spans(&self) -> &[Collapsed] {
        &self.spans
    }

    /// Returns the collapsed span that contains message `seq`.
    pub fn span_of(&self, seq: Seq) -> Option<&Collapsed> {
        let after = self.spans.partition_point(|span| span.first <= seq);
        self.spans.get(after.checked_sub(1)?).filter(|span| seq <= span.last)
    }

    /// Returns the first message at which the prompt was changed; `None` if it was never changed.
    pub fn first_edit(&self) -> Option<Seq> {
        self.edits.iter().map(|edit| edit.from).min()
    }

    pub fn edits(&self) -> &[PromptEdit] {
        &self.edits
    }

    /// Returns the newest message that was made from a different prompt than the current one.
    pub fn last_edit(&self) -> Seq {
        self.edits.iter().map(|e| e.made_after).max().unwrap_or(Seq::ZERO)
    }

    /// Whether a result is not shown in full.
    pub fn has_replaced(&self) -> bool {
        !self.results.is_empty()
    }
}
