//! Plans a cut: which of the newest messages stay.

use bethink_context::collapse::cut_points;
use bethink_context::decision::{ClearedResult, RESULT_FRAME_TOKENS};
use bethink_context::{Decisions, Hints, History, HistoryEntry, usage};
use bethink_tokens::text_tokens;
use bethink_transcript::{BlockKind, Seq};

use crate::limits::CompactLimits;

/// A planned cut: messages before `kept_from` are no longer shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    pub kept_from: Seq,
    pub tail_tokens: u64,
    /// Results in the tail that must be shortened so that the tail fits.
    pub clipped: Vec<ClearedResult>,
}

/// Limits of a tail, in tokens.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// The size to aim for.
    pub target: u64,
    /// The maximum size.
    pub hard: u64,
    /// The tail starts here at the latest, whatever its size: a message that no summary covers must stay.
    pub no_later: Option<Seq>,
}

/// Plans a cut whose tail fills `room`.
///
/// Extends the tail backwards from the newest message until the minimums in `limits` are met, as far as the room allows,
/// and then up to the target size. Cuts only between API rounds, and never within a collapsed span.
pub fn plan(
    history: &History,
    decisions: &Decisions,
    limits: &CompactLimits,
    room: Room,
    hints: &Hints,
) -> Cut {
    let entries = history.from(decisions.kept_from());
    let points = cut_points(history, decisions);
    let suffix = suffix_tokens(entries, decisions);
    match tail_start(entries, &points, &suffix, limits, room, history.last_seq().next()) {
        Some(point) if point < entries.len() || points.len() < 2 => at(entries, point, &suffix),
        _ => last_round(entries, &points, decisions, room.hard, hints),
    }
}

/// A tail below `keep_min_tokens` divided by this gets one more round, even if it then exceeds the target: a few short messages
/// do not show where the work stands, and the large results before them do.
const MIN_TAIL_DIVISOR: u64 = 10;

/// Returns the cut point where the kept tail starts.
fn tail_start(
    entries: &[HistoryEntry],
    points: &[usize],
    suffix: &[u64],
    limits: &CompactLimits,
    room: Room,
    end: Seq,
) -> Option<usize> {
    let starts = |point: usize| entries.get(point).map_or(end, |e| e.message.seq);
    let target = room.target.min(limits.keep_max_tokens).min(room.hard);
    let mut chosen = None;
    let mut texts = 0;
    let mut next = entries.len();
    for &point in points.iter().rev() {
        let round = entries.get(point..next).unwrap_or_default();
        texts += round.iter().filter(|e| e.message.has_text()).count();
        next = point;
        let tokens = suffix.get(point).copied().unwrap_or(0);
        if room.no_later.is_some_and(|latest| starts(point) > latest) {
            continue;
        }
        let forced = room.no_later.is_some() && chosen.is_none();
        // Point 0 would keep everything.
        if point == 0 || (tokens > room.hard && !forced) {
            break;
        }
        let wants_more = texts <= limits.keep_min_messages || tokens <= limits.keep_min_tokens;
        let kept = chosen.map_or(0, |chosen: usize| suffix.get(chosen).copied().unwrap_or(0));
        let is_enough =
            kept >= limits.keep_min_tokens / MIN_TAIL_DIVISOR || tokens > limits.keep_max_tokens;
        if tokens > target && (kept > 0 && is_enough || !wants_more) && !forced {
            break;
        }
        chosen = Some(point);
    }
    chosen
}

pub fn nothing_kept(history: &History, decisions: &Decisions, hard: u64, hints: &Hints) -> Cut {
    let entries = history.from(decisions.kept_from());
    let points = cut_points(history, decisions);
    if points.last() == Some(&entries.len()) {
        return at(entries, entries.len(), &[]);
    }
    last_round(entries, &points, decisions, hard, hints)
}

fn at(entries: &[HistoryEntry], point: usize, suffix: &[u64]) -> Cut {
    let end = entries.last().map_or(Seq::ZERO, |e| e.message.seq).next();
    Cut {
        kept_from: entries.get(point).map_or(end, |e| e.message.seq),
        tail_tokens: suffix.get(point).copied().unwrap_or(0),
        clipped: Vec::new(),
    }
}

/// Keeps the newest round, although it is over the limit, with shortened results. If that is not enough, nothing is kept,
/// and the summary covers the round.
fn last_round(
    entries: &[HistoryEntry],
    points: &[usize],
    decisions: &Decisions,
    hard: u64,
    hints: &Hints,
) -> Cut {
    let end = entries.len();
    let start = points.iter().rev().copied().find(|p| *p < end).unwrap_or(0);
    let tail = entries.get(start..).unwrap_or_default();
    let suffix = suffix_tokens(entries, decisions);
    let cut = at(entries, start, &suffix);
    let results = tail.iter().flat_map(HistoryEntry::blocks);
    let results = results.filter(|(block, _)| matches!(block.kind, BlockKind::ToolResult { .. }));
    let results: Vec<u64> = results.map(|(_, facts)| u64::from(facts.tokens)).collect();
    let others = cut.tail_tokens.saturating_sub(results.iter().sum());
    let each = hard.checked_sub(others).and_then(|room| room.checked_div(results.len() as u64));
    match each.filter(|each| *each >= MIN_CLIPPED_TOKENS) {
        Some(each) => clip(cut, tail, decisions, each, hints),
        None if points.last() == Some(&end) => at(entries, end, &[]),
        None => clip(cut, tail, decisions, MIN_CLIPPED_TOKENS, hints),
    }
}

/// Minimum size of a shortened result, in tokens: its first lines show what it was.
const MIN_CLIPPED_TOKENS: u64 = 160;

fn clip(
    mut cut: Cut,
    tail: &[HistoryEntry],
    decisions: &Decisions,
    each: u64,
    hints: &Hints,
) -> Cut {
    for entry in tail.iter().filter(|e| decisions.span_of(e.message.seq).is_none()) {
        for (block, facts) in entry.blocks() {
            let BlockKind::ToolResult { tool_use_id, .. } = &block.kind else { continue };
            if u64::from(facts.tokens) <= each
                || decisions.result(tool_use_id, entry.message.seq).is_some()
            {
                continue;
            }
            // An estimated token has three bytes; the note around the text has about 110 tokens.
            let keep = usize::try_from(each.saturating_sub(110) * 3).unwrap_or(usize::MAX);
            let text = hints.clipped(&entry.message, tool_use_id, &block.text(), keep);
            let tokens = u64::from(text_tokens(&text) + RESULT_FRAME_TOKENS);
            cut.tail_tokens = cut.tail_tokens.saturating_sub(u64::from(facts.tokens)) + tokens;
            cut.clipped.push(ClearedResult {
                tool_use_id: tool_use_id.clone(),
                seq: entry.message.seq,
                text,
            });
        }
    }
    cut
}

/// Returns, for every `i`, the number of tokens in `entries[i..]` as they are shown.
fn suffix_tokens(entries: &[HistoryEntry], decisions: &Decisions) -> Vec<u64> {
    let mut suffix = vec![0; entries.len() + 1];
    for (i, entry) in entries.iter().enumerate().rev() {
        suffix[i] = suffix[i + 1] + usage::shown(entry, decisions);
    }
    suffix
}
