//! A batch of messages for the index, sorted by term.

use std::collections::BTreeMap;

use bethink_store::{Counts, IndexBatch, Posting, Terms};
use bethink_transcript::{Seq, SessionId};

use crate::postings::{PostingPage, PostingWriter, StoredOccurrence, can_be_kept, doc};

/// Sorting takes long, so it is done before the transaction.
#[derive(Debug)]
pub struct SortedBatch {
    pub session: SessionId,
    pub through: Seq,
    /// Seq and number of terms of each message.
    lengths: Vec<(u32, u64)>,
    terms: BTreeMap<String, Vec<(u32, Counts, u8)>>,
}

impl SortedBatch {
    pub fn new(batch: IndexBatch) -> Self {
        let IndexBatch { session, entries, through } = batch;
        let mut sorted = Self { session, through, lengths: Vec::new(), terms: BTreeMap::new() };
        for (seq, terms) in &entries {
            // Postings have 32 bits for it; no session has four billion messages.
            if let Ok(seq) = u32::try_from(seq.0) {
                sorted.add_message(seq, terms);
            }
        }
        sorted
    }

    fn add_message(&mut self, seq: u32, terms: &Terms) {
        let fields = [&terms.user, &terms.assistant, &terms.tool_input, &terms.tool_result];
        let length = fields.iter().map(|field| field.split_ascii_whitespace().count()).sum();
        let code = Posting::length_code(length);
        let mut count = |term: &str, field: Option<usize>| {
            if !can_be_kept(term) {
                return;
            }
            if !self.terms.contains_key(term) {
                self.terms.insert(term.to_owned(), Vec::new());
            }
            let Some(places) = self.terms.get_mut(term) else { return };
            if places.last().is_none_or(|(last, ..)| *last != seq) {
                places.push((seq, Counts::default(), code));
            }
            if let (Some(field), Some((_, counts, _))) = (field, places.last_mut()) {
                counts.add(field);
            }
        };
        for (field, terms) in fields.into_iter().enumerate() {
            terms.split_ascii_whitespace().for_each(|term| count(term, Some(field)));
        }
        terms.marks.split_ascii_whitespace().for_each(|term| count(term, None));
        self.lengths.push((seq, length as u64));
    }

    /// Returns how many messages, and how many terms in them, are new in a session that is indexed up to `indexed`, and
    /// whose last message is `last`.
    pub fn new_counts(&self, indexed: Seq, last: Seq) -> (u64, u64) {
        let new = self.lengths.iter().filter(|(place, _)| self.is_new(*place, indexed, last));
        new.fold((0, 0), |(messages, terms), (_, length)| (messages + 1, terms + length))
    }

    /// Returns the postings of the new messages. `number` stands for the session.
    pub fn pages(&self, number: u32, indexed: Seq, last: Seq) -> Vec<PostingPage> {
        let mut postings = PostingWriter::default();
        for (term, places) in &self.terms {
            let new = places.iter().filter(|(place, ..)| self.is_new(*place, indexed, last));
            let occurrences: Vec<_> = new
                .map(|(place, counts, length)| StoredOccurrence {
                    doc: doc(number, *place),
                    counts: counts.0,
                    length: *length,
                })
                .collect();
            postings.add(term.as_bytes(), &occurrences);
        }
        postings.finish()
    }

    /// Returns the places of each term, in order of term and of seq, in a session whose index is not used.
    pub fn places(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = Posting>)> {
        self.terms.iter().map(|(term, places)| {
            let posting = |(seq, counts, length): &(u32, Counts, u8)| Posting {
                session: 0,
                seq: *seq,
                counts: *counts,
                length: *length,
            };
            (term.as_str(), places.iter().map(posting))
        })
    }

    fn is_new(&self, place: u32, indexed: Seq, last: Seq) -> bool {
        let place = Seq(u64::from(place));
        indexed < place && place <= last.min(self.through)
    }
}
