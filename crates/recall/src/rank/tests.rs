use super::*;

/// A history of turns, ranked like in a search.
struct Talk {
    turns: Vec<&'static str>,
    begins: Vec<usize>,
    literal: bool,
}

impl Talk {
    fn new(turns: &[&'static str]) -> Self {
        Self { turns: turns.to_vec(), begins: vec![1], literal: false }
    }

    fn with(&self, is: impl Fn(&str) -> bool) -> Vec<Posting> {
        (1..)
            .zip(&self.turns)
            .filter(|(_, turn)| is(turn))
            .map(|(seq, turn)| Posting {
                session: 0,
                seq,
                counts: Counts(1),
                length: Posting::length_code(turn.split(' ').count()),
            })
            .collect()
    }

    fn words(&self, word: &str) -> Vec<Posting> {
        self.with(|turn| turn.trim_end_matches('?').split([' ', ':']).any(|one| one == word))
    }

    fn ask(&self, question: &str) -> Vec<u32> {
        let sessions = [SessionExtent {
            last: u32::try_from(self.turns.len()).unwrap(),
            messages: self.turns.len() as u64,
            terms: self.turns.iter().map(|turn| turn.split(' ').count() as u64).sum(),
        }];
        let words: Vec<&str> = question.split(' ').collect();
        let lists: Vec<_> = words.iter().map(|word| self.words(word)).collect();
        let speakers: Vec<_> = words
            .iter()
            .map(|word| self.with(|turn| turn.starts_with(&format!("{word}:"))))
            .collect();
        let begins: Vec<_> = self.begins.iter().map(|at| self.with(|_| true)[at - 1]).collect();
        let evidence = Evidence {
            sessions: &sessions,
            terms: lists.iter().map(|list| Some(&list[..])).collect(),
            families: Vec::new(),
            begins: &begins,
            asks: &self.with(|turn| turn.contains('?')),
            ends_asking: &self.with(|turn| turn.ends_with('?')),
            tells_when: &[],
            speakers: speakers.iter().map(|list| &list[..]).collect(),
            days: Vec::new(),
            days_after: Vec::new(),
            literal: self.literal,
            filters: Vec::new(),
        };
        rank(&evidence, &Weights::default(), 10).iter().map(|hit| hit.seq).collect()
    }

    fn best(&self, question: &str) -> Option<u32> {
        self.ask(question).first().copied()
    }
}

#[test]
fn rarer_and_more_words_rank_higher() {
    let talk =
        Talk::new(&["common one", "common two", "common rare", "x", "x", "x", "common rare other"]);
    assert_eq!(talk.best("common rare"), Some(3));
    assert_eq!(talk.best("common rare other"), Some(7));
    assert!(talk.ask("nothing").is_empty());
    assert!(talk.ask("").is_empty());
}

#[test]
fn an_answer_inherits_its_question() {
    let talk = Talk::new(&["x", "x", "where is the ferry?", "by the pier", "x", "x", "x", "x"]);
    assert_eq!(talk.ask("ferry pier")[0], 4, "own word and half the question");
    let order = talk.ask("ferry");
    assert!(order.iter().position(|seq| *seq == 4) < order.iter().position(|seq| *seq == 2));
}

#[test]
fn the_stretch_around_decides_between_equals() {
    let mut talk = Talk::new(&[
        "tomato", "soil", "soil", "x", "x", "x", "x", "x", "garden", "water", "tomato", "x", "x",
        "x",
    ]);
    talk.begins = vec![1, 5, 9];
    let order = talk.ask("tomato garden");
    let place = |seq| order.iter().position(|at| *at == seq).unwrap();
    assert!(place(11) < place(1), "{order:?}");
    assert_eq!(talk.best("tomato"), Some(1), "of equals the older");
}

#[test]
fn neighbours_end_with_their_stretch() {
    let mut talk = Talk::new(&["x", "x", "kelp", "x", "x", "x"]);
    assert_eq!(talk.ask("kelp").len(), 5);
    talk.begins = vec![1, 3, 4];
    assert_eq!(talk.ask("kelp"), [3]);
}

#[test]
fn keywords_are_found_where_they_stand() {
    let mut talk = Talk::new(&["x", "x", "kelp", "x", "x", "x"]);
    talk.literal = true;
    assert_eq!(talk.ask("kelp"), [3]);
}

#[test]
fn a_question_about_a_speaker_prefers_his_turns() {
    let talk = Talk::new(&["bob: the boat of ann", "ann: the boat", "bob: x", "ann: x", "x", "x"]);
    assert_eq!(talk.best("ann boat"), Some(2));
    assert_eq!(talk.best("bob boat"), Some(1));
}

#[test]
fn weak_words_alone_are_nothing() {
    let mut turns = vec!["make it"; 60];
    turns.extend(["x"; 60]);
    let talk = Talk::new(&turns);
    assert!(talk.ask("make kelp walrus pier").is_empty());
    assert_eq!(talk.ask("make").len(), 10);
    turns[3] = "make kelp";
    assert_eq!(Talk::new(&turns).best("make kelp walrus pier"), Some(4));
}

#[test]
fn a_filter_leaves_only_its_messages() {
    let talk = Talk::new(&["kelp", "kelp", "kelp", "x"]);
    let kelp = talk.words("kelp");
    let sessions = [SessionExtent { last: 4, messages: 4, terms: 4 }];
    let ask = |filters: Vec<Vec<&[Posting]>>| {
        let evidence = Evidence {
            sessions: &sessions,
            terms: vec![Some(&kelp[..])],
            families: Vec::new(),
            begins: &[],
            asks: &[],
            ends_asking: &[],
            tells_when: &[],
            speakers: Vec::new(),
            days: Vec::new(),
            days_after: Vec::new(),
            literal: false,
            filters,
        };
        let mut seqs: Vec<u32> =
            rank(&evidence, &Weights::default(), 10).iter().map(|hit| hit.seq).collect();
        seqs.sort_unstable();
        seqs
    };
    assert_eq!(ask(vec![vec![&kelp[..1], &kelp[1..2]]]), [1, 2]);
    assert_eq!(ask(vec![vec![&kelp[..2]], vec![&kelp[1..]]]), [2]);
    assert_eq!(ask(vec![vec![]]), [] as [u32; 0]);
}

#[test]
fn a_named_day_comes_first_and_else_the_first_day_after() {
    let talk = Talk::new(&["kelp", "kelp", "kelp", "kelp", "x", "x"]);
    let kelp = talk.words("kelp");
    let sessions = [SessionExtent { last: 6, messages: 6, terms: 6 }];
    let best = |days: Vec<&[Posting]>, days_after: Vec<&[Posting]>| {
        let evidence = Evidence {
            sessions: &sessions,
            terms: vec![Some(&kelp[..])],
            families: Vec::new(),
            begins: &kelp,
            asks: &[],
            ends_asking: &[],
            tells_when: &[],
            speakers: Vec::new(),
            days,
            days_after,
            literal: false,
            filters: Vec::new(),
        };
        rank(&evidence, &Weights::default(), 1)[0].seq
    };
    let none = &kelp[..0];
    assert_eq!(best(vec![none], vec![none, &kelp[1..2], &kelp[2..3]]), 2);
    assert_eq!(best(vec![none, &kelp[3..4]], vec![&kelp[1..2]]), 4);
    assert_eq!(best(Vec::new(), Vec::new()), 1);
}

#[test]
fn a_place_that_is_not_there_is_passed_by() {
    let sessions = [SessionExtent { last: 1, messages: 1, terms: 1 }];
    let beyond = [Posting { session: 9, seq: 1, counts: Counts(255), length: 8 }];
    let evidence = Evidence {
        sessions: &sessions,
        terms: vec![Some(&beyond[..]), None],
        families: vec![&beyond[..]],
        begins: &beyond,
        asks: &beyond,
        ends_asking: &beyond,
        tells_when: &beyond,
        speakers: vec![&beyond[..]],
        days: vec![&beyond[..]],
        days_after: vec![&beyond[..]],
        literal: false,
        filters: Vec::new(),
    };
    assert_eq!(rank(&evidence, &Weights::default(), 10), []);
    let nothing = Evidence { sessions: &[], ..evidence };
    assert_eq!(rank(&nothing, &Weights::default(), 10), []);
}
