//! The terms that a search looks up, and what their places are for the ranking.

use bethink_recall::days::{DAYS_AFTER, Day};
use bethink_recall::question::FAMILY_SPREAD;
use bethink_recall::{Evidence, Question, RankedMessage, SessionExtent, Weights, marks};
use bethink_store::{Family, Posting, TermPlaces};

use crate::filter::{Filter, MAX_FILTER_DAYS};

/// Number of groups of marks before those of the filters.
const EVIDENCE_GROUPS: usize = 4;

/// The terms to look up, grouped by their purpose.
pub(crate) struct TermPlan {
    pub(crate) words: Vec<String>,
    /// In this order: marks that every search needs, speakers, days, and the days after them; then the filter groups. A hit
    /// must have one mark from each filter group.
    pub(crate) groups: Vec<Vec<String>>,
    pub(crate) families: Vec<Family>,
    literal: bool,
}

impl TermPlan {
    pub(crate) fn new(question: &Question, text: &str, filter: &Filter, today: Day) -> Self {
        // The empty term matches nothing. It only takes a place, so that the other terms keep their positions.
        let when = if question.asks_when { marks::TELLS_WHEN } else { "" };
        let marks = [marks::BEGINS, marks::ASKS, marks::ENDS_ASKING, when].map(str::to_owned);
        let speakers = question.words.iter().map(|word| marks::by_speaker(word)).collect();
        let days = bethink_recall::days::named_days(text, today);
        let most = usize::try_from(MAX_FILTER_DAYS).unwrap_or(0);
        let days_of = |first: Day, last: Day| {
            (first.0..=last.0).take(most).map(|day| marks::by_day(Day(day))).collect::<Vec<_>>()
        };
        let (days, after) = days.map_or_else(Default::default, |days| {
            let (first, last) = (*days.start(), *days.end());
            (days_of(first, last), days_of(Day(last.0 + 1), Day(last.0 + DAYS_AFTER)))
        });
        let mut groups = vec![marks.into(), speakers, days, after];
        groups.extend(filter.marks(today));
        let words = question.terms.clone();
        Self { words, groups, families: families(question), literal: question.is_keywords }
    }

    /// Returns the filter groups that the ranking cannot apply, because a list is too long to read.
    pub(crate) fn unranked_filters(&self, found: &TermPlaces) -> Vec<Vec<String>> {
        let mut lists = found.marks.iter();
        let groups = self.groups.iter().enumerate().filter(|(at, group)| {
            let unread = lists.by_ref().take(group.len()).filter(|list| list.is_none()).count();
            *at >= EVIDENCE_GROUPS && unread > 0
        });
        groups.map(|(_, group)| group.clone()).collect()
    }

    pub(crate) fn rank(&self, found: &TermPlaces, limit: usize) -> Vec<RankedMessage> {
        let sessions: Vec<SessionExtent> = found
            .sessions
            .iter()
            .map(|one| SessionExtent {
                last: u32::try_from(one.indexed.0).unwrap_or(u32::MAX),
                messages: one.messages,
                terms: one.terms,
            })
            .collect();
        let terms = found.lists.iter().map(|list| list.as_deref()).collect();
        let mut marks = found.marks.iter().map(|list| list.as_deref());
        let mut groups =
            self.groups.iter().map(|group| marks.by_ref().take(group.len()).collect::<Vec<_>>());
        let mut next = || -> Vec<&[Posting]> {
            let group = groups.next().unwrap_or_default();
            group.into_iter().map(Option::unwrap_or_default).collect()
        };
        let [begins, asks, ends_asking, tells_when] = next()[..] else { return Vec::new() };
        let (speakers, days, days_after) = (next(), next(), next());
        // Those with a list that is too long are applied when messages are read.
        let filters = groups.filter_map(|group| group.into_iter().collect()).collect();
        let families = found.families.iter().flatten().map(Vec::as_slice).collect();
        let evidence = Evidence {
            sessions: &sessions,
            terms,
            families,
            begins,
            asks,
            ends_asking,
            tells_when,
            speakers,
            days,
            days_after,
            literal: self.literal,
            filters,
        };
        bethink_recall::rank(&evidence, &Weights::default(), limit)
    }
}

fn families(question: &Question) -> Vec<Family> {
    let family = |(number, start): &(usize, String)| {
        let term = question.terms.get(*number)?;
        let lengths = term.len().saturating_sub(FAMILY_SPREAD)..=term.len() + FAMILY_SPREAD;
        Some(Family { start: start.clone(), except: term.clone(), lengths })
    };
    question.families.iter().filter_map(family).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

    use bethink_api as api;
    use bethink_store::{Counts, IndexedSession, Posting};
    use bethink_transcript::{Role, Seq, SessionId};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_filter_whose_list_is_too_long_is_applied_later() {
        let request = api::SearchQuery { role: Some("user".into()), ..Default::default() };
        let filter = Filter::of(&request).unwrap();
        let plan = TermPlan::new(&Question::new("mill"), "mill", &filter, Day(1));
        let posting = Posting { session: 0, seq: 3, counts: Counts(1), length: 9 };
        let session = IndexedSession {
            session: SessionId(Uuid::nil()),
            indexed: Seq(9),
            last: Seq(9),
            messages: 9,
            terms: 90,
        };
        let mut found = TermPlaces {
            sessions: vec![session],
            lists: vec![Some(vec![posting])],
            families: Vec::new(),
            marks: vec![Some(Vec::new()); plan.groups.concat().len()],
        };
        assert_eq!(plan.rank(&found, 5), [], "no message is the user's");
        assert_eq!(plan.unranked_filters(&found), Vec::<Vec<String>>::new());
        *found.marks.last_mut().unwrap() = None;
        assert_eq!(plan.rank(&found, 5).len(), 1);
        let unranked = plan.unranked_filters(&found);
        assert_eq!(unranked, [vec![marks::by_role(Role::User)]]);
        // Lists of other marks only help to rank.
        found.marks[0] = None;
        assert_eq!(plan.unranked_filters(&found), unranked);
    }
}
