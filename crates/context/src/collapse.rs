//! Stage 5, optional and off by default: context collapse. Each old span of whole API rounds is shown as
//! one short text, which is prepared in the background (staged) and used when the window fills up
//! (committed).
//!
//! This module chooses the spans; other modules write and store their texts. A committed span is a decision like any other,
//! frozen once a prompt that used it was handed out. It changes the prompt from the span's first message on.

use bethink_transcript::{Message, Seq, cuts};

use crate::decision::{Collapsed, Decisions};
use crate::history::{History, HistoryEntry};
use crate::usage::shown;

/// When the prompt reaches this percentage of the effective window, staged spans are committed.
pub const COMMIT_PERCENT: u64 = 90;
/// From this percentage on, spans that are not staged yet are written at once, in the same prompt.
pub const BLOCK_PERCENT: u64 = 95;
/// Spans are committed until the prompt is below this percentage. Above it, quality degrades; each commit costs the
/// provider's cache, so commits should be rare.
pub const UNTIL_PERCENT: u64 = 70;
/// Minimum percentage of the effective window that a commit must free. If it frees less, the next commit would be due in a few
/// turns, so a compaction is better.
pub const WORTH_PERCENT: u64 = 10;
/// Spans are staged from this percentage on. Below this percentage, spans may never be needed.
pub const STAGE_PERCENT: u64 = 50;
/// Size of a span as a percentage of the effective window: large enough that few texts are needed, but small enough
/// that a text covers one task.
pub const SPAN_PERCENT: u64 = 6;
/// Percentage of the effective window that belongs to the newest messages, which are never collapsed.
pub const TAIL_PERCENT: u64 = 35;
/// Maximum size of a span's text, as a percentage of the span's tokens.
pub const TEXT_PERCENT: u64 = 30;
/// Minimum size of a span, in tokens: in a smaller span, the frame would take up half of the text.
pub const SPAN_MIN_TOKENS: u64 = 500;

/// Whole rounds that one text can replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenSpan {
    pub first: Seq,
    pub last: Seq,
    /// Estimated number of tokens that the rounds take up in the prompt now.
    pub tokens: u64,
}

/// The minimum size of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollapseExtent {
    /// Only full-size spans. A shorter run of rounds is left until more rounds follow it.
    Full,
    /// Any rounds that are old enough, because room is needed now.
    Any,
}

/// Returns the messages in view that are not in a collapsed span.
pub fn in_view<'a>(
    history: &'a History,
    decisions: &'a Decisions,
) -> impl Iterator<Item = &'a HistoryEntry> {
    let entries = history.from(decisions.kept_from()).iter();
    entries.filter(|entry| decisions.span_of(entry.message.seq).is_none())
}

/// Returns where the view can be cut: between API rounds, and not within a collapsed span. The points are indexes into
/// `history.from(decisions.kept_from())`.
pub fn cut_points(history: &History, decisions: &Decisions) -> Vec<usize> {
    let entries = history.from(decisions.kept_from());
    let mut points = cuts::cut_points(messages(entries));
    points.retain(|point| {
        let seq = entries.get(*point).map(|entry| entry.message.seq);
        let span = seq.and_then(|seq| decisions.span_of(seq));
        span.is_none_or(|span| Some(span.first) == seq)
    });
    points
}

fn messages(entries: &[HistoryEntry]) -> impl Iterator<Item = &Message> {
    entries.iter().map(|entry| &*entry.message)
}

/// Returns the spans that have no text, oldest first. `known` are the spans that are already staged; `window` is the
/// effective window in estimated tokens.
pub fn spans_without_text(
    history: &History,
    decisions: &Decisions,
    known: &[(Seq, Seq)],
    window: u64,
    extent: CollapseExtent,
) -> Vec<OpenSpan> {
    let entries = history.from(decisions.kept_from());
    let points = cut_points(history, decisions);
    let tail = tail_start(entries, &points, decisions, window);
    let size = (window * SPAN_PERCENT / 100).max(SPAN_MIN_TOKENS);
    let (mut done, mut open) = (Vec::new(), None::<OpenSpan>);
    for pair in points.windows(2) {
        let &[from, to] = pair else { continue };
        if to > tail {
            break;
        }
        let Some(round) = round_span(&entries[from..to], decisions) else { continue };
        let taken = known.iter().any(|(first, last)| *first <= round.last && round.first <= *last)
            || decisions.span_of(round.first).is_some();
        // A giant round becomes a span of its own instead of the end of another span.
        let giant = open.is_some_and(|open| open.tokens + round.tokens > 2 * size);
        if taken || giant {
            done.extend(open.take().filter(is_large_enough));
        }
        if taken {
            continue;
        }
        let joined = open.take().map_or(round, |open| OpenSpan {
            first: open.first,
            last: round.last,
            tokens: open.tokens + round.tokens,
        });
        if joined.tokens >= size {
            done.push(joined);
        } else {
            open = Some(joined);
        }
    }
    if extent == CollapseExtent::Any {
        done.extend(open.filter(is_large_enough));
    }
    done
}

fn is_large_enough(span: &OpenSpan) -> bool {
    span.tokens >= SPAN_MIN_TOKENS
}

fn round_span(entries: &[HistoryEntry], decisions: &Decisions) -> Option<OpenSpan> {
    Some(OpenSpan {
        first: entries.first()?.message.seq,
        last: entries.last()?.message.seq,
        tokens: entries.iter().map(|entry| shown(entry, decisions)).sum(),
    })
}

/// Returns the start of the part that is never collapsed.
fn tail_start(
    entries: &[HistoryEntry],
    points: &[usize],
    decisions: &Decisions,
    window: u64,
) -> usize {
    let wanted = window * TAIL_PERCENT / 100;
    let (mut tokens, mut end) = (0, entries.len());
    for &point in points.iter().rev().filter(|point| **point < entries.len()) {
        let round = entries.get(point..end).unwrap_or_default();
        tokens += round.iter().map(|entry| shown(entry, decisions)).sum::<u64>();
        end = point;
        if tokens >= wanted {
            return point;
        }
    }
    0
}

/// Chooses `staged` spans to commit, oldest first, until they free about `wanted` estimated tokens, and returns them with the
/// number of tokens that they free. A span stays staged if this view does not show all of it, if it reaches into the newest
/// part, or if it frees nothing.
pub fn choose<'a>(
    history: &History,
    decisions: &Decisions,
    staged: impl IntoIterator<Item = &'a Collapsed>,
    window: u64,
    wanted: u64,
) -> (Vec<&'a Collapsed>, u64) {
    let entries = history.from(decisions.kept_from());
    let points = cut_points(history, decisions);
    let tail = tail_start(entries, &points, decisions, window);
    let is_cut = |seq: Seq| {
        let at = entries.partition_point(|entry| entry.message.seq < seq);
        (at <= tail && points.binary_search(&at).is_ok()).then_some(at)
    };
    let mut oldest: Vec<&Collapsed> = staged.into_iter().collect();
    oldest.sort_by_key(|span| span.first);
    let (mut chosen, mut freed, mut free_from) = (Vec::new(), 0u64, decisions.kept_from());
    for span in oldest {
        if freed >= wanted {
            break;
        }
        let (Some(from), Some(to)) = (is_cut(span.first), is_cut(span.last.next())) else {
            continue;
        };
        let covered = entries.get(from..to).unwrap_or_default();
        // The view may no longer begin where it did when the span was staged.
        let whole = covered.first().is_some_and(|entry| entry.message.seq == span.first);
        let apart = decisions.spans().iter().all(|known| !known.overlaps(span.first, span.last));
        let tokens: u64 = covered.iter().map(|entry| shown(entry, decisions)).sum();
        let gain = tokens.saturating_sub(u64::from(span.tokens));
        if whole && apart && span.first >= free_from && gain > 0 {
            free_from = span.last.next();
            freed += gain;
            chosen.push(span);
        }
    }
    (chosen, freed)
}
