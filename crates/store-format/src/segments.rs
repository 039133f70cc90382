//! Segments of the index: when they are merged.

/// Number of segments of one size that are merged into one of the next size. If this number were larger, a search would
/// read more segments; if it were smaller, postings would be rewritten more often.
const FAN: usize = 8;
/// Maximum size of a segment, in pages (32 MiB). A merge holds one such segment in memory.
const MOST_PAGES: u64 = 8_192;

/// A part of the index, which is written once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSegment {
    pub number: i64,
    pub pages: u64,
    pub stale: bool,
    pub first_session: i64,
    pub last_session: i64,
}

impl IndexSegment {
    /// Returns the size class, which is the logarithm of the size to base `FAN`.
    fn class(&self) -> u32 {
        self.pages.max(1).ilog(FAN as u64)
    }
}

/// Returns the segments to merge next, the smallest first. A single stale segment is rewritten without deleted sessions.
pub fn due(live: &[IndexSegment]) -> Option<Vec<IndexSegment>> {
    for class in 0..=MOST_PAGES.ilog(FAN as u64) {
        let mut pages = 0;
        let group: Vec<IndexSegment> = live
            .iter()
            .filter(|segment| segment.class() == class)
            .take(FAN)
            .take_while(|segment| {
                pages += segment.pages;
                pages <= MOST_PAGES
            })
            .cloned()
            .collect();
        let crowded = live.iter().filter(|segment| segment.class() == class).count() >= FAN;
        if crowded && group.len() > 1 {
            return Some(group);
        }
    }
    live.iter().find(|segment| segment.stale).map(|segment| vec![segment.clone()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(pages: &[u64]) -> Vec<IndexSegment> {
        let segment = |(number, pages): (i64, &u64)| IndexSegment {
            number,
            pages: *pages,
            stale: false,
            first_session: 1,
            last_session: 1,
        };
        (1..).zip(pages).map(segment).collect()
    }

    fn check(pages: &[u64], expect: Option<&[i64]>) {
        let group = due(&segments(pages));
        let numbers = group.map(|group| group.iter().map(|s| s.number).collect::<Vec<_>>());
        assert_eq!(numbers.as_deref(), expect, "{pages:?}");
    }

    #[test]
    fn eight_of_a_size_become_one() {
        check(&[], None);
        check(&[1; 7], None);
        check(&[1; 9], Some(&[1, 2, 3, 4, 5, 6, 7, 8]));
        check(&[9, 1, 1, 1, 1, 1, 1, 1, 7], Some(&[2, 3, 4, 5, 6, 7, 8, 9]));
        check(&[9; 7], None);
        check(&[600; 8], Some(&[1, 2, 3, 4, 5, 6, 7, 8]));
        check(&[4000; 8], Some(&[1, 2]));
        check(&[8192; 20], None);
        check(&[5000; 20], None);
    }

    #[test]
    fn a_stale_one_is_written_again_alone() {
        let mut segments = segments(&[5000, 9]);
        segments[1].stale = true;
        assert_eq!(due(&segments), Some(vec![segments[1].clone()]));
    }
}
