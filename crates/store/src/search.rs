use std::ops::RangeInclusive;
use std::sync::LazyLock;

use bethink_transcript::{Seq, SessionId};

use crate::error::StoreFuture;
use crate::message::{SeqRange, Terms};
use crate::session::SessionLocation;

/// The index, which is updated after the messages are stored.
pub trait IndexStore {
    /// Returns all messages at the end of the history that are not indexed yet.
    fn unindexed(&self, id: SessionId) -> StoreFuture<'_, Option<SeqRange>>;
    /// Returns sessions with messages that are not indexed yet, up to a limit.
    fn lagging(&self, limit: usize) -> StoreFuture<'_, Vec<SessionId>>;
    /// In one transaction, adds the entries and records how far the session is indexed. Idempotent. Returns whether
    /// [`tidy`](Self::tidy) has something to do.
    fn index(&self, batch: IndexBatch) -> StoreFuture<'_, bool>;
    /// Returns where terms occur in the indexed messages, and how far each session is indexed.
    fn lookup(&self, lookup: IndexLookup) -> StoreFuture<'_, TermPlaces>;
    /// Removes a session from the index, so that all of it is indexed again.
    fn reindex(&self, id: SessionId) -> StoreFuture<'_, ()>;
    /// Optimizes the index by one step, in transactions of a few milliseconds. Returns whether there is more to do. An
    /// interrupted step starts again.
    fn tidy(&self) -> StoreFuture<'_, bool>;
}

/// The terms of stored messages. Messages are stored without terms, so that an append does not wait for the analysis.
#[derive(Clone, Debug)]
pub struct IndexBatch {
    pub session: SessionId,
    /// The terms of each message, in ascending order of seq. Messages that are already indexed are skipped.
    pub entries: Vec<(Seq, Terms)>,
    /// All messages up to this one count as indexed from now on; those without an entry have no terms.
    pub through: Seq,
}

/// The sessions to search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchScope {
    Session(SessionId),
    /// Every session that began there.
    Location(SessionLocation),
    /// Every session.
    All,
}

/// A query to the index: where each of these terms occurs.
#[derive(Clone, Debug)]
pub struct IndexLookup {
    pub scope: SearchScope,
    pub terms: Vec<String>,
    pub families: Vec<Family>,
    /// Terms that are only looked up in sessions in which one of the terms above or of the families occurs.
    pub marks: Vec<String>,
    /// Maximum number of postings to read, rarest terms first. A term whose postings do not fit is too common to be useful and gets
    /// `None`.
    pub most: usize,
}

/// One in this many postings that are read may be one of a mark. Marks help to rank, but in a large history most of them are far
/// from any term.
const MARKS: usize = 4;

impl IndexLookup {
    /// Maximum number of postings of terms and families.
    pub fn most_terms(&self) -> usize {
        self.most - self.most_marks()
    }

    /// Maximum number of postings of marks.
    pub fn most_marks(&self) -> usize {
        if self.marks.is_empty() { 0 } else { self.most / MARKS }
    }
}

/// All terms with the same beginning, counted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    pub start: String,
    /// A term that is left out, because it is looked up separately.
    pub except: String,
    /// Minimum and maximum length of the terms, in bytes.
    pub lengths: RangeInclusive<usize>,
}

/// The result of a lookup: where the terms occur.
#[derive(Clone, Debug, Default)]
pub struct TermPlaces {
    /// All sessions of the scope; postings refer to them by their index in this list.
    pub sessions: Vec<IndexedSession>,
    /// The postings of each requested term, in the order of the request, each sorted by session and seq.
    pub lists: Vec<Option<Vec<Posting>>>,
    /// The postings of each requested family.
    pub families: Vec<Option<Vec<Posting>>>,
    /// The postings of each requested mark.
    pub marks: Vec<Option<Vec<Posting>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedSession {
    pub session: SessionId,
    /// The last indexed message; before `last` if the index is not complete.
    pub indexed: Seq,
    pub last: Seq,
    /// Number of indexed messages.
    pub messages: u64,
    /// Number of terms in the indexed messages.
    pub terms: u64,
}

/// A message that contains a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    /// Index in [`TermPlaces::sessions`].
    pub session: u32,
    pub seq: u32,
    /// How often the term occurs in each field.
    pub counts: Counts,
    /// The approximate number of terms in the message, as a code for [`length_of`](Self::length_of).
    pub length: u8,
}

/// Lengths by code, precomputed because a search looks up hundreds of thousands of lengths.
static LENGTHS: LazyLock<[f32; 256]> = LazyLock::new(|| {
    let mut lengths = [0.0; 256];
    for (code, length) in (0..=u8::MAX).zip(&mut lengths) {
        *length = (f32::from(code) / 8.0).exp2() - 1.0;
    }
    lengths
});

impl Posting {
    /// Encodes a length as a byte, in steps of about 9%, which is precise enough for ranking.
    pub fn length_code(terms: usize) -> u8 {
        // 32 octaves of 8 steps cover any number of terms that a message can have.
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

/// How often a term occurs in each field of a message, counted up to [`MOST`](Self::MOST).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts(pub u8);

impl Counts {
    pub const MOST: u8 = 3;
    /// Number of fields: user, assistant, tool input, tool result.
    pub const FIELDS: usize = 4;

    pub fn of(self, field: usize) -> u8 {
        (self.0 >> (2 * field)) & Self::MOST
    }

    /// Returns the sum of these counts and those of another term in the same message.
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
