//! Numbers the messages of several sessions consecutively, and divides them into stretches.
//!
//! A stretch is a part of a session without a long pause.

use std::ops::Range;

/// Maximum length of a stretch, in messages. A longer stretch is split into parts.
const LONGEST: usize = 64;

/// Maps messages to indexes, one session after another.
pub(crate) struct Grid {
    /// The index of each session's first message, followed by the total number of messages.
    starts: Vec<usize>,
}

impl Grid {
    /// Numbers as many messages of each session as given.
    pub(crate) fn new(sessions: impl IntoIterator<Item = usize>) -> Self {
        let mut starts = vec![0];
        let mut end = 0;
        starts.extend(sessions.into_iter().map(|messages| {
            end += messages;
            end
        }));
        Self { starts }
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.last().copied().unwrap_or_default()
    }

    /// Returns a message's index, or `None` if the message does not exist.
    pub(crate) fn index(&self, session: u32, seq: u32) -> Option<usize> {
        let start = *self.starts.get(session as usize)?;
        let end = *self.starts.get(session as usize + 1)?;
        let at = start + seq.checked_sub(1)? as usize;
        (at < end).then_some(at)
    }

    /// Returns the indexes of the session's messages that are at most `reach` messages away from the message at `at`.
    pub(crate) fn around(&self, session: u32, at: usize, reach: usize) -> Range<usize> {
        let (start, end) = (self.starts[session as usize], self.starts[session as usize + 1]);
        at.saturating_sub(reach).max(start)..(at + reach + 1).min(end)
    }

    pub(crate) fn place(&self, at: usize) -> (u32, u32) {
        let session = self.starts.partition_point(|start| *start <= at).saturating_sub(1);
        let seq = at - self.starts[session] + 1;
        (u32::try_from(session).unwrap_or(u32::MAX), u32::try_from(seq).unwrap_or(u32::MAX))
    }

    /// Makes stretches that begin at these indexes, in ascending order, and at the beginning of each session.
    pub(crate) fn stretches(&self, begins: impl Iterator<Item = usize>) -> Stretches {
        let mut bounds = vec![0];
        let mut begins = begins.peekable();
        for session in self.starts.windows(2) {
            while let Some(at) = begins.next_if(|at| *at < session[1]) {
                bound(&mut bounds, at);
            }
            bound(&mut bounds, session[1]);
        }
        Stretches { bounds }
    }
}

/// Ends the last stretch at `end`, and splits it if it is too long.
fn bound(bounds: &mut Vec<usize>, end: usize) {
    let Some(&start) = bounds.last() else { return };
    let length = end.saturating_sub(start);
    if length == 0 {
        return;
    }
    let parts = length.div_ceil(LONGEST);
    bounds.extend((1..=parts).map(|part| start + length * part / parts));
}

pub(crate) struct Stretches {
    bounds: Vec<usize>,
}

impl Stretches {
    pub(crate) fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    pub(crate) fn get(&self, number: usize) -> Range<usize> {
        self.bounds[number]..self.bounds[number + 1]
    }

    /// Returns the number of the stretch that contains `at`; it is `from` or a later stretch.
    pub(crate) fn of(&self, at: usize, from: usize) -> usize {
        // It is usually near, so the steps double.
        let mut step = 1;
        while self.bounds.get(from + step).is_some_and(|end| *end <= at) {
            step *= 2;
        }
        let ends = &self.bounds[from + 1..(from + step).min(self.bounds.len())];
        from + ends.partition_point(|end| *end <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_leads_back_to_its_place() {
        let grid = Grid::new([3, 0, 5]);
        assert_eq!(grid.len(), 3 + 5);
        for (session, last) in [(0, 3), (1, 0), (2, 5)] {
            assert_eq!(grid.index(session, 0), None, "no message has this number");
            for seq in 1..=last {
                let at = grid.index(session, seq).unwrap();
                assert_eq!(grid.place(at), (session, seq));
            }
            assert_eq!(grid.index(session, last + 1), None);
        }
        assert_eq!(grid.index(3, 0), None);
    }

    #[test]
    fn stretches_cover_all_once_and_stay_in_their_session() {
        let grid = Grid::new([9, 200]);
        let begins = [(0, 1), (0, 5), (1, 1), (1, 150)];
        let begins = begins.iter().map(|(session, seq)| grid.index(*session, *seq).unwrap());
        let stretches = grid.stretches(begins);
        let all: Vec<_> = (0..stretches.len()).map(|number| stretches.get(number)).collect();
        assert_eq!(all[0], 0..4);
        assert_eq!(all[1], 4..9);
        assert_eq!(all.last().unwrap().end, grid.len());
        assert!(all.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert!(all.iter().all(|stretch| !stretch.is_empty() && stretch.len() <= LONGEST));
        assert!(all.iter().any(|stretch| stretch.start == grid.index(1, 150).unwrap()));
        for (number, stretch) in all.iter().enumerate() {
            for at in stretch.clone() {
                assert_eq!(stretches.of(at, 0), number);
                assert_eq!(stretches.of(at, number), number);
                assert_eq!(stretches.of(at, number.saturating_sub(1)), number);
            }
        }
    }
}
