//! Helpers for the tests.

#![allow(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    reason = "each test file uses a part of it"
)]

use std::path::{Path, PathBuf};

use bethink_store::{
    Append, IndexBatch, IndexLookup, IndexStore, NewMessage, NewSession, SearchScope, SeqRange,
    SessionStore, Store, Terms,
};
use bethink_store_sqlite::{OpenError, OpenReport, Options, SqliteStore};
use bethink_transcript::{MessageId, Role, Seq, SessionId, UnixMicros};
use bytes::Bytes;
use uuid::Uuid;

pub const NOW: UnixMicros = UnixMicros(1_700_000_000_000_000);

pub struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub fn db(&self) -> PathBuf {
        self.dir.path().join("home").join("db")
    }

    pub fn beside(&self, end: &str) -> PathBuf {
        PathBuf::from(format!("{}{end}", self.db().display()))
    }

    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.db().parent().unwrap())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub async fn open(&self) -> (SqliteStore, OpenReport) {
        self.try_open().await.unwrap()
    }

    pub async fn try_open(&self) -> Result<(SqliteStore, OpenReport), OpenError> {
        SqliteStore::open(&self.db(), options()).await
    }

    /// Makes a closed store with `messages` messages in two sessions.
    pub async fn filled(messages: usize) -> Self {
        let home = Self::new();
        let (store, _) = home.open().await;
        fill(&store, messages).await;
        store.close().await.unwrap();
        home
    }
}

/// Random numbers that are the same in each run (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next().to_le_bytes()[0]).collect()
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

pub fn options() -> Options {
    Options::new(NOW)
}

pub fn analyse(raw: &[u8]) -> Terms {
    Terms { user: String::from_utf8_lossy(raw).into_owned(), ..Terms::default() }
}

pub fn session_id(number: u128) -> SessionId {
    SessionId(Uuid::from_u128(number))
}

pub async fn make_session(store: &SqliteStore, number: u128) -> SessionId {
    let new = NewSession {
        title: Some("kept title".into()),
        ..NewSession::new(session_id(number), "/project".into(), "{}".into(), NOW)
    };
    store.create_session(new, None).await.unwrap().session.id
}

pub async fn fill(store: &SqliteStore, messages: usize) {
    for number in 1..=2 {
        let session = make_session(store, number).await;
        let messages: Vec<_> = (0..messages / 2).map(message).collect();
        for messages in messages.chunks(100) {
            store.append(append(session, messages.to_vec())).await.unwrap();
        }
    }
}

pub fn append(session: SessionId, messages: Vec<NewMessage>) -> Append {
    Append { session, messages, only_new: false, receipt: None, at: NOW }
}

/// Makes about 600 bytes that depend on this number.
pub fn message(number: usize) -> NewMessage {
    let raw = Bytes::from(format!("word{number} ").repeat(70));
    NewMessage {
        id: MessageId::new(&format!("m{number}")).unwrap(),
        role: Role::User,
        raw,
        recorded: false,
        created_at: NOW,
    }
}

/// Returns the number of messages in a session, and checks that each one is unchanged.
pub async fn whole_messages(store: &SqliteStore, session: SessionId) -> usize {
    let messages = store.messages(session, SeqRange::all()).await.unwrap();
    for stored in &messages {
        let number: usize = stored.id.as_str()[1..].parse().unwrap();
        assert_eq!(stored.raw, message(number).raw);
        assert_eq!(stored.seq.0, number as u64 + 1, "numbers keep their meaning");
    }
    messages.len()
}

pub async fn finish_index(store: &SqliteStore, session: SessionId) {
    while let Some(range) = store.unindexed(session).await.unwrap() {
        let messages = store.messages(session, range).await.unwrap();
        let through = Seq(range.before.unwrap().0 - 1);
        let entries = messages.iter().map(|stored| (stored.seq, analyse(&stored.raw))).collect();
        store.index(IndexBatch { session, entries, through }).await.unwrap();
    }
}

pub async fn found(store: &SqliteStore, session: SessionId, word: &str) -> usize {
    finish_index(store, session).await;
    let (scope, terms) = (SearchScope::Session(session), vec![word.to_owned()]);
    let found = store
        .lookup(IndexLookup {
            scope,
            terms,
            families: Vec::new(),
            marks: Vec::new(),
            most: 1_000_000,
        })
        .await
        .unwrap();
    found.lists[0].as_ref().unwrap().len()
}

pub fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}
