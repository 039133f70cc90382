//! Flips random bits in the database and its log, and checks what is served: nothing may be altered, and nothing may be
//! missing unless the store reports it. `BETHINK_FLIPS` is the number of flips, and `BETHINK_FLIPS_SEED` selects other
//! flips.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

mod common;

use std::collections::BTreeMap;
use std::fmt::Debug;

use bethink_api::MemoryAuthor;
use bethink_store::{
    CheckStore, ClientSession, CompactionRecord, GatewayStore, HealthStore, IndexBatch,
    IndexLookup, IndexStore, JobStore, LedgerStore, MemoryStore, ModelCall, NewDecision, NewJob,
    NewMemoryVersion, NotesRecord, NotesStore, Receipt, SearchScope, SentRequestStore, SeqRange,
    SessionChange, SessionStore, Store, StoreError, StoreResult, UsageFilter, UsageSum,
};
use bethink_store_sqlite::SqliteStore;
use bethink_transcript::{CallId, CompactionId, JobId, Seq, SessionId};
use common::{Home, NOW, Random, analyse, append, make_session, message, session_id};
use uuid::Uuid;

/// Enough to hit each kind of page, within seconds.
const FLIPS: u64 = 100;
const SESSIONS: u128 = 3;
const MESSAGES: usize = 60;

/// What the store serves, by name.
type Served = BTreeMap<String, StoreResult<String>>;

#[derive(Debug, Default)]
struct Tally {
    harmless: usize,
    /// Something was refused or missing, and the store reported it.
    told: usize,
    /// Only a check of the whole file reported it.
    told_by_a_check: usize,
    /// The last transaction of the log was dropped, with a warning.
    torn: usize,
}

#[tokio::test]
async fn a_flipped_bit_alters_nothing_and_loses_nothing_in_silence() {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let flips = number("BETHINK_FLIPS").unwrap_or(FLIPS);
    let mut random = Random(number("BETHINK_FLIPS_SEED").unwrap_or(1));
    let homes = [stopped().await, killed().await];
    let mut tally = Tally::default();
    for flip in 0..flips {
        let (files, expected) = &homes[random.below(2)];
        let damaged = Home::new();
        std::fs::create_dir(damaged.db().parent().unwrap()).unwrap();
        let hit = random.below(files.len());
        let mut what = String::new();
        for (index, (end, bytes)) in files.iter().enumerate() {
            let mut bytes = bytes.clone();
            if index == hit {
                what = format!(
                    "flip {flip} of {end:?} of {}: {}",
                    files.len(),
                    spoil(&mut bytes, &mut random)
                );
            }
            std::fs::write(damaged.beside(end), bytes).unwrap();
        }
        examine(&damaged, expected, &what, &mut tally).await;
    }
    eprintln!("{flips} flips: {tally:?}");
}

/// Changes one bit, or sometimes a run of bytes.
fn spoil(bytes: &mut [u8], random: &mut Random) -> String {
    let length = [0, 0, 0, 0, 8, 512][random.below(6)];
    let at = random.below(bytes.len() - length);
    match length {
        0 => bytes[at] ^= 1 << random.below(8),
        length => bytes[at..at + length].copy_from_slice(&random.bytes(length)),
    }
    format!("{length} bytes at {at}")
}

async fn examine(home: &Home, expected: &Served, what: &str, tally: &mut Tally) {
    let (store, report) = home.open().await;
    let found = served(&store).await;
    let mut differs = false;
    for (name, expected) in expected {
        let expected = expected.as_ref().unwrap();
        match &found[name] {
            Ok(found) if found == expected => {}
            // A session whose row is lost is created again for its messages.
            Ok(found) if found == "None" || found.contains("\"recovered\"") => differs = true,
            Ok(found) => panic!("{what}: {name} is altered: {found:.400}\n{expected:.400}"),
            Err(_) => differs = true,
        }
    }
    let is_told = report.damage.is_some() || store.damage().is_some();
    match differs {
        false => tally.harmless += 1,
        true if is_told => tally.told += 1,
        true if report.torn => tally.torn += 1,
        true => {
            assert!(store.check().await.unwrap().is_some(), "{what}: missing, but not reported");
            tally.told_by_a_check += 1;
        }
    }
    store.close().await.unwrap();
}

/// Creates the files of a store that was closed.
async fn stopped() -> (Vec<(&'static str, Vec<u8>)>, Served) {
    let home = Home::new();
    let (store, _) = home.open().await;
    fill(&store, 0..MESSAGES).await;
    let expected = served(&store).await;
    store.close().await.unwrap();
    (vec![("", std::fs::read(home.db()).unwrap())], expected)
}

/// Creates the files of a store that was killed: half of the messages are in the log.
async fn killed() -> (Vec<(&'static str, Vec<u8>)>, Served) {
    let home = Home::new();
    let (store, _) = home.open().await;
    fill(&store, 0..MESSAGES / 2).await;
    store.close().await.unwrap();
    let (store, _) = home.open().await;
    fill(&store, MESSAGES / 2..MESSAGES).await;
    let expected = served(&store).await;
    let files = ["", "-wal"].map(|end| (end, std::fs::read(home.beside(end)).unwrap()));
    (files.to_vec(), expected)
}

async fn fill(store: &SqliteStore, messages: std::ops::Range<usize>) {
    for number in 1..=SESSIONS {
        let id = session_id(number);
        if store.session(id).await.is_err() {
            make_session(store, number).await;
        }
        for number in messages.clone() {
            let receipt = Receipt { key: format!("{id} {number}"), fingerprint: "f".into() };
            let one = append(id, vec![message(number)]);
            store.append(bethink_store::Append { receipt: Some(receipt), ..one }).await.unwrap();
        }
        keep_state(store, id, messages.end).await;
    }
}

async fn keep_state(store: &SqliteStore, id: SessionId, through: usize) {
    let text = |what: &str| format!("{what} of {id} through {through}, ").repeat(9);
    let change = SessionChange {
        state: Some(format!("{{\"plan\":\"{}\"}}", text("plan"))),
        tags: Some(vec!["tag".into()]),
        updated_at: NOW,
        ..SessionChange::default()
    };
    store.update_session(id, change).await.unwrap();
    let decision = NewDecision {
        kind: "snipped".into(),
        data: format!("{{\"text\":\"{}\"}}", text("decision")),
        made_after: Seq(1),
        created_at: NOW,
    };
    store.add_decisions(id, vec![decision]).await.unwrap();
    store.add_compaction(compaction(id, through, text("summary")), Vec::new()).await.unwrap();
    let notes = NotesRecord {
        session: id,
        text: text("notes"),
        replaced: String::new(),
        written: "[]".into(),
        through: Seq(1),
        tokens: 1,
        strategy: "embedded".into(),
        updated_at: NOW,
    };
    store.put_notes(notes).await.unwrap();
    store.put_sent_frame(id, text("frame"), NOW).await.unwrap();
    store.put_sent_marks(id, text("marks"), NOW).await.unwrap();
    let version = NewMemoryVersion {
        directory: "/project".into(),
        file: format!("{id}.md"),
        hash: "h".into(),
        content: Some(text("memory").into()),
        author: MemoryAuthor::Person,
        session: Some(id),
        note: "note".into(),
        at: NOW,
    };
    store.add_memory_versions(vec![version]).await.unwrap();
    let client =
        ClientSession { client: "claude-code".into(), key: format!("key {id}"), session: id };
    store.put_client_session(client).await.unwrap();
    index(store, id).await.unwrap();
    let call = ModelCall {
        id: CallId(uuid_of(id, through)),
        session: Some(id),
        purpose: purpose(through),
        provider: "anthropic".into(),
        model: "m".into(),
        started_at: NOW,
        millis: 5,
        input: 1000,
        output: 100,
        cache_read: 10,
        cache_write: 1,
        cost: Some(5000),
        outcome: "ok".into(),
    };
    store.add_model_call(call).await.unwrap();
    let job = NewJob {
        id: JobId(uuid_of(id, through)),
        kind: "import".into(),
        session: Some(id),
        payload: format!("{{\"text\":\"{}\"}}", text("payload")),
        background: true,
        created_at: NOW,
    };
    store.enqueue(job).await.unwrap();
}

/// An id that no other session has, and no other time.
fn uuid_of(session: SessionId, through: usize) -> Uuid {
    Uuid::from_u128(session.0.as_u128() * 1000 + through as u128)
}

fn compaction(session: SessionId, through: usize, summary: String) -> CompactionRecord {
    CompactionRecord {
        id: CompactionId(uuid_of(session, through)),
        session,
        trigger: "manual".into(),
        level: "full".into(),
        first_seq: Seq(1),
        last_seq: Seq(2),
        kept_from: Seq(3),
        made_after: Seq(4),
        tokens_before: 100,
        tokens_after: 10,
        summary,
        summary_tokens: 9,
        fidelity: 0.5,
        detail: "{}".into(),
        created_at: NOW,
        undone_at: None,
    }
}

/// Reads everything. Anything that is missing is `None`.
async fn served(store: &SqliteStore) -> Served {
    let mut served = Served::new();
    for number in 1..=SESSIONS {
        let id = session_id(number);
        let mut add = |what: &str, value: StoreResult<String>| {
            served.insert(format!("{what} of {number}"), value);
        };
        add("session", store.session(id).await.map(shown));
        let messages = store.messages(id, SeqRange::all()).await;
        for seq in 1..=MESSAGES as u64 {
            let one = messages.clone().map(|all| all.into_iter().find(|one| one.seq == Seq(seq)));
            add(&format!("message {seq}"), one.map(option));
        }
        for index in 0..2 {
            add(&format!("decision {index}"), store.decisions(id).await.map(|all| nth(all, index)));
            let compactions = store.compactions(id).await;
            add(&format!("compaction {index}"), compactions.map(|all| nth(all, index)));
            let version = i64::try_from(index).unwrap() + 1;
            let content = store.memory_content("/project".into(), format!("{id}.md"), version);
            add(&format!("memory {version}"), content.await.map(option));
        }
        add("notes", store.notes(id).await.map(option));
        // Its two parts are stored in two rows.
        let request = store.sent_request(id).await;
        add("frame", request.clone().map(|found| option(found.map(|request| request.frame))));
        add("marks", request.map(|found| option(found.and_then(|request| request.marks))));
        let client = store.client_session("claude-code".into(), format!("key {id}"));
        add("client", client.await.map(option));
        let receipt = store.receipt(format!("{id} 0"));
        add("receipt", receipt.await.map(option));
        for through in [MESSAGES / 2, MESSAGES] {
            let usage = UsageFilter { session: Some(id), ..UsageFilter::default() };
            let usage = store.model_usage(usage).await;
            let of_call = |all: Vec<UsageSum>| {
                option(all.into_iter().find(|sum| sum.purpose == purpose(through)))
            };
            add(&format!("usage {through}"), usage.map(of_call));
            let job = store.job(JobId(uuid_of(id, through))).await;
            let missing = matches!(job, Err(StoreError::NotFound { .. }));
            let job = if missing { Ok("None".to_owned()) } else { job.map(shown) };
            add(&format!("job {through}"), job);
        }
        let places = places(store, id).await;
        for word in 0..MESSAGES {
            let place = places.clone().map(|mut all| std::mem::take(&mut all[word]));
            add(&format!("place of word {word}"), place);
        }
    }
    served
}

/// Finds each word of a session in the index.
async fn places(store: &SqliteStore, session: SessionId) -> StoreResult<Vec<String>> {
    // After a recovery, the index is made again.
    index(store, session).await?;
    let lookup = IndexLookup {
        scope: SearchScope::Session(session),
        terms: (0..MESSAGES).map(|number| format!("word{number}")).collect(),
        families: Vec::new(),
        marks: Vec::new(),
        most: 1_000,
    };
    let found = store.lookup(lookup).await?.lists;
    Ok(found.into_iter().map(|list| option(list.filter(|places| !places.is_empty()))).collect())
}

async fn index(store: &SqliteStore, session: SessionId) -> StoreResult<()> {
    while let Some(range) = store.unindexed(session).await? {
        let through = Seq(range.before.unwrap().0 - 1);
        let messages = store.messages(session, range).await?;
        let entries = messages.iter().map(|stored| (stored.seq, analyse(&stored.raw))).collect();
        store.index(IndexBatch { session, entries, through }).await?;
    }
    Ok(())
}

fn purpose(through: usize) -> String {
    format!("summary through {through}")
}

fn shown<T: Debug>(value: T) -> String {
    format!("{value:?}")
}

fn option<T: Debug>(value: Option<T>) -> String {
    value.map_or("None".to_owned(), shown)
}

fn nth<T: Debug>(all: Vec<T>, index: usize) -> String {
    option(all.into_iter().nth(index))
}
