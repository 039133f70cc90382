//! The topics of a memory directory as postings, without their text.

use std::collections::HashMap;

use super::card::{Card, TermMark, terms, without_kind};
use super::tools::manual;
use super::words::general_information;
use crate::terms::for_each_term;

/// A topic's number, assigned by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(pub u32);

/// A term's occurrences in a topic. A posting has only eight bytes, because a directory of 100,000 topics has millions of
/// postings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TopicPosting {
    pub(crate) slot: u32,
    pub(crate) mark: TermMark,
}

#[derive(Clone, Debug)]
pub(crate) struct CatalogTopic {
    pub(crate) id: TopicId,
    /// Number of terms in the body, with repetitions.
    pub(crate) length: u32,
    /// Terms of the file's name, and of the title.
    pub(crate) names: [Box<[u32]>; 2],
    /// Name and description, if the topic only explains how something is used.
    pub(crate) manual: Option<Box<str>>,
    pub(crate) is_gone: bool,
}

/// The terms of all topics of a project, held in RAM.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    ids: HashMap<TopicId, u32>,
    pub(crate) topics: Vec<CatalogTopic>,
    terms: HashMap<Box<str>, u32>,
    /// Postings of each term, indexed by the term's number and sorted by slot.
    pub(crate) postings: Vec<Vec<TopicPosting>>,
    /// Amount of information that each term carries whatever the directory, indexed by the term's number.
    general: Vec<f32>,
    /// Terms in alphabetical order with their numbers, for finding terms that are similar to an unknown word.
    vocabulary: Vec<(Box<str>, u32)>,
    gone: usize,
}

impl Catalog {
    /// Adds a topic, or replaces the topic with the same number. Call [`Catalog::settle`] after a batch.
    pub fn put(&mut self, id: TopicId, card: &Card<'_>, body: &str) {
        self.remove(id);
        let terms = terms(card, body);
        let slot = u32::try_from(self.topics.len()).unwrap_or(u32::MAX);
        for (term, mark) in &terms.marks {
            let number = self.number(term);
            self.postings[number as usize].push(TopicPosting { slot, mark: *mark });
        }
        let names = [card.name, card.title].map(|name| self.numbers(name));
        self.ids.insert(id, slot);
        self.topics.push(CatalogTopic {
            id,
            length: terms.length,
            names,
            manual: manual(card, body),
            is_gone: false,
        });
    }

    /// Removes a topic, so that it is no longer picked. Call [`Catalog::settle`] after a batch.
    pub fn remove(&mut self, id: TopicId) {
        if let Some(slot) = self.ids.remove(&id) {
            self.topics[slot as usize].is_gone = true;
            self.gone += 1;
        }
    }

    /// Drops removed topics and updates the vocabulary, in one pass over all postings for a whole batch of changes.
    /// Until this is called, words of removed topics count as more common than they are.
    pub fn settle(&mut self) {
        if self.gone > 0 {
            self.sweep();
        }
        if self.vocabulary.len() != self.terms.len() {
            let terms = self.terms.iter().map(|(term, number)| (term.clone(), *number));
            self.vocabulary = terms.collect();
            self.vocabulary.sort_unstable();
        }
        self.postings.iter_mut().for_each(shrink);
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub(crate) fn slot(&self, id: TopicId) -> Option<u32> {
        self.ids.get(&id).copied()
    }

    pub(crate) fn general_information(&self, number: u32) -> f32 {
        self.general[number as usize]
    }

    /// Returns the number of a term, if it occurs in some topic.
    pub(crate) fn find(&self, term: &str) -> Option<u32> {
        let number = *self.terms.get(term)?;
        (!self.postings[number as usize].is_empty()).then_some(number)
    }

    /// Returns terms with this prefix, in alphabetical order.
    pub(crate) fn starting_with<'a>(
        &'a self,
        start: &'a str,
    ) -> impl Iterator<Item = (&'a str, u32)> {
        let from = self.vocabulary.partition_point(|(term, _)| term.as_ref() < start);
        let all = self.vocabulary[from..].iter().map(|(term, number)| (term.as_ref(), *number));
        all.take_while(move |(term, _)| term.starts_with(start))
            .filter(|(_, number)| !self.postings[*number as usize].is_empty())
    }

    fn numbers(&self, name: &str) -> Box<[u32]> {
        let mut numbers = Vec::new();
        for_each_term(without_kind(name), |term, _| numbers.extend(self.find(term)));
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into()
    }

    fn number(&mut self, term: &str) -> u32 {
        if let Some(number) = self.terms.get(term) {
            return *number;
        }
        let number = u32::try_from(self.postings.len()).unwrap_or(u32::MAX);
        self.terms.insert(term.into(), number);
        self.postings.push(Vec::new());
        self.general.push(general_information(term));
        number
    }

    /// Removes empty slots: the remaining topics move up in order, with their postings.
    fn sweep(&mut self) {
        let mut places = Vec::with_capacity(self.topics.len());
        let mut living = 0_u32;
        for topic in &self.topics {
            places.push(if topic.is_gone { None } else { Some(living) });
            living += u32::from(!topic.is_gone);
        }
        for postings in &mut self.postings {
            postings.retain_mut(|posting| {
                let place = places[posting.slot as usize];
                posting.slot = place.unwrap_or_default();
                place.is_some()
            });
        }
        self.topics.retain(|topic| !topic.is_gone);
        self.ids = self.topics.iter().zip(0..).map(|(topic, slot)| (topic.id, slot)).collect();
        self.gone = 0;
    }
}

/// Frees unused capacity of a list.
fn shrink(postings: &mut Vec<TopicPosting>) {
    if postings.capacity() > postings.len() + postings.len() / 4 + 4 {
        postings.shrink_to(postings.len() + postings.len() / 16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topics::CatalogQuery;
    use crate::topics::select::select;

    fn put(catalog: &mut Catalog, id: u32, name: &str, body: &str) {
        catalog.put(TopicId(id), &Card { name, ..Card::default() }, body);
    }

    fn ids(catalog: &Catalog, question: &str) -> Vec<u32> {
        let picks =
            select(catalog, &CatalogQuery { question, limit: 9, ..CatalogQuery::default() });
        picks.iter().map(|pick| pick.id.0).collect()
    }

    #[test]
    fn topics_come_change_and_go() {
        let mut catalog = Catalog::default();
        put(&mut catalog, 9, "fog", "distance");
        put(&mut catalog, 4, "water", "lake");
        catalog.settle();
        assert_eq!(
            (catalog.len(), ids(&catalog, "fog"), ids(&catalog, "water")),
            (2, vec![9], vec![4])
        );
        put(&mut catalog, 9, "weather", "rain");
        assert_eq!(ids(&catalog, "fog"), [0; 0], "not even before it settles");
        catalog.settle();
        assert_eq!((ids(&catalog, "weather rain"), ids(&catalog, "water")), (vec![9], vec![4]));
        catalog.remove(TopicId(4));
        catalog.remove(TopicId(4));
        catalog.settle();
        assert_eq!((catalog.len(), ids(&catalog, "lake water")), (1, Vec::new()));
        assert!(catalog.find("lake").is_none());
    }

    /// Topics that were added and removed do not change what a question finds.
    #[test]
    fn the_way_there_does_not_matter() {
        let topics: Vec<(u32, String)> =
            (0..40).map(|id| (id, format!("word{id} shared tail{}", id % 7))).collect();
        let mut straight = Catalog::default();
        let mut winding = Catalog::default();
        for (id, body) in &topics {
            put(&mut straight, *id, "some-name", body);
            put(&mut winding, *id, "another", "shared tail3 tail4 nonsense");
            put(&mut winding, 1_000 + id, "more", body);
        }
        winding.settle();
        for (id, body) in &topics {
            winding.remove(TopicId(1_000 + id));
            put(&mut winding, *id, "some-name", body);
        }
        straight.settle();
        winding.settle();
        for question in ["word3 tail3", "nonsense", "another", "word5 shared", "tail4 word4"] {
            let ask = CatalogQuery { question, limit: 9, ..CatalogQuery::default() };
            assert_eq!(select(&straight, &ask), select(&winding, &ask), "{question}");
        }
    }
}
