//! One compaction from plan to result: cut, summary by the cheapest level that works, restoration,
//! acceptance. All or nothing: a result is returned that was accepted, or a reason.

use std::collections::HashSet;

use bethink_context::{
    Boundary, Decisions, Entry, Hints, History, Thresholds, View, ViewOptions, in_view, view,
};
use bethink_tokens::Estimator;
use bethink_transcript::{Seq, ToolUseId, ValidPrompt};

use crate::Level;
use crate::cut::{self, Cut, Room};
use crate::fidelity::{self, Fidelity};
use crate::limits::{
    CompactLimits, FILLED_PERCENT, MIN_FREED_PERCENT, MIN_ROOM, RESTORED_PERCENT,
    SUMMARY_MAX_TOKENS, SUMMARY_MIN_TOKENS, SUMMARY_PERCENT, TAIL_PERCENT,
};
use crate::policy::Trigger;
use crate::restore::{self, Restorable, RestoredItem};
use bethink_facts::Facts;

/// Writes a summary of the covered stretch. Two implementations share one suite: model and embedded.
pub trait Summarizer: Send + Sync {
    fn level(&self) -> Level;
    /// Last message that the text speaks of, where that is settled before it is written: the kept tail
    /// starts no later than with the next.
    fn covers(&self) -> Option<Seq> {
        None
    }
    /// The most that a text of this level may have, whatever the window.
    fn max_tokens(&self) -> u64 {
        SUMMARY_MAX_TOKENS
    }
    /// Whether a text has the shape of this level's summaries.
    fn is_well_formed(&self, summary: &str) -> bool;
    /// The text of the summary, or why there is none; the next level is tried then.
    fn summarize(&self, request: &SummaryRequest<'_>) -> Result<String, String>;
}

#[derive(Debug)]
pub struct SummaryRequest<'a> {
    /// Through the newest message.
    pub facts: &'a Facts,
    pub max_bytes: usize,
    /// Bytes of the user's own words at most.
    pub user_bytes: usize,
    /// First message that stays in view; none when everything is covered.
    pub kept_from: Option<Seq>,
    /// Names that stay readable in the kept tail.
    pub visible: &'a HashSet<String>,
    /// The summary is read without the tail too: by whoever asked for it.
    pub stands_alone: bool,
    /// What the person who asked wants kept above all.
    pub focus: Option<&'a str>,
}

impl SummaryRequest<'_> {
    /// A reader of the summary does not meet this message itself.
    pub fn is_hidden(&self, seq: Seq) -> bool {
        self.stands_alone || self.kept_from.is_none_or(|kept| seq < kept)
    }
}

/// What a compaction is made from.
#[derive(Debug)]
pub struct Input<'a> {
    pub id: String,
    pub history: &'a History,
    pub decisions: &'a Decisions,
    /// Through the newest message.
    pub facts: &'a Facts,
    pub thresholds: Thresholds,
    /// Tokens of system and tools, which no compaction touches.
    pub fixed_tokens: u64,
    /// What the provider counts over what is estimated; 1 where nothing was reported.
    pub scale: f64,
    pub trigger: Trigger,
    pub focus: Option<String>,
    /// Upper bound of the summary, 4 bytes a token.
    pub summary_tokens: Option<u64>,
    pub restorable: &'a Restorable,
    pub limits: CompactLimits,
    pub options: ViewOptions,
    pub hints: &'a Hints,
    pub estimator: &'a dyn Estimator,
}

/// An accepted compaction, to be committed whole.
#[derive(Debug)]
pub struct Outcome {
    pub boundary: Boundary,
    pub decisions: Decisions,
    pub level: Level,
    pub first_seq: Seq,
    pub last_seq: Seq,
    /// Estimated tokens of the messages, before and after, system and tools included.
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub summary_tokens: u64,
    pub fidelity: Fidelity,
    pub restored: Vec<RestoredItem>,
    /// Levels that were tried and why they were not taken.
    pub refused: Vec<String>,
}

/// Why nothing was compacted. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    #[error("there is nothing before the newest round to compact")]
    Nothing,
    #[error(
        "system and tools take {fixed} of the {auto} tokens before a compaction is due; no compaction can help"
    )]
    NoRoom { fixed: u64, auto: u64 },
    #[error("no result was accepted: {}", .0.join("; "))]
    Refused(Vec<String>),
}

/// Attempts, from the roomiest to the tightest: percent of the tail's and the summary's share.
const ATTEMPTS: [(u64, u64); 4] = [(100, 100), (50, 70), (15, 45), (0, 25)];

/// Compacts by the levels of `ladder`, in its order.
pub fn compact(input: &Input<'_>, ladder: &[&dyn Summarizer]) -> Result<Outcome, Failure> {
    let estimator = input.estimator;
    let tokens = |text: &str| estimator.text(text);
    let before = view(input.history, input.decisions, input.options).tokens() + input.fixed_tokens;
    let auto = scaled(input.thresholds.auto, input.scale);
    let room = auto.saturating_sub(input.fixed_tokens);
    if room < MIN_ROOM {
        return Err(Failure::NoRoom { fixed: input.fixed_tokens, auto });
    }
    let mut refused = Vec::new();
    for (tail, summary) in ATTEMPTS {
        for level in ladder {
            let cut = plan_cut(input, room, tail, level.covers());
            if !covers_something(input, &cut) {
                refused.push(NOTHING.to_owned());
                continue;
            }
            if let Some(through) = level.covers().filter(|seq| cut.kept_from > seq.next()) {
                refused.push(format!(
                    "{}: its text ends with message {through}, and there is no room for what came after it",
                    level.level().as_str()
                ));
                continue;
            }
            let draft = match draft(input, *level, &cut, room, summary) {
                Ok(draft) => draft,
                Err(reason) => {
                    refused.push(format!("{}: {reason}", level.level().as_str()));
                    continue;
                }
            };
            let decisions = input.decisions.rebased(draft.boundary.clone(), input.history, &tokens);
            let shown = view(input.history, &decisions, input.options);
            let after = shown.tokens() + input.fixed_tokens;
            if let Err(reason) =
                accept(*level, &draft.boundary.summary, &shown, before, after, auto, input.trigger)
            {
                refused.push(format!("{}: {reason}", level.level().as_str()));
                continue;
            }
            return Ok(outcome(input, *level, draft, decisions, &shown, before, after, refused));
        }
    }
    if refused.iter().all(|reason| reason == NOTHING) {
        return Err(Failure::Nothing);
    }
    Err(Failure::Refused(refused))
}

const NOTHING: &str = "there is nothing before the newest round to compact";

struct Draft {
    boundary: Boundary,
    restored: Vec<RestoredItem>,
}

fn scaled(threshold: u64, scale: f64) -> u64 {
    if scale > 1.0 { (threshold as f64 / scale) as u64 } else { threshold }
}

fn plan_cut(input: &Input<'_>, room: u64, percent: u64, covers: Option<Seq>) -> Cut {
    let share = room * TAIL_PERCENT / 100;
    let hard = (room * (TAIL_PERCENT + 12) / 100 * percent / 100).max(600);
    if percent == 0 {
        return cut::nothing_kept(
            input.history,
            input.decisions,
            hard,
            input.estimator,
            input.hints,
        );
    }
    let room = Room { target: share * percent / 100, hard, no_later: covers.map(Seq::next) };
    cut::plan(input.history, input.decisions, &input.limits, room, input.estimator, input.hints)
}

fn covers_something(input: &Input<'_>, cut: &Cut) -> bool {
    let first = input.history.from(input.decisions.kept_from()).first();
    first.is_some_and(|e| e.message.seq < cut.kept_from) || !cut.clipped.is_empty()
}

fn draft(
    input: &Input<'_>,
    level: &dyn Summarizer,
    cut: &Cut,
    room: u64,
    percent: u64,
) -> Result<Draft, String> {
    // Who asks for a compaction reads its summary by itself.
    let stands_alone = input.trigger == Trigger::Manual;
    let visible = tail_names(input, cut);
    let last = input.history.last_seq();
    let own = (room * SUMMARY_PERCENT / 100 * percent / 100)
        .clamp(SUMMARY_MIN_TOKENS, level.max_tokens());
    // Three bytes an estimated token; a caller counts four a token.
    let own_bytes = usize::try_from(own * 3).unwrap_or(usize::MAX);
    let max_bytes = match input.summary_tokens {
        Some(tokens) => usize::try_from(tokens.saturating_mul(4))
            .unwrap_or(usize::MAX)
            .min(usize::try_from(room * 3 / 2).unwrap_or(usize::MAX)),
        None => own_bytes,
    };
    let request = SummaryRequest {
        facts: input.facts,
        max_bytes,
        user_bytes: usize::try_from(input.limits.user_message_tokens * 3).unwrap_or(usize::MAX),
        kept_from: (cut.kept_from <= last).then_some(cut.kept_from),
        visible: &visible,
        stands_alone,
        focus: input.focus.as_deref(),
    };
    let text = level.summarize(&request)?;
    let used = cut.tail_tokens + u64::from(input.estimator.text(&text));
    let free = (room * FILLED_PERCENT / 100).saturating_sub(used);
    let (restored, items) = restore::select(
        input.restorable,
        &tail_paths(input, cut),
        last,
        &input.limits,
        (room * RESTORED_PERCENT / 100 * percent / 100).min(free),
        input.estimator,
    );
    let boundary = Boundary {
        id: input.id.clone(),
        kept_from: cut.kept_from,
        made_after: last,
        marker: marker(input, cut.kept_from, last),
        tokens: input.estimator.text(&text),
        summary: text,
        restored,
        clipped: cut.clipped.clone(),
    };
    Ok(Draft { boundary, restored: items })
}

/// The first text of the new view.
fn marker(input: &Input<'_>, kept_from: Seq, last: Seq) -> String {
    let covered = kept_from.0.saturating_sub(1);
    let in_short = input.decisions.spans().iter().any(|span| span.first >= kept_from);
    let tail = if kept_from <= last {
        let how = if in_short {
            "follow it, the older of them in short"
        } else {
            "follow the summary unchanged"
        };
        format!("messages {kept_from} to {last} {how}.")
    } else {
        "no other message is left out.".to_owned()
    };
    format!(
        "This session goes on from an earlier part that no longer fits the window. Messages 1 to {covered} are summarised below; {tail} \
         Numbers in brackets are message numbers: the whole of any message is in the session's history \
         (`bethink history --session {} --message NUMBER`, `bethink search --session {} WORDS`). \
         Take up the work where it stands. What is marked as done is done; a plan or request that the user has since changed is not to be resumed.",
        input.hints.session, input.hints.session
    )
}

/// Messages of the kept tail that stand there themselves.
fn tail<'a>(input: &'a Input<'_>, cut: &Cut) -> impl Iterator<Item = &'a Entry> {
    let from = cut.kept_from;
    in_view(input.history, input.decisions).filter(move |entry| entry.message.seq >= from)
}

fn tail_names(input: &Input<'_>, cut: &Cut) -> HashSet<String> {
    let mut names = HashSet::new();
    for block in tail(input, cut).flat_map(|e| &e.message.blocks) {
        fidelity::read(block, |id| is_whole(input, cut, id), &mut names);
    }
    let spans = input.decisions.spans().iter().filter(|span| span.first >= cut.kept_from);
    spans.for_each(|span| fidelity::collect(&span.text, &mut names));
    names
}

/// Files whose content can be read in the kept tail.
fn tail_paths(input: &Input<'_>, cut: &Cut) -> HashSet<String> {
    let results = tail(input, cut).flat_map(|e| e.message.tool_results());
    results
        .filter(|(id, failed, _)| !failed && is_whole(input, cut, id))
        .filter_map(|(id, _, _)| input.history.call(id)?.path.as_deref().map(str::to_owned))
        .collect()
}

/// The result is shown as it is, before and after the cut.
fn is_whole(input: &Input<'_>, cut: &Cut, id: &ToolUseId) -> bool {
    input.decisions.result(id).is_none() && !cut.clipped.iter().any(|c| c.tool_use_id == *id)
}

/// A compaction that does not help is none.
fn accept(
    level: &dyn Summarizer,
    summary: &str,
    shown: &View,
    before: u64,
    after: u64,
    auto: u64,
    trigger: Trigger,
) -> Result<(), String> {
    if !level.is_well_formed(summary) {
        return Err("the summary lacks one of its sections".to_owned());
    }
    if after >= auto {
        return Err(format!("the new prompt would have {after} tokens, not under {auto}"));
    }
    let freed = before.saturating_sub(after);
    if freed * 100 < before * MIN_FREED_PERCENT && !(trigger == Trigger::Reactive && freed > 0) {
        return Err(format!("only {freed} of {before} tokens would be freed"));
    }
    ValidPrompt::check(shown.messages.clone())
        .map(drop)
        .map_err(|faults| format!("the new prompt would be invalid: {faults:?}"))
}

#[allow(clippy::too_many_arguments)]
fn outcome(
    input: &Input<'_>,
    level: &dyn Summarizer,
    draft: Draft,
    decisions: Decisions,
    shown: &View,
    before: u64,
    after: u64,
    refused: Vec<String>,
) -> Outcome {
    let covered = draft.boundary.kept_from.0.saturating_sub(1);
    Outcome {
        level: level.level(),
        first_seq: Seq(1),
        last_seq: Seq(covered),
        tokens_before: before,
        tokens_after: after,
        summary_tokens: u64::from(draft.boundary.tokens),
        fidelity: fidelity::score(input.facts, shown),
        restored: draft.restored,
        boundary: draft.boundary,
        decisions,
        refused,
    }
}
