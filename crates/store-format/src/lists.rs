//! Finds where terms occur, in the pages that a store has found for them.

use bethink_store::{
    Counts, Family, IndexLookup, IndexedSession, Posting, StoreResult, TermPlaces,
};
use bethink_transcript::{Seq, SessionId};

use crate::postings::{PageEntry, can_be_kept, doc, entries, key, place, session};

/// A session of the scope, and its number in the index if it is indexed.
#[derive(Clone, Copy, Debug)]
pub struct ListedSession {
    pub number: Option<u32>,
    pub session: SessionId,
    pub indexed: Seq,
    pub last: Seq,
    pub messages: u64,
    pub terms: u64,
}

/// The sessions of a lookup.
#[derive(Clone, Debug)]
pub struct SearchedSessions {
    pub sessions: Vec<IndexedSession>,
    /// The number of each indexed session and its position in the list, sorted by number.
    numbers: Vec<(u32, u32)>,
}

impl SearchedSessions {
    pub fn new(mut listed: Vec<ListedSession>) -> Self {
        listed.sort_by_key(|one| one.number);
        let places = (0_u32..).zip(&listed);
        let numbers = places.filter_map(|(place, one)| Some((one.number?, place))).collect();
        let sessions = listed.into_iter().map(|one| {
            let ListedSession { session, indexed, last, messages, terms, .. } = one;
            IndexedSession { session, indexed, last, messages, terms }
        });
        Self { sessions: sessions.collect(), numbers }
    }

    /// Returns the first and the last number; `None` if no session is indexed.
    pub fn range(&self) -> Option<(u32, u32)> {
        self.numbers.first().zip(self.numbers.last()).map(|(first, last)| (first.0, last.0))
    }

    /// Returns the result of a lookup that finds nothing.
    pub fn nothing(self, lookup: &IndexLookup) -> TermPlaces {
        let nothing = |count| vec![Some(Vec::new()); count];
        let (lists, families) = (nothing(lookup.terms.len()), nothing(lookup.families.len()));
        TermPlaces { sessions: self.sessions, lists, families }
    }
}

/// Returns the first and the last possible key of each term, followed by those of each family.
pub fn key_ranges(lookup: &IndexLookup, (first, last): (u32, u32)) -> Vec<[Vec<u8>; 2]> {
    let nothing = || [vec![0], Vec::new()];
    let terms = lookup.terms.iter().map(|term| match can_be_kept(term) {
        true => [doc(first, 0), doc(last, u32::MAX)].map(|doc| key(term.as_bytes(), doc)),
        false => nothing(),
    });
    // No byte of a term is this large.
    let families = lookup.families.iter().map(|family| match can_be_kept(&family.start) {
        true => [family.start.as_bytes().to_vec(), [family.start.as_bytes(), &[0xff]].concat()],
        false => nothing(),
    });
    terms.chain(families).collect()
}

type List = Option<Vec<Posting>>;

/// Reads the postings of terms and of families. Each page comes with the index of the key range that it was found for.
pub fn read_lists(
    lookup: &IndexLookup,
    pages: &[(usize, Vec<u8>)],
    searched: SearchedSessions,
) -> StoreResult<TermPlaces> {
    let terms = lookup.terms.len();
    let mut found: Vec<Vec<PageEntry<'_>>> = vec![Vec::new(); terms + lookup.families.len()];
    for (at, body) in pages {
        let at = *at;
        for entry in entries(body) {
            let entry = entry?;
            let wanted = match at.checked_sub(terms) {
                None => entry.term == lookup.terms[at].as_bytes(),
                Some(family) => is_in(&lookup.families[family], entry.term),
            };
            if wanted {
                found[at].push(entry);
            }
        }
    }
    let size = |entries: &[PageEntry<'_>]| entries.iter().map(|entry| entry.count).sum::<usize>();
    let mut rarest: Vec<usize> = (0..found.len()).collect();
    rarest.sort_by_key(|at| (size(&found[*at]), *at));
    let places = SessionPlaces::new(&searched.numbers);
    let mut lists: Vec<List> = vec![None; found.len()];
    let mut left = lookup.most;
    for at in rarest {
        let Some(rest) = left.checked_sub(size(&found[at])) else { break };
        left = rest;
        lists[at] = Some(read_list(&found[at], &places)?);
    }
    let families = lists.split_off(terms);
    Ok(TermPlaces { sessions: searched.sessions, lists, families })
}

fn is_in(family: &Family, term: &[u8]) -> bool {
    term.starts_with(family.start.as_bytes())
        && term != family.except.as_bytes()
        && family.lengths.contains(&term.len())
}

/// Positions of sessions in the scope, by their number in the index.
struct SessionPlaces {
    first: u32,
    /// `None` for a session outside the scope.
    by_number: Vec<Option<u32>>,
}

impl SessionPlaces {
    /// Creates an array rather than a map, because a session is looked up for every posting.
    fn new(numbers: &[(u32, u32)]) -> Self {
        let first = numbers.first().map_or(0, |number| number.0);
        let count = numbers.last().map_or(0, |last| (last.0 - first) as usize + 1);
        let mut by_number = vec![None; count];
        for (number, place) in numbers {
            by_number[(number - first) as usize] = Some(*place);
        }
        Self { first, by_number }
    }

    fn of(&self, number: u32) -> Option<u32> {
        let at = number.checked_sub(self.first)?;
        self.by_number.get(at as usize).copied().flatten()
    }
}

/// Returns the postings of sessions in `places`, in that order.
fn read_list(entries: &[PageEntry<'_>], places: &SessionPlaces) -> StoreResult<Vec<Posting>> {
    let mut list = Vec::with_capacity(entries.iter().map(|entry| entry.count).sum());
    for entry in entries {
        entry.read(|occurrence| {
            if let Some(session) = places.of(session(occurrence.doc)) {
                list.push(Posting {
                    session,
                    seq: place(occurrence.doc),
                    counts: Counts(occurrence.counts),
                    length: occurrence.length,
                });
            }
        })?;
    }
    // Sorts by position in the scope. Mostly sorted already, because segments are in chronological order.
    list.sort_by_key(|posting| (posting.session, posting.seq));
    // The terms of a family may occur in the same message.
    list.dedup_by(|next, kept| {
        let same = (next.session, next.seq) == (kept.session, kept.seq);
        if same {
            kept.counts = kept.counts.with(next.counts);
        }
        same
    });
    Ok(list)
}
