//! Tests of the index.

use bethink_transcript::{Seq, SessionId};

use super::imports::{batch, record};
use super::{
    assert_not_found, finish_index, found, look_up, make_session, message, new_session, say,
    session_id,
};
use bethink_store::{
    Counts, Family, IndexBatch, IndexLookup, IndexedSession, NewSession, Posting, SearchScope,
    SeqRange, SessionLocation, Store, Terms,
};

pub async fn messages_are_found_once_indexed(store: &impl Store) {
    let session = make_session(store, 1).await;
    assert_eq!(store.unindexed(session).await.unwrap(), None);
    import(store, session, 1..=100).await;
    import(store, session, 101..=200).await;
    assert_eq!(store.unindexed(session).await.unwrap(), Some(stretch(1, 200)));
    assert_eq!(found(store, session, "word150").await, []);
    index(store, session, 1..=200).await;
    assert_eq!(found(store, session, "word150").await, [Seq(150)]);
    assert_eq!(store.unindexed(session).await.unwrap(), None);
}

pub async fn an_index_done_twice_is_done_once(store: &impl Store) {
    let session = make_session(store, 1).await;
    import(store, session, 1..=70).await;
    index(store, session, 1..=70).await;
    let once = look_up(store, SearchScope::Session(session), &["common"]).await;
    index(store, session, 1..=70).await;
    assert_eq!(found(store, session, "word7").await, [Seq(7)]);
    let twice = look_up(store, SearchScope::Session(session), &["common"]).await;
    assert_eq!(twice.lists, once.lists, "no word was counted again");
    assert_eq!(twice.sessions, once.sessions);
    say(store, session, &["appended"]).await;
    index(store, session, 61..=71).await;
    assert_eq!(found(store, session, "word71").await, [Seq(71)]);
    assert_eq!(found(store, session, "word61").await, [Seq(61)]);
}

pub async fn an_index_is_made_in_stretches(store: &impl Store) {
    let session = make_session(store, 1).await;
    import(store, session, 1..=10).await;
    index(store, session, 1..=4).await;
    assert_eq!(store.unindexed(session).await.unwrap(), Some(stretch(5, 10)));
    assert_eq!(found(store, session, "word4").await, [Seq(4)]);
    assert_eq!(found(store, session, "word5").await, []);
    import(store, session, 11..=12).await;
    assert_eq!(store.unindexed(session).await.unwrap(), Some(stretch(5, 12)));
    let wordless = IndexBatch { session, entries: Vec::new(), through: Seq(6) };
    store.index(wordless).await.unwrap();
    assert_eq!(store.unindexed(session).await.unwrap(), Some(stretch(7, 12)));
    index(store, session, 7..=12).await;
    assert_eq!(found(store, session, "word12").await, [Seq(12)]);
    assert_eq!(store.unindexed(session).await.unwrap(), None);
}

pub async fn an_append_amid_an_import_is_marked_with_it(store: &impl Store) {
    let session = make_session(store, 1).await;
    import(store, session, 1..=3).await;
    say(store, session, &["amid"]).await;
    assert_eq!(store.unindexed(session).await.unwrap(), Some(stretch(1, 4)));
    index(store, session, 1..=4).await;
    assert_eq!(found(store, session, "word4").await, [Seq(4)]);
    import(store, session, 5..=6).await;
    assert_eq!(store.unindexed(session).await.unwrap(), Some(stretch(5, 6)));
    let beyond = IndexBatch { session, entries: Vec::new(), through: Seq(9) };
    store.index(beyond).await.unwrap();
    say(store, session, &["later"]).await;
    assert_eq!(store.unindexed(session).await.unwrap(), Some(stretch(7, 7)), "not there then");
}

pub async fn the_mark_goes_with_its_session(store: &impl Store) {
    let session = make_session(store, 1).await;
    import(store, session, 1..=3).await;
    store.delete_session(session).await.unwrap();
    assert_not_found(store.unindexed(session).await);
    let late = IndexBatch { session, entries: vec![terms(1)], through: Seq(3) };
    assert_not_found(store.index(late).await);
    make_session(store, 1).await;
    assert_eq!(store.unindexed(session).await.unwrap(), None);
    assert_not_found(store.unindexed(session_id(9)).await);
}

pub async fn fields_lengths_and_marks_come_back(store: &impl Store) {
    let session = make_session(store, 1).await;
    say(store, session, &["a", "b"]).await;
    let said = Terms {
        user: "kelp kelp kelp kelp kelp".into(),
        tool_result: "kelp pier".into(),
        marks: ":mark :other".into(),
        ..Terms::default()
    };
    let entries =
        vec![(Seq(1), said), (Seq(2), Terms { assistant: "pier".into(), ..Terms::default() })];
    store.index(IndexBatch { session, entries, through: Seq(2) }).await.unwrap();
    let found =
        look_up(store, SearchScope::Session(session), &["kelp", "pier", ":mark", "none"]).await;
    let posting = |seq, counts: [u8; 4], terms| Posting {
        session: 0,
        seq,
        counts: counts.iter().enumerate().fold(Counts::default(), |mut counts, (field, count)| {
            (0..*count).for_each(|_| counts.add(field));
            counts
        }),
        length: Posting::length_code(terms),
    };
    let expect = [
        vec![posting(1, [3, 0, 0, 1], 7)],
        vec![posting(1, [0, 0, 0, 1], 7), posting(2, [0, 1, 0, 0], 1)],
        vec![posting(1, [0; 4], 7)],
        Vec::new(),
    ];
    assert_eq!(found.lists, expect.map(Some));
    let whole = IndexedSession { session, indexed: Seq(2), last: Seq(2), messages: 2, terms: 8 };
    assert_eq!(found.sessions, [whole]);
}

pub async fn a_project_is_searched_as_one(store: &impl Store) {
    let one = make_session(store, 1).await;
    let elsewhere = NewSession { project_dir: "/elsewhere".into(), ..new_session(2) };
    let elsewhere = store.create_session(elsewhere, None).await.unwrap().session.id;
    let three = make_session(store, 3).await;
    // Indexed in turns, so that the index has several parts for each session.
    for name in ["a", "b", "c"] {
        for session in [three, elsewhere, one] {
            say(store, session, &[name]).await;
            finish_index(store, session).await;
        }
    }
    let project = SearchScope::Location(SessionLocation::directory("/project"));
    let found = look_up(store, project.clone(), &["a", "c"]).await;
    let places = |list: &Option<Vec<Posting>>| {
        let of = |posting: &Posting| found.sessions[posting.session as usize].session;
        let mut places: Vec<_> =
            list.as_ref().unwrap().iter().map(|posting| (of(posting), posting.seq)).collect();
        assert!(list.as_ref().unwrap().is_sorted_by_key(|posting| (posting.session, posting.seq)));
        places.sort();
        places
    };
    assert_eq!(places(&found.lists[0]), [(one, 1), (three, 1)]);
    assert_eq!(places(&found.lists[1]), [(one, 3), (three, 3)]);
    say(store, one, &["late"]).await;
    let found = look_up(store, project, &["late"]).await;
    let lagging = found.sessions.iter().find(|session| session.session == one).unwrap();
    assert_eq!((lagging.indexed, lagging.last), (Seq(3), Seq(4)));
    let all = look_up(store, SearchScope::All, &["a"]).await;
    assert_eq!((all.sessions.len(), all.lists[0].as_ref().map(Vec::len)), (3, Some(3)));
    let nowhere =
        look_up(store, SearchScope::Location(SessionLocation::directory("/nowhere")), &["a"]).await;
    assert_eq!((nowhere.sessions.len(), nowhere.lists), (0, vec![Some(Vec::new())]));
    let scope = SearchScope::Session(session_id(9));
    let nobody =
        IndexLookup { scope, terms: Vec::new(), families: Vec::new(), marks: Vec::new(), most: 1 };
    assert_not_found(store.lookup(nobody).await);
}

pub async fn words_that_begin_alike_are_one_list(store: &impl Store) {
    let session = make_session(store, 1).await;
    say(store, session, &["a", "b", "c", "d"]).await;
    let said = ["paint painter", "painter painting", "paint", "paintbrushes pain :painter"];
    let entries = (1..)
        .zip(said)
        .map(|(seq, user)| (Seq(seq), Terms { user: user.into(), ..Terms::default() }))
        .collect();
    store.index(IndexBatch { session, entries, through: Seq(4) }).await.unwrap();
    let family =
        |start: &str| Family { start: start.into(), except: "paint".into(), lengths: 3..=9 };
    let families = vec![family("paint"), family("none"), family(""), family("\0")];
    let scope = SearchScope::Session(session);
    let lookup = IndexLookup {
        scope,
        terms: vec!["paint".into()],
        families,
        marks: Vec::new(),
        most: 1_000,
    };
    let found = store.lookup(lookup).await.unwrap();
    let seqs = |list: &Option<Vec<Posting>>| {
        let list = list.as_ref().unwrap();
        list.iter().map(|posting| (posting.seq, posting.counts.of(0))).collect::<Vec<_>>()
    };
    assert_eq!(seqs(&found.lists[0]), [(1, 1), (3, 1)]);
    assert_eq!(seqs(&found.families[0]), [(1, 1), (2, 2)]);
    assert_eq!(found.families[1..].iter().map(seqs).collect::<Vec<_>>(), vec![vec![]; 3]);
}

pub async fn marks_are_looked_up_where_terms_occur(store: &impl Store) {
    const SESSIONS: u32 = 40;
    let mut sessions = Vec::new();
    for n in 0..SESSIONS {
        let session = make_session(store, n.into()).await;
        say(store, session, &["a", "b", "c"]).await;
        let spoken =
            |user: String, marks: &str| Terms { user, marks: marks.into(), ..Terms::default() };
        let entries = vec![
            (Seq(1), spoken(format!("common word{n}"), ":begins")),
            (Seq(2), spoken(String::new(), ":asks")),
            (Seq(3), spoken(String::new(), ":asks :begins")),
        ];
        store.index(IndexBatch { session, entries, through: Seq(3) }).await.unwrap();
        sessions.push(session);
    }
    let find = async |terms: &[&str]| {
        let lookup = IndexLookup {
            scope: SearchScope::All,
            terms: terms.iter().map(|term| (*term).to_owned()).collect(),
            families: Vec::new(),
            marks: [":begins", ":asks", "", ":none"].map(str::to_owned).into(),
            most: 1_000,
        };
        let found = store.lookup(lookup).await.unwrap();
        let place = |posting: &Posting| {
            let session = found.sessions[posting.session as usize].session;
            (sessions.iter().position(|one| *one == session).unwrap(), posting.seq)
        };
        let list = |list: &Option<Vec<Posting>>| {
            let mut places: Vec<_> = list.as_ref().unwrap().iter().map(place).collect();
            places.sort_unstable();
            places
        };
        found.marks.iter().map(list).collect::<Vec<_>>()
    };
    let nothing = || vec![Vec::new(); 2];
    let two = [vec![(7, 1), (7, 3), (9, 1), (9, 3)], vec![(7, 2), (7, 3), (9, 2), (9, 3)]];
    assert_eq!(find(&["word7", "word9", "none"]).await, [two.to_vec(), nothing()].concat());
    let everywhere = |seqs: [u32; 2]| {
        (0..sessions.len()).flat_map(|n| seqs.map(|seq| (n, seq))).collect::<Vec<_>>()
    };
    let all = vec![everywhere([1, 3]), everywhere([2, 3])];
    assert_eq!(find(&["common"]).await, [all, nothing()].concat());
    assert_eq!(find(&["none"]).await, vec![Vec::new(); 4]);
    // Each mark's page is found several times, and counts once.
    let even: Vec<String> = (0..30).step_by(2).map(|n| format!("word{n}")).collect();
    let found = find(&even.iter().map(String::as_str).collect::<Vec<_>>()).await;
    assert_eq!(found[0].len(), 2 * even.len());
}

pub async fn too_common_terms_are_left_out(store: &impl Store) {
    // Several pages of the index.
    const COUNT: u64 = 5_000;
    let count = COUNT as usize;
    let session = make_session(store, 1).await;
    import(store, session, 1..=COUNT).await;
    index(store, session, 1..=COUNT).await;
    let terms = vec!["common".to_owned(), "word7".to_owned(), "none".to_owned()];
    let scope = SearchScope::Session(session);
    let lookup = |most| IndexLookup {
        scope: scope.clone(),
        terms: terms.clone(),
        families: Vec::new(),
        marks: Vec::new(),
        most,
    };
    let lengths = |lists: &[Option<Vec<Posting>>]| {
        lists.iter().map(|list| list.as_ref().map(Vec::len)).collect::<Vec<_>>()
    };
    let all = store.lookup(lookup(count + 1)).await.unwrap().lists;
    assert_eq!(lengths(&all), [Some(count), Some(1), Some(0)]);
    for most in [count, 1] {
        let rare = store.lookup(lookup(most)).await.unwrap().lists;
        assert_eq!(lengths(&rare), [None, Some(1), Some(0)]);
    }
}

/// Many small segments, one of whose sessions is deleted meanwhile.
pub async fn an_index_that_is_tidied_says_the_same(store: &impl Store) {
    const PIECES: u64 = 70;
    let (one, two) = (make_session(store, 1).await, make_session(store, 2).await);
    let mut untidy = false;
    for n in 1..=PIECES {
        for session in [one, two] {
            import(store, session, n..=n).await;
            let batch = IndexBatch { session, entries: vec![terms(n)], through: Seq(n) };
            untidy = store.index(batch).await.unwrap();
        }
    }
    assert!(untidy, "so many pieces are worth to be put together");
    store.delete_session(two).await.unwrap();
    let all: Vec<Seq> = (1..=PIECES).map(Seq).collect();
    assert_eq!(found(store, one, "common").await, all);
    while store.tidy().await.unwrap() {
        assert_eq!(found(store, one, "common").await, all);
    }
    assert_eq!(found(store, one, "word42").await, [Seq(42)]);
    assert!(!store.tidy().await.unwrap(), "tidy is tidy");
    import(store, one, PIECES + 1..=PIECES + 1).await;
    index(store, one, PIECES + 1..=PIECES + 1).await;
    assert_eq!(found(store, one, "common").await.len() as u64, PIECES + 1);
}

pub async fn a_session_is_indexed_anew(store: &impl Store) {
    let session = make_session(store, 1).await;
    import(store, session, 1..=20).await;
    index(store, session, 1..=20).await;
    store.reindex(session).await.unwrap();
    assert_eq!(found(store, session, "common").await, []);
    assert_eq!(store.unindexed(session).await.unwrap(), Some(stretch(1, 20)));
    index(store, session, 1..=20).await;
    assert_eq!(found(store, session, "common").await.len(), 20);
    while store.tidy().await.unwrap() {}
    assert_eq!(found(store, session, "common").await.len(), 20);
    assert_not_found(store.reindex(session_id(9)).await);
}

/// Index entries of a deleted session never count for another session.
pub async fn a_number_is_not_handed_out_again(store: &impl Store) {
    let gone = make_session(store, 1).await;
    import(store, gone, 1..=5).await;
    index(store, gone, 1..=5).await;
    store.delete_session(gone).await.unwrap();
    let other = make_session(store, 2).await;
    import(store, other, 1..=9).await;
    let only = IndexBatch { session: other, entries: vec![terms(6)], through: Seq(9) };
    store.index(only).await.unwrap();
    assert_eq!(found(store, other, "common").await, [Seq(6)]);
}

pub async fn lagging_sessions_are_known(store: &impl Store) {
    let (one, two) = (make_session(store, 1).await, make_session(store, 2).await);
    assert_eq!(store.lagging(5).await.unwrap(), []);
    say(store, one, &["a"]).await;
    say(store, two, &["b"]).await;
    let mut lagging = store.lagging(5).await.unwrap();
    lagging.sort();
    assert_eq!(lagging, [one, two]);
    assert_eq!(store.lagging(1).await.unwrap().len(), 1);
    finish_index(store, one).await;
    assert_eq!(store.lagging(5).await.unwrap(), [two]);
}

/// Makes lines with one message each, whose seq is the number of the line.
async fn import(store: &impl Store, session: SessionId, lines: std::ops::RangeInclusive<u64>) {
    let records = lines.map(|n| record(session, n, message(&format!("m{n}"), "x"))).collect();
    store.import(batch(session, records)).await.unwrap();
}

async fn index(store: &impl Store, session: SessionId, seqs: std::ops::RangeInclusive<u64>) {
    let through = Seq(*seqs.end());
    let entries = seqs.map(terms).collect();
    store.index(IndexBatch { session, entries, through }).await.unwrap();
}

fn terms(seq: u64) -> (Seq, Terms) {
    (Seq(seq), Terms { user: format!("common word{seq}"), ..Terms::default() })
}

fn stretch(first: u64, last: u64) -> SeqRange {
    SeqRange { before: Some(Seq(last + 1)), ..SeqRange::from(Seq(first)) }
}
