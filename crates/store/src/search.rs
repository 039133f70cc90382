use std::ops::RangeInclusive;
use std::sync::LazyLock;

use bethink_transcript::{Seq, SessionId};

use crate::error::StoreFuture;
use crate::message::{SeqRange, Terms};

/// The index, made after the messages.
pub trait IndexStore {
    /// The end of the history that is not indexed yet, without a limit.
    fn unindexed(&self, id: SessionId) -> StoreFuture<'_, Option<SeqRange>>;
    /// Sessions that have such an end, at most so many.
    fn lagging(&self, limit: usize) -> StoreFuture<'_, Vec<SessionId>>;
    /// One transaction: the entries, and the mark. Done twice it is done once. Answers whether
    /// [`tidy`](Self::tidy) has something to do.
    fn index(&self, batch: IndexBatch) -> StoreFuture<'_, bool>;
    /// Where terms stand, in what is indexed: the answer tells what is not.
    fn lookup(&self, lookup: IndexLookup) -> StoreFuture<'_, TermPlaces>;
    /// Forgets what is indexed of a session: all of it is to be indexed again.
    fn reindex(&self, id: SessionId) -> StoreFuture<'_, ()>;
    /// One step of keeping the index quick to read, in transactions of a few milliseconds. Answers
    /// whether there is more to do. Broken off, it is begun again.
    fn tidy(&self) -> StoreFuture<'_, bool>;
}

/// Terms of messages that are stored: they come without, so that nobody waits for an analysis.
#[derive(Clone, Debug)]
pub struct IndexBatch {
    pub session: SessionId,
    /// In ascending order of seq. Those of messages that are indexed already are left out.
    pub entries: Vec<(Seq, Terms)>,
    /// All messages up to here count as indexed from now on, those without an entry as wordless.
    pub through: Seq,
}

/// Where to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchScope {
    Session(SessionId),
    /// Every session of this project directory.
    Project(String),
    /// Every session.
    All,
}

/// What a search asks the index: where each of these terms stands.
#[derive(Clone, Debug)]
pub struct IndexLookup {
    pub scope: SearchScope,
    pub terms: Vec<String>,
    pub families: Vec<Family>,
    /// Postings read at most, of the rarest terms first: a term whose postings do not fit any more
    /// says too little to be waited for, and is answered with `None`.
    pub most: usize,
}

/// All terms that begin alike, as one: each message once, with what it has of all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    pub start: String,
    /// The one that is looked up for itself.
    pub except: String,
    /// Shortest and longest of them, in bytes.
    pub lengths: RangeInclusive<usize>,
}

/// Where the terms stand.
#[derive(Clone, Debug, Default)]
pub struct TermPlaces {
    /// All sessions of the scope; postings name them by their place in this list.
    pub sessions: Vec<IndexedSession>,
    /// One for each term asked, in that order; each ascending by session and seq.
    pub lists: Vec<Option<Vec<Posting>>>,
    /// One for each family asked, likewise.
    pub families: Vec<Option<Vec<Posting>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedSession {
    pub session: SessionId,
    /// Indexed up to here; less than `last` where the index has to be finished first.
    pub indexed: Seq,
    pub last: Seq,
    /// Messages indexed, and their terms together.
    pub messages: u64,
    pub terms: u64,
}

/// A message that holds a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    /// Place in [`Found::sessions`].
    pub session: u32,
    pub seq: u32,
    /// How often the term stands in each field.
    pub counts: Counts,
    /// Terms in the message, coarsely: see [`length_of`](Self::length_of).
    pub length: u8,
}

/// By code: a search asks for hundreds of thousands of them.
static LENGTHS: LazyLock<[f32; 256]> = LazyLock::new(|| {
    let mut lengths = [0.0; 256];
    for (code, length) in (0..=u8::MAX).zip(&mut lengths) {
        *length = (f32::from(code) / 8.0).exp2() - 1.0;
    }
    lengths
});

impl Posting {
    /// A length in a byte, in steps of a ninth: what is ranked by it needs no more.
    pub fn length_code(terms: usize) -> u8 {
        // 32 octaves of 8 steps hold any count of terms that a message can have.
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "at most 8 * 32, and never negative"
        )]
        let code = ((terms as f32 + 1.0).log2() * 8.0).round().min(255.0) as u8;
        code
    }

    pub fn length_of(code: u8) -> f32 {
        LENGTHS[usize::from(code)]
    }
}

/// Occurrences of a term in a message by field, each counted up to [`MOST`](Self::MOST).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts(pub u8);

impl Counts {
    pub const MOST: u8 = 3;
    /// user, assistant, tool input, tool result.
    pub const FIELDS: usize = 4;

    pub fn of(self, field: usize) -> u8 {
        (self.0 >> (2 * field)) & Self::MOST
    }

    /// With those of another term of the same message.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let both = |field| (self.of(field) + other.of(field)).min(Self::MOST);
        Self((0..Self::FIELDS).fold(0, |counts, field| counts | both(field) << (2 * field)))
    }

    pub fn add(&mut self, field: usize) {
        if self.of(field) < Self::MOST {
            self.0 += 1 << (2 * field);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_stop_at_three_and_stay_in_their_field() {
        let mut counts = Counts::default();
        for field in [0, 2, 2, 3, 3, 3, 3, 3] {
            counts.add(field);
        }
        assert_eq!([0, 1, 2, 3].map(|field| counts.of(field)), [1, 0, 2, 3]);
        let both = counts.with(counts);
        assert_eq!([0, 1, 2, 3].map(|field| both.of(field)), [2, 0, 3, 3]);
    }

    #[test]
    fn a_length_comes_back_within_a_ninth() {
        assert_eq!(Posting::length_of(Posting::length_code(0)), 0.0);
        for terms in [1_usize, 7, 10, 60, 1_000, 250_000] {
            let back = Posting::length_of(Posting::length_code(terms));
            #[allow(clippy::cast_precision_loss, reason = "small numbers")]
            let wanted = terms as f32;
            assert!((back - wanted).abs() <= wanted / 9.0 + 0.1, "{terms}: {back}");
        }
    }
}
