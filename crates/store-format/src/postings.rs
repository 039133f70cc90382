//! The format of postings in pages.
//!
//! A page is a sequence of entries: the length of the term, the term, the number of postings, their length in bytes,
//! and the postings. A posting is the distance from the previous one (for the first one, from zero), its counts and its
//! length code. Lengths and distances are stored with 7 bits per byte, the lowest bits first.

use std::collections::BTreeMap;

use bethink_store::{StoreError, StoreResult};

/// Maximum size of a body, in bytes. Together with its key, a body fits into a leaf of the table, so it needs no
/// overflow page.
const BODY_BYTES: usize = 3_900;
/// Size of an entry's postings, in bytes, at which no more postings are added. The entry fits into a body even with the
/// longest term.
const ENTRY_BYTES: usize = 3_600;
/// Approximate number of postings in a page that a common term fills. A posting that is at least 128 messages after the previous one
/// takes 4 bytes.
pub const POSTINGS_OF_PAGE: usize = ENTRY_BYTES / 4;
/// Maximum length of a term, in bytes.
const TERM_BYTES: usize = 220;

/// A message: the number of its session in the upper half, and its seq in the lower half.
pub(crate) type Doc = u64;

pub(crate) fn doc(session: u32, seq: u32) -> Doc {
    (u64::from(session) << 32) | u64::from(seq)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredOccurrence {
    pub(crate) doc: Doc,
    pub(crate) counts: u8,
    pub(crate) length: u8,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostingPage {
    pub first: Vec<u8>,
    pub body: Vec<u8>,
}

/// Returns the sort key of a term's posting for this message.
pub(crate) fn key(term: &[u8], doc: Doc) -> Vec<u8> {
    let mut key = Vec::with_capacity(term.len() + 9);
    key.extend_from_slice(term);
    key.push(0);
    key.extend_from_slice(&doc.to_be_bytes());
    key
}

/// Returns whether a term can be indexed. It must not contain a zero byte, which ends a term in a key.
pub(crate) fn can_be_kept(term: &str) -> bool {
    !term.is_empty() && term.len() <= TERM_BYTES && !term.as_bytes().contains(&0)
}

/// Builds pages from terms in ascending order.
#[derive(Debug, Default)]
pub(crate) struct PostingWriter {
    pages: Vec<PostingPage>,
    open: Option<PostingPage>,
}

impl PostingWriter {
    /// Adds a term; `occurrences` must be in ascending order.
    pub(crate) fn add(&mut self, term: &[u8], occurrences: &[StoredOccurrence]) {
        let mut rest = occurrences;
        while let Some(first) = rest.first() {
            let mut bytes = Vec::new();
            let (mut before, mut taken) = (0, 0);
            for occurrence in rest {
                if bytes.len() >= ENTRY_BYTES {
                    break;
                }
                push_number(&mut bytes, occurrence.doc - before);
                bytes.extend_from_slice(&[occurrence.counts, occurrence.length]);
                before = occurrence.doc;
                taken += 1;
            }
            self.push(term, first.doc, taken, &bytes);
            rest = &rest[taken..];
        }
    }

    fn push(&mut self, term: &[u8], first: Doc, count: usize, bytes: &[u8]) {
        let mut entry = Vec::with_capacity(term.len() + bytes.len() + 8);
        push_number(&mut entry, term.len() as u64);
        entry.extend_from_slice(term);
        push_number(&mut entry, count as u64);
        push_number(&mut entry, bytes.len() as u64);
        entry.extend_from_slice(bytes);
        match &mut self.open {
            Some(page) if page.body.len() + entry.len() <= BODY_BYTES => {
                page.body.extend_from_slice(&entry);
            }
            open => {
                let page = PostingPage { first: key(term, first), body: entry };
                self.pages.extend(open.replace(page));
            }
        }
    }

    pub(crate) fn finish(mut self) -> Vec<PostingPage> {
        self.pages.extend(self.open.take());
        self.pages
    }
}

/// An entry of a page. Its postings are not decoded yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageEntry<'a> {
    pub(crate) term: &'a [u8],
    pub(crate) count: usize,
    bytes: &'a [u8],
}

/// Iterates over the entries of a body, in order.
pub(crate) fn entries(body: &[u8]) -> impl Iterator<Item = StoreResult<PageEntry<'_>>> {
    let mut rest = body;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let entry = read_entry(&mut rest);
        if entry.is_none() {
            rest = &[];
        }
        Some(entry.ok_or_else(unreadable))
    })
}

fn read_entry<'a>(rest: &mut &'a [u8]) -> Option<PageEntry<'a>> {
    let term = take_counted(rest)?;
    let count = usize::try_from(take_number(rest)?).ok()?;
    let bytes = take_counted(rest)?;
    Some(PageEntry { term, count, bytes })
}

impl PageEntry<'_> {
    /// Returns the first message; zero if it is unreadable.
    pub(crate) fn first(&self) -> Doc {
        take_number(&mut &*self.bytes).unwrap_or_default()
    }

    /// Adds the postings to `to`, in ascending order.
    pub(crate) fn read(&self, mut to: impl FnMut(StoredOccurrence)) -> StoreResult<()> {
        let (mut rest, mut doc) = (self.bytes, 0_u64);
        for _ in 0..self.count {
            let step = take_number(&mut rest).ok_or_else(unreadable)?;
            let (&[counts, length], after) = rest.split_first_chunk().ok_or_else(unreadable)?;
            doc = doc.checked_add(step).ok_or_else(unreadable)?;
            to(StoredOccurrence { doc, counts, length });
            rest = after;
        }
        Ok(())
    }
}

/// Merges the postings of several segments, without those of deleted sessions.
pub fn merge(
    segments: &[Vec<Vec<u8>>],
    is_kept: impl Fn(u32) -> bool,
) -> StoreResult<Vec<PostingPage>> {
    let mut terms: BTreeMap<&[u8], Vec<PageEntry<'_>>> = BTreeMap::new();
    for entry in segments.iter().flatten().flat_map(|body| entries(body)) {
        let entry = entry?;
        terms.entry(entry.term).or_default().push(entry);
    }
    let mut writer = PostingWriter::default();
    let mut occurrences = Vec::new();
    for (term, entries) in terms {
        occurrences.clear();
        for entry in entries {
            entry.read(|occurrence| {
                if is_kept(session(occurrence.doc)) {
                    occurrences.push(occurrence);
                }
            })?;
        }
        // Segments are in order of time, so this is nearly always sorted already.
        occurrences.sort_by_key(|occurrence| occurrence.doc);
        writer.add(term, &occurrences);
    }
    Ok(writer.finish())
}

#[allow(clippy::cast_possible_truncation, reason = "the upper half of 64 bits")]
pub(crate) fn session(doc: Doc) -> u32 {
    (doc >> 32) as u32
}

#[allow(clippy::cast_possible_truncation, reason = "the lower half of 64 bits")]
pub(crate) fn place(doc: Doc) -> u32 {
    doc as u32
}

fn unreadable() -> StoreError {
    StoreError::Damaged("a page of the search index is unreadable".into())
}

fn push_number(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    to.push(number.to_le_bytes()[0]);
}

fn take_number(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn take_counted<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(take_number(from)?).ok()?;
    let (bytes, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(session: u32, seq: u32) -> StoredOccurrence {
        StoredOccurrence { doc: doc(session, seq), counts: 1, length: 9 }
    }

    fn pages(terms: &[(&str, Vec<StoredOccurrence>)]) -> Vec<PostingPage> {
        let mut writer = PostingWriter::default();
        for (term, occurrences) in terms {
            writer.add(term.as_bytes(), occurrences);
        }
        writer.finish()
    }

    fn bodies(pages: Vec<PostingPage>) -> Vec<Vec<u8>> {
        pages.into_iter().map(|page| page.body).collect()
    }

    fn read(bodies: &[Vec<u8>], term: &str) -> Vec<StoredOccurrence> {
        let mut found = Vec::new();
        for entry in bodies.iter().flat_map(|body| entries(body)) {
            let entry = entry.unwrap();
            if entry.term == term.as_bytes() {
                entry.read(|occurrence| found.push(occurrence)).unwrap();
            }
        }
        found
    }

    #[test]
    fn what_is_written_is_read() {
        let many: Vec<_> = (1..20_000).map(|seq| at(3, seq * 7)).collect();
        let pages = pages(&[
            ("apple", vec![at(1, 5), at(2, 1)]),
            ("common", many.clone()),
            ("zoo", vec![at(u32::MAX, u32::MAX)]),
        ]);
        assert!(pages.iter().all(|page| page.body.len() <= BODY_BYTES));
        assert!(pages.is_sorted_by_key(|page| page.first.clone()));
        let bodies = bodies(pages);
        assert_eq!(read(&bodies, "apple"), [at(1, 5), at(2, 1)]);
        assert_eq!(read(&bodies, "common"), many);
        assert_eq!(read(&bodies, "zoo"), [at(u32::MAX, u32::MAX)]);
        assert_eq!(read(&bodies, "comm"), []);
    }

    #[test]
    fn a_merge_keeps_order_and_leaves_out_what_is_gone() {
        let one = bodies(pages(&[("a", vec![at(1, 1), at(3, 1)]), ("b", vec![at(3, 1)])]));
        let two = bodies(pages(&[("a", vec![at(2, 9), at(3, 2)]), ("c", vec![at(2, 9)])]));
        let merged = bodies(merge(&[one, two], |session| session != 2).unwrap());
        assert_eq!(read(&merged, "a"), [at(1, 1), at(3, 1), at(3, 2)]);
        assert_eq!(read(&merged, "b"), [at(3, 1)]);
        assert_eq!(read(&merged, "c"), []);
    }

    #[test]
    fn a_spoiled_body_is_an_error_and_nothing_worse() {
        let body = bodies(pages(&[("apple", vec![at(1, 5), at(2, 1)])])).remove(0);
        for cut in 0..body.len() {
            for flip in [0x00, 0x80, 0xff] {
                let mut spoiled = body[..cut].to_vec();
                spoiled.extend([flip; 12]);
                for entry in entries(&spoiled) {
                    let Ok(entry) = entry else { break };
                    let _ = entry.read(|_| ());
                }
            }
        }
        assert!(entries(&body[..body.len() - 1]).any(|entry| entry.is_err()));
    }
}
