//! Finds where terms occur, in the pages that a store has found for them.

use bethink_store::{
    Counts, Family, IndexLookup, IndexedSession, Posting, StoreResult, TermPlaces,
};
use bethink_transcript::{Seq, SessionId};

use crate::postings::{PageEntry, can_be_kept, doc, entries, key, place, session};

/// Maximum number of runs of neighboring sessions in which each mark is looked up separately.
const MOST_RANGES: usize = 16;

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
        TermPlaces {
            sessions: self.sessions,
            lists: nothing(lookup.terms.len()),
            families: nothing(lookup.families.len()),
            marks: nothing(lookup.marks.len()),
        }
    }
}

/// The first and the last possible key of postings for a list, in sessions with numbers from the first to the last. The list is
/// named by its position: terms come before families.
#[derive(Clone, Debug)]
pub struct KeyRange {
    pub list: usize,
    pub sessions: (u32, u32),
    pub low: Vec<u8>,
    pub high: Vec<u8>,
}

/// A page that was found for a list; `None` if the list has too many of them to read.
pub type FoundPage = (usize, Option<Vec<u8>>);

/// Returns the ranges of terms and families, for sessions with numbers from the first to the last.
pub fn key_ranges(lookup: &IndexLookup, sessions: (u32, u32)) -> Vec<KeyRange> {
    let terms = lookup.terms.iter().map(|term| term_range(term, sessions));
    // No byte of a term is this large.
    let families = lookup.families.iter().map(|Family { start, .. }| {
        can_be_kept(start)
            .then(|| [start.as_bytes().to_vec(), [start.as_bytes(), &[0xff]].concat()])
    });
    let ranges = (0..).zip(terms.chain(families));
    let range = |(list, range): (usize, Option<[Vec<u8>; 2]>)| {
        range.map(|[low, high]| KeyRange { list, sessions, low, high })
    };
    ranges.filter_map(range).collect()
}

fn term_range(term: &str, (first, last): (u32, u32)) -> Option<[Vec<u8>; 2]> {
    let ends = [doc(first, 0), doc(last, u32::MAX)];
    can_be_kept(term).then(|| ends.map(|doc| key(term.as_bytes(), doc)))
}

type List = Option<Vec<Posting>>;

/// The postings of terms and families. Those of marks are read next, in the sessions in which they occur.
#[derive(Debug)]
pub struct FoundTerms {
    searched: SearchedSessions,
    lists: Vec<List>,
}

impl FoundTerms {
    /// Reads the pages that were found for [`key_ranges`].
    pub fn read(
        lookup: &IndexLookup,
        pages: &[FoundPage],
        mut searched: SearchedSessions,
    ) -> StoreResult<Self> {
        let IndexLookup { terms, families, .. } = lookup;
        let is_wanted = |list: usize, term: &[u8]| match list.checked_sub(terms.len()) {
            None => term == terms[list].as_bytes(),
            Some(family) => is_in(&families[family], term),
        };
        let count = terms.len() + families.len();
        let most = lookup.most_terms();
        let lists = read_lists(count, is_wanted, pages, &searched.numbers, most)?;
        let mut occurs = vec![false; searched.sessions.len()];
        for posting in lists.iter().flatten().flatten() {
            occurs[posting.session as usize] = true;
        }
        searched.numbers.retain(|(_, place)| occurs[*place as usize]);
        Ok(Self { searched, lists })
    }

    /// Returns the key ranges of the marks: one for each run of sessions if there are few, otherwise one from the first session to the
    /// last.
    pub fn mark_ranges(&self, lookup: &IndexLookup) -> Vec<KeyRange> {
        let Some(all) = self.searched.range() else { return Vec::new() };
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for (number, _) in &self.searched.numbers {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == *number => *last = *number,
                _ => runs.push((*number, *number)),
            }
        }
        if runs.len() > MOST_RANGES {
            runs = vec![all];
        }
        let marks = (0..).zip(&lookup.marks);
        let ranges = marks.flat_map(|(list, mark)| {
            runs.iter().filter_map(move |sessions| {
                let [low, high] = term_range(mark, *sessions)?;
                Some(KeyRange { list, sessions: *sessions, low, high })
            })
        });
        ranges.collect()
    }

    /// Reads the pages that were found for [`mark_ranges`](Self::mark_ranges).
    pub fn with_marks(self, lookup: &IndexLookup, pages: &[FoundPage]) -> StoreResult<TermPlaces> {
        let Self { searched, mut lists } = self;
        let is_wanted = |list: usize, term: &[u8]| term == lookup.marks[list].as_bytes();
        let count = lookup.marks.len();
        let most = lookup.most_marks();
        let marks = read_lists(count, is_wanted, pages, &searched.numbers, most)?;
        let families = lists.split_off(lookup.terms.len());
        Ok(TermPlaces { sessions: searched.sessions, lists, families, marks })
    }
}

/// Reads the postings of each list in sessions with these numbers, rarest lists first.
fn read_lists(
    count: usize,
    is_wanted: impl Fn(usize, &[u8]) -> bool,
    pages: &[FoundPage],
    numbers: &[(u32, u32)],
    most: usize,
) -> StoreResult<Vec<List>> {
    let mut found: Vec<Vec<PageEntry<'_>>> = vec![Vec::new(); count];
    let mut rarest: Vec<usize> = (0..count).collect();
    for (list, body) in pages {
        let list = *list;
        let Some(body) = body else {
            rarest.retain(|one| *one != list);
            continue;
        };
        for entry in entries(body) {
            let entry = entry?;
            if is_wanted(list, entry.term) {
                found[list].push(entry);
            }
        }
    }
    for entries in &mut found {
        // Segments are found in any order, but mostly have different sessions.
        entries.sort_by_key(|entry| (entry.first(), entry.term));
        // A page may have been found for two ranges.
        entries.dedup_by_key(|entry| (entry.first(), entry.term));
    }
    let size = |entries: &[PageEntry<'_>]| entries.iter().map(|entry| entry.count).sum::<usize>();
    rarest.sort_by_key(|list| (size(&found[*list]), *list));
    let places = SessionLocations::new(numbers);
    let mut lists: Vec<List> = vec![None; count];
    let mut left = most;
    for list in rarest {
        let Some(rest) = left.checked_sub(size(&found[list])) else { break };
        left = rest;
        lists[list] = Some(read_list(&found[list], &places)?);
    }
    Ok(lists)
}

fn is_in(family: &Family, term: &[u8]) -> bool {
    term.starts_with(family.start.as_bytes())
        && term != family.except.as_bytes()
        && family.lengths.contains(&term.len())
}

/// Positions of sessions in the scope, by their number in the index.
struct SessionLocations {
    first: u32,
    /// `None` for a session outside the scope.
    by_number: Vec<Option<u32>>,
}

impl SessionLocations {
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
fn read_list(entries: &[PageEntry<'_>], places: &SessionLocations) -> StoreResult<Vec<Posting>> {
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
    Ok(sorted_postings(list))
}

/// Sorts a list by session and seq. It is mostly sorted already, because segments are in chronological order.
pub fn sorted_postings(mut list: Vec<Posting>) -> Vec<Posting> {
    list.sort_by_key(|posting| (posting.session, posting.seq));
    // The terms of a family may occur in the same message.
    list.dedup_by(|next, kept| {
        let same = (next.session, next.seq) == (kept.session, kept.seq);
        if same {
            kept.counts = kept.counts.with(next.counts);
        }
        same
    });
    list
}
