//! Stage 5, optional and off: context collapse. Old spans of whole API rounds are shown as one short
//! text each, which was prepared while there was time (staged) and is used when the window fills up
//! (committed).
//!
//! This is the choice of spans; what stands for one is written elsewhere, and kept with its state in a
//! store of its own. A committed span is a decision like any other: frozen once it was handed out. It
//! edits the prompt from its first message on.

use bethink_transcript::{CollapseId, Message, Seq, cuts};
use serde::{Deserialize, Serialize};

use crate::decision::Decisions;
use crate::history::{Entry, History};
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

/// A span that is shown as `text`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collapsed {
    pub id: CollapseId,
    pub first: Seq,
    pub last: Seq,
    pub text: String,
    pub tokens: u32,
    /// Newest message when it was committed.
    pub made_after: Seq,
}

impl Collapsed {
    pub fn overlaps(&self, first: Seq, last: Seq) -> bool {
        self.first <= last && first <= self.last
    }
}

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
pub enum Extent {
    /// A span of full size; what is left over waits for the rounds that follow it.
    Full,
    /// Whatever is old enough: room is needed now.
    Any,
}

/// Messages of the view that stand there themselves, collapsed ones left out.
pub fn in_view<'a>(
    history: &'a History,
    decisions: &'a Decisions,
) -> impl Iterator<Item = &'a Entry> {
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

fn messages(entries: &[Entry]) -> impl Iterator<Item = &Message> {
    entries.iter().map(|entry| &*entry.message)
}

/// Stretches that have no text yet, oldest first. `known` are those that are staged; `window` is the
/// effective window in the unit of the estimate.
pub fn stretches(
    history: &History,
    decisions: &Decisions,
    known: &[(Seq, Seq)],
    window: u64,
    extent: Extent,
) -> Vec<Stretch> {
    let entries = history.from(decisions.kept_from());
    let points = cut_points(history, decisions);
    let tail = tail_start(entries, &points, decisions, window);
    let mut rounds = Grouping::new(window, extent);
    for pair in points.windows(2) {
        let &[from, to] = pair else { continue };
        if to > tail {
            break;
        }
        let round = entries.get(from..to).unwrap_or_default();
        let Some(stretch) = stretch(round, decisions) else { continue };
        let taken =
            known.iter().any(|(first, last)| *first <= stretch.last && stretch.first <= *last)
                || decisions.span_of(stretch.first).is_some();
        match taken {
            true => rounds.gap(),
            false => rounds.add(stretch),
        }
    }
    rounds.finish()
}

fn stretch(entries: &[Entry], decisions: &Decisions) -> Option<Stretch> {
    Some(Stretch {
        first: entries.first()?.message.seq,
        last: entries.last()?.message.seq,
        tokens: entries.iter().map(|entry| shown(entry, decisions)).sum(),
    })
}

/// Where the part begins that stands as it is.
fn tail_start(entries: &[Entry], points: &[usize], decisions: &Decisions, window: u64) -> usize {
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

/// Puts rounds together until they are a span.
struct Grouping {
    size: u64,
    extent: Extent,
    open: Option<Stretch>,
    done: Vec<Stretch>,
}

impl Grouping {
    fn new(window: u64, extent: Extent) -> Self {
        let size = (window * SPAN_PERCENT / 100).max(SPAN_MIN_TOKENS);
        Self { size, extent, open: None, done: Vec::new() }
    }

    fn add(&mut self, round: Stretch) {
        // A giant round is a span of its own rather than the end of another.
        let giant = self.open.is_some_and(|open| open.tokens + round.tokens > 2 * self.size);
        if giant {
            self.gap();
        }
        let open = match self.open.take() {
            Some(open) => {
                Stretch { first: open.first, last: round.last, tokens: open.tokens + round.tokens }
            }
            None => round,
        };
        if open.tokens >= self.size {
            self.done.push(open);
        } else {
            self.open = Some(open);
        }
    }

    /// Nothing can join what is open.
    fn gap(&mut self) {
        if let Some(open) = self.open.take().filter(|open| open.tokens >= SPAN_MIN_TOKENS) {
            self.done.push(open);
        }
    }

    fn finish(mut self) -> Vec<Stretch> {
        if self.extent == Extent::Any {
            self.gap();
        }
        self.done
    }
}

/// How many of the staged spans are committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// So many that about so many estimated tokens are freed.
    Free(u64),
    /// All that can be.
    All,
}

/// Spans of `staged` to commit, oldest first, and the tokens that they free. One that this view does not
/// show whole, or that reaches into its newest part, or that frees nothing stays staged.
pub fn choose<'a>(
    history: &History,
    decisions: &Decisions,
    staged: &'a [Collapsed],
    window: u64,
    wanted: Wanted,
) -> (Vec<&'a Collapsed>, u64) {
    let entries = history.from(decisions.kept_from());
    let points = cut_points(history, decisions);
    let tail = tail_start(entries, &points, decisions, window);
    let is_cut = |seq: Seq| {
        let at = entries.partition_point(|entry| entry.message.seq < seq);
        (at <= tail && points.binary_search(&at).is_ok()).then_some(at)
    };
    let mut oldest: Vec<&Collapsed> = staged.iter().collect();
    oldest.sort_by_key(|span| span.first);
    let (mut chosen, mut freed, mut free_from) = (Vec::new(), 0u64, decisions.kept_from());
    for span in oldest {
        if matches!(wanted, Wanted::Free(tokens) if freed >= tokens) {
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
