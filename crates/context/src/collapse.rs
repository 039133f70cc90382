//! Stage 5, optional and off: context collapse. Old spans of whole API rounds are shown as one short
//! text each, which was prepared while there was time (staged) and is used when the window fills up
//! (committed).
//!
//! This is the choice of spans; what stands for one is written elsewhere, and kept with its state in a
//! store of its own. A committed span is a decision like any other: frozen once it was handed out. It
//! edits the prompt from its first message on.

use bethink_transcript::{Message, Seq, cuts};

use crate::decision::{Collapsed, Decisions};
use crate::history::{History, HistoryEntry};
use crate::usage::shown;

/// Staged spans are committed from here on, in percent of the effective window (specification, section 3).
pub const COMMIT_PERCENT: u64 = 90;
/// From here on what is not staged yet is written at once, in the same prompt (specification, section 3).
pub const BLOCK_PERCENT: u64 = 95;
/// Spans are committed until the prompt is below this: quality slips from there on, and each commit costs
/// the provider's cache, so it is to be a rare one.
pub const UNTIL_PERCENT: u64 = 70;
/// A commit frees at least this share of the effective window. One that freed less would be due again in a
/// few turns, and each costs the cache: where texts have come to fill the window, a compaction does better.
pub const WORTH_PERCENT: u64 = 10;
/// Spans are staged from here on. Before it nobody knows whether they will be needed; a window is far
/// from full when half of it is.
pub const STAGE_PERCENT: u64 = 50;
/// A span has about this share of the effective window: some rounds, so that the texts stay few, and not
/// so many that one text speaks of several tasks.
pub const SPAN_PERCENT: u64 = 6;
/// The newest messages of this share stand as they are.
pub const TAIL_PERCENT: u64 = 35;
/// What stands for a span has at most this share of its tokens.
pub const TEXT_PERCENT: u64 = 30;
/// A smaller span is not worth a text: what the text says around its facts would be half of it.
pub const SPAN_MIN_TOKENS: u64 = 500;

/// Whole rounds that one text may stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub first: Seq,
    pub last: Seq,
    /// As the prompt shows them now, estimated.
    pub tokens: u64,
}

/// How much of a stretch there has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollapseExtent {
    /// A span of full size; what is left over waits for the rounds that follow it.
    Full,
    /// Whatever is old enough: room is needed now.
    Any,
}

/// Messages of the view that stand there themselves, collapsed ones left out.
pub fn in_view<'a>(
    history: &'a History,
    decisions: &'a Decisions,
) -> impl Iterator<Item = &'a HistoryEntry> {
    let entries = history.from(decisions.kept_from()).iter();
    entries.filter(|entry| decisions.span_of(entry.message.seq).is_none())
}

/// Where the view may be cut: between API rounds, and not within a collapsed span. Places count in
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

/// Stretches that have no text yet, oldest first. `known` are those that are staged; `window` is the
/// effective window in the unit of the estimate.
pub fn stretches(
    history: &History,
    decisions: &Decisions,
    known: &[(Seq, Seq)],
    window: u64,
    extent: CollapseExtent,
) -> Vec<Stretch> {
    let entries = history.from(decisions.kept_from());
    let points = cut_points(history, decisions);
    let tail = tail_start(entries, &points, decisions, window);
    let size = (window * SPAN_PERCENT / 100).max(SPAN_MIN_TOKENS);
    let (mut done, mut open) = (Vec::new(), None::<Stretch>);
    for pair in points.windows(2) {
        let &[from, to] = pair else { continue };
        if to > tail {
            break;
        }
        let Some(round) = stretch(&entries[from..to], decisions) else { continue };
        let taken = known.iter().any(|(first, last)| *first <= round.last && round.first <= *last)
            || decisions.span_of(round.first).is_some();
        // A giant round is a span of its own rather than the end of another.
        let giant = open.is_some_and(|open| open.tokens + round.tokens > 2 * size);
        if taken || giant {
            done.extend(open.take().filter(is_worth));
        }
        if taken {
            continue;
        }
        let joined = open.take().map_or(round, |open| Stretch {
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
        done.extend(open.filter(is_worth));
    }
    done
}

fn is_worth(stretch: &Stretch) -> bool {
    stretch.tokens >= SPAN_MIN_TOKENS
}

fn stretch(entries: &[HistoryEntry], decisions: &Decisions) -> Option<Stretch> {
    Some(Stretch {
        first: entries.first()?.message.seq,
        last: entries.last()?.message.seq,
        tokens: entries.iter().map(|entry| shown(entry, decisions)).sum(),
    })
}

/// Where the part begins that stands as it is.
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

/// Spans of `staged` to commit, oldest first, until about `wanted` estimated tokens are freed, and the tokens that
/// they free. One that this view does not show whole, or that reaches into its newest part, or that frees nothing
/// stays staged.
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
        // Messages that were there when it was staged and are not now: another view.
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
