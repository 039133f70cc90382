//! One compaction from plan to result: the cut, a summary by the cheapest level that works, restored content, and acceptance.

use bethink_api::RestoredItem;
use bethink_context::{
    Boundary, Decisions, Hints, History, HistoryEntry, Thresholds, ViewOptions, in_view, view,
};
use bethink_tokens::text_tokens;
use bethink_transcript::{BlockKind, Role, Seq, ToolKind, ToolUseId, ValidPrompt};

use crate::SummaryLevel;
use crate::cut::{self, Cut, Room};
use crate::fidelity::{self, Fidelity};
use crate::limits::{
    self, CompactLimits, FILLED_PERCENT, MIN_FREED_PERCENT, MIN_ROOM, SUMMARY_MAX_TOKENS,
    SUMMARY_MIN_TOKENS, SUMMARY_PERCENT, TAIL_MAX_PERCENT, TAIL_PERCENT, TEXT_EXTRA_TOKENS,
    USER_PERCENT, USER_ROOM_PERCENT,
};
use crate::policy::Trigger;
use crate::restore::{self, Restorable, VisibleTail};
use crate::section::well_formed;
use bethink_facts::Facts;

/// Writes a summary of the covered messages.
pub trait Summarizer: Send + Sync {
    fn level(&self) -> SummaryLevel;
    /// Returns the last message that the text covers, if that is known before the text is written. The kept tail starts no
    /// later than the message after it.
    fn covers(&self) -> Option<Seq> {
        None
    }
    /// Whether the text has the shape of this level's summaries.
    fn is_well_formed(&self, summary: &str) -> bool {
        well_formed(summary)
    }
    /// Writes the summary. If this fails, the error gives the reason, and the next level is tried.
    fn summarize(&self, request: &SummaryRequest<'_>) -> Result<String, String>;
}

#[derive(Debug)]
pub struct SummaryRequest<'a> {
    /// Facts through the newest message.
    pub facts: &'a Facts,
    /// Maximum size of the summary, in bytes.
    pub max_bytes: usize,
    /// Maximum size of the summary without the user's words, in bytes.
    pub own_bytes: usize,
    /// Maximum size of the user's words, in bytes.
    pub user_bytes: usize,
    /// First message that stays in view; `None` if everything is covered.
    pub kept_from: Option<Seq>,
    /// Whether a person reads the summary without the tail.
    pub stands_alone: bool,
    /// What the summary must keep above all else, according to the person who asked for it.
    pub focus: Option<&'a str>,
}

impl SummaryRequest<'_> {
    /// Whether a reader of the summary does not see this message.
    pub fn is_hidden(&self, seq: Seq) -> bool {
        self.stands_alone || self.kept_from.is_none_or(|kept| seq < kept)
    }
}

#[derive(Debug)]
pub struct CompactionInput<'a> {
    pub id: String,
    pub history: &'a History,
    pub decisions: &'a Decisions,
    /// Facts through the newest message.
    pub facts: &'a Facts,
    pub thresholds: Thresholds,
    /// Number of tokens in the system prompt and tools, which no compaction changes.
    pub fixed_tokens: u64,
    /// The provider's count divided by the estimate; 1 if nothing was reported.
    pub scale: f64,
    pub trigger: Trigger,
    pub focus: Option<String>,
    /// Maximum size of the summary, in tokens of 4 bytes.
    pub summary_tokens: Option<u64>,
    pub restorable: &'a Restorable,
    pub limits: CompactLimits,
    pub options: ViewOptions,
    pub hints: &'a Hints,
}

/// An accepted compaction, to be committed as a whole.
#[derive(Debug)]
pub struct CompactionOutcome {
    pub boundary: Boundary,
    pub decisions: Decisions,
    pub level: SummaryLevel,
    pub first_seq: Seq,
    pub last_seq: Seq,
    /// Estimated number of tokens in the prompt before and after the compaction, including the system prompt and tools.
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub summary_tokens: u64,
    pub fidelity: Fidelity,
    pub restored: Vec<RestoredItem>,
    /// The levels that were tried, and why each was rejected.
    pub refused: Vec<String>,
}

/// The reason why nothing was compacted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompactionFailure {
    #[error("{NOTHING}")]
    Nothing,
    #[error(
        "the system prompt and the tools take {fixed} tokens, and compaction starts at {auto} tokens, so a compaction cannot free enough tokens"
    )]
    NoRoom { fixed: u64, auto: u64 },
    #[error(
        "the user's newest messages are large and stay whole until the model has answered, and compacting the messages before them would free too little"
    )]
    LargeRequest,
    #[error("every attempt was rejected: {}", .0.join("; "))]
    Refused(Vec<String>),
}

const NOTHING: &str = "there is nothing to compact before the newest turn";

/// Attempts, from the largest result to the smallest, as percentages of the tail's and the summary's full share.
const ATTEMPTS: [(u64, u64); 4] = [(100, 100), (50, 70), (15, 45), (0, 25)];

pub fn compact(
    input: &CompactionInput<'_>,
    ladder: &[&dyn Summarizer],
) -> Result<CompactionOutcome, CompactionFailure> {
    let before = view(input.history, input.decisions, input.options).tokens() + input.fixed_tokens;
    // In estimated tokens, if the provider counts more than the estimate.
    let auto = (input.thresholds.auto as f64 / input.scale.max(1.0)) as u64;
    let room = auto.saturating_sub(input.fixed_tokens);
    if room < MIN_ROOM {
        return Err(CompactionFailure::NoRoom { fixed: input.fixed_tokens, auto });
    }
    let mut sizes = Sizes { before, most: auto, room, notes_tail: u64::MAX };
    let mut refused = Vec::new();
    if let Some(cut) = large_request(input, tail_limit(room, 100)) {
        let blocking = (input.thresholds.blocking as f64 / input.scale.max(1.0)) as u64;
        // Restored instructions and reminders follow.
        let nearly = auto + blocking.saturating_sub(auto) * 3 / 4;
        sizes.most = nearly;
        let mut largest = None;
        for (_, share) in ATTEMPTS {
            for level in ladder {
                match attempt(input, *level, &sizes, &cut, share) {
                    Ok(outcome) if outcome.tokens_after < auto => return Ok(outcome),
                    Ok(outcome) => largest = largest.or(Some(outcome)),
                    Err(_) => {}
                }
            }
        }
        if let Some(outcome) = largest {
            return Ok(outcome);
        }
        let has_other_level = ladder.iter().any(|l| l.level() != SummaryLevel::SessionMemory);
        if before < blocking || !has_other_level {
            return Err(CompactionFailure::LargeRequest);
        }
        sizes.most = auto;
    }
    for (tail, share) in ATTEMPTS {
        for level in ladder {
            let cut = plan_cut(input, room, tail, level.covers());
            if ladder.len() > 1 {
                sizes.notes_tail = tail_limit(room, tail);
            }
            match attempt(input, *level, &sizes, &cut, share) {
                Ok(outcome) => return Ok(CompactionOutcome { refused, ..outcome }),
                Err(reason) if reason == NOTHING => refused.push(reason),
                Err(reason) => refused.push(format!("{}: {reason}", level.level().as_str())),
            }
        }
    }
    if refused.iter().all(|reason| reason == NOTHING) {
        return Err(CompactionFailure::Nothing);
    }
    Err(CompactionFailure::Refused(refused))
}

/// Sizes in estimated tokens.
struct Sizes {
    before: u64,
    /// The new prompt must be smaller than this: usually, than the size at which the next compaction is due.
    most: u64,
    /// Room for messages under the `auto` threshold.
    room: u64,
    /// The most that the messages after notes may take. There is no limit if notes are the only level.
    notes_tail: u64,
}

/// Returns the cut before the user's newest words, if a prompt that nobody has answered ends with them and they take more
/// than `most` tokens: the model must read its task whole at least once.
fn large_request(input: &CompactionInput<'_>, most: u64) -> Option<Cut> {
    let entries = input.history.from(input.decisions.kept_from());
    let is_request = |entry: &&HistoryEntry| {
        entry.message.role == Role::User && entry.message.tool_results().next().is_none()
    };
    let request = entries.iter().rev().take_while(is_request);
    let (first, tail_tokens) = request
        .fold((None, 0), |(_, tokens), entry| (Some(entry.message.seq), tokens + entry.tokens()));
    let is_large = input.trigger == Trigger::Auto && tail_tokens > most;
    is_large.then_some(Cut { kept_from: first?, tail_tokens, clipped: Vec::new() })
}

/// Tries one level with this percentage of the summary's full share. Rejects a compaction that frees too little.
fn attempt(
    input: &CompactionInput<'_>,
    level: &dyn Summarizer,
    sizes: &Sizes,
    cut: &Cut,
    share: u64,
) -> Result<CompactionOutcome, String> {
    let Sizes { before, most, room, notes_tail } = *sizes;
    if !covers_something(input, cut) {
        return Err(NOTHING.to_owned());
    }
    if let Some(through) = level.covers().filter(|seq| cut.kept_from > seq.next()) {
        return Err(format!(
            "this summary covers only the messages up to {through}, and there is no room to keep all later messages"
        ));
    }
    if level.level() == SummaryLevel::SessionMemory && cut.tail_tokens > notes_tail {
        return Err(format!(
            "the messages that the notes do not cover have {} tokens; at most {notes_tail} are allowed",
            cut.tail_tokens
        ));
    }
    let (boundary, restored) = draft(input, level, cut, room, share)?;
    let decisions = input.decisions.rebased(boundary.clone(), input.history);
    let shown = view(input.history, &decisions, input.options);
    let after = shown.tokens() + input.fixed_tokens;
    if !level.is_well_formed(&boundary.summary) {
        return Err("the summary is missing a section".to_owned());
    }
    if after >= most {
        return Err(format!(
            "the new prompt would have {after} tokens; it must have fewer than {most}"
        ));
    }
    let freed = before.saturating_sub(after);
    let is_forced = input.trigger == Trigger::Reactive && freed > 0;
    if freed == 0 || freed * 100 < before * MIN_FREED_PERCENT && !is_forced {
        return Err(format!("only {freed} of {before} tokens would be freed"));
    }
    ValidPrompt::check(shown.messages.clone())
        .map_err(|faults| format!("the new prompt would be invalid: {faults:?}"))?;
    Ok(CompactionOutcome {
        level: level.level(),
        first_seq: Seq(1),
        last_seq: Seq(boundary.kept_from.0.saturating_sub(1)),
        tokens_before: before,
        tokens_after: after,
        summary_tokens: u64::from(boundary.tokens),
        fidelity: fidelity::score(input.facts, &shown),
        restored,
        boundary,
        decisions,
        refused: Vec::new(),
    })
}

fn plan_cut(input: &CompactionInput<'_>, room: u64, percent: u64, covers: Option<Seq>) -> Cut {
    let share = (room * TAIL_PERCENT / 100).min(input.limits.keep_min_tokens);
    let hard = tail_limit(room, percent);
    if percent == 0 {
        return cut::nothing_kept(input.history, input.decisions, hard, input.hints);
    }
    let room = Room { target: share * percent / 100, hard, no_later: covers.map(Seq::next) };
    cut::plan(input.history, input.decisions, &input.limits, room, input.hints)
}

/// Returns the maximum size of a tail, in tokens.
fn tail_limit(room: u64, percent: u64) -> u64 {
    (room * TAIL_MAX_PERCENT / 100 * percent / 100).max(600)
}

fn covers_something(input: &CompactionInput<'_>, cut: &Cut) -> bool {
    let first = input.history.from(input.decisions.kept_from()).first();
    first.is_some_and(|e| e.message.seq < cut.kept_from) || !cut.clipped.is_empty()
}

fn draft(
    input: &CompactionInput<'_>,
    level: &dyn Summarizer,
    cut: &Cut,
    room: u64,
    percent: u64,
) -> Result<(Boundary, Vec<RestoredItem>), String> {
    // A person who asks for a compaction reads its summary without the tail.
    let stands_alone = input.trigger == Trigger::Manual;
    let last = input.history.last_seq();
    let bytes = |tokens: u64| usize::try_from(tokens).unwrap_or(usize::MAX);
    let (max_bytes, own_bytes, user_bytes) = match input.summary_tokens {
        // The size in a request counts four bytes per token.
        Some(tokens) => {
            let all = bytes(tokens.saturating_mul(4)).min(bytes(room * 3 / 2));
            (all, all, all * USER_PERCENT / 100)
        }
        None => {
            let extra = if level.covers().is_some() { TEXT_EXTRA_TOKENS } else { 0 };
            let own = (room * SUMMARY_PERCENT / 100 * percent / 100)
                .clamp(SUMMARY_MIN_TOKENS, SUMMARY_MAX_TOKENS + extra);
            let user = input
                .limits
                .user_message_tokens
                .min(room * USER_ROOM_PERCENT / 100 * percent / 100);
            // Three bytes per estimated token.
            (bytes((own + user) * 3), bytes(own * 3), bytes(user * 3))
        }
    };
    let request = SummaryRequest {
        facts: input.facts,
        max_bytes,
        own_bytes,
        user_bytes,
        kept_from: (cut.kept_from <= last).then_some(cut.kept_from),
        stands_alone,
        focus: input.focus.as_deref(),
    };
    let text = level.summarize(&request)?;
    let tokens = text_tokens(&text);
    let used = cut.tail_tokens + u64::from(tokens);
    let free = (room * FILLED_PERCENT / 100).saturating_sub(used);
    let (restored, items) = restore::select(
        input.restorable,
        &visible_tail(input, cut),
        last,
        &input.limits,
        (limits::restored_tokens(room) * percent / 100).min(free),
    );
    let boundary = Boundary {
        id: input.id.clone(),
        kept_from: cut.kept_from,
        made_after: last,
        marker: marker(input, cut.kept_from, last),
        tokens,
        summary: text,
        restored,
        clipped: cut.clipped.clone(),
    };
    Ok((boundary, items))
}

/// Returns the first text of the new view.
fn marker(input: &CompactionInput<'_>, kept_from: Seq, last: Seq) -> String {
    let (covered, session) = (kept_from.0.saturating_sub(1), &input.hints.session);
    let in_short = input.decisions.spans().iter().any(|span| span.first >= kept_from);
    let tail = if kept_from > last {
        "no other messages are left out.".to_owned()
    } else if in_short {
        format!("messages from {kept_from} on follow the summary; some up to {last} are shortened.")
    } else {
        format!("messages from {kept_from} on follow the summary unchanged.")
    };
    format!(
        "This session continues from an earlier part that no longer fits in the context window. Messages 1 to {covered} are summarized below; {tail} \
         Numbers in brackets are message numbers: the session's history has every message in full \
         (`bethink history --session {session} --message NUMBER`, `bethink search --session {session} WORDS`). \
         The summary describes the state after message {last}. If a later message contradicts it, follow the later message. \
         Continue the work from where it is now. What is marked as done is done; do not resume a plan or request that the user has since changed."
    )
}

/// Returns the messages of the kept tail that are not in a collapsed span.
fn tail<'a>(input: &'a CompactionInput<'_>, cut: &Cut) -> impl Iterator<Item = &'a HistoryEntry> {
    let from = cut.kept_from;
    in_view(input.history, input.decisions).filter(move |entry| entry.message.seq >= from)
}

fn visible_tail(input: &CompactionInput<'_>, cut: &Cut) -> VisibleTail {
    let mut visible = VisibleTail::default();
    for entry in tail(input, cut) {
        visible.messages.insert(entry.message.seq);
        for block in &entry.message.blocks {
            if let BlockKind::ToolResult { tool_use_id, is_error } = &block.kind {
                if !is_whole(input, cut, tool_use_id, entry.message.seq) {
                    continue;
                }
                let call = input.history.call(tool_use_id, entry.message.seq).filter(|_| !is_error);
                // The result of an edit does not show the file.
                let shows =
                    |kind: Option<ToolKind>| matches!(kind, Some(ToolKind::Read | ToolKind::Write));
                let path = call.filter(|call| shows(call.kind)).and_then(|call| call.path.clone());
                visible.paths.extend(path.as_deref().map(str::to_owned));
            }
            visible.text.push_str(&block.text());
            visible.text.push('\n');
        }
    }
    visible
}

/// Whether the result is shown in full, before and after the cut.
fn is_whole(input: &CompactionInput<'_>, cut: &Cut, id: &ToolUseId, seq: Seq) -> bool {
    input.decisions.result(id, seq).is_none()
        && !cut.clipped.iter().any(|c| c.tool_use_id == *id && c.seq == seq)
}
