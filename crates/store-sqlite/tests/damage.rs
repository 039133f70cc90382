//! Tests of damaged files: each is noticed and copied, and intact rows are recovered.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod common;

use std::os::unix::fs::FileExt;

use bethink_store::{
    CheckStore, HealthStore, ImportStore, IndexBatch, IndexLookup, IndexStore, JobOutcome,
    JobState, JobStore, Lease, LedgerStore, MemoryAuthor, MemoryStore, MemoryVersionFilter,
    ModelCall, NewDecision, NewJob, NewMemoryVersion, NewSession, Progress, SearchScope, SeqRange,
    SessionChange, SessionStore, Store, StoreError, UsageFilter,
};
use bethink_store_sqlite::{Damage, OpenError, SqliteStore};
use bethink_transcript::{CallId, JobId, Seq, UnixMicros};
use common::{Home, NOW, analyse, append, found, message, session_id, whole_messages};
use uuid::Uuid;

const PAGE: u64 = 4096;

fn overwrite(home: &Home, at: u64, bytes: &[u8]) {
    let file = std::fs::OpenOptions::new().write(true).open(home.db()).unwrap();
    file.write_all_at(bytes, at).unwrap();
}

fn size(home: &Home) -> u64 {
    std::fs::metadata(home.db()).unwrap().len()
}

fn uncleanly_stopped(home: &Home) {
    std::fs::remove_file(home.beside(".clean")).unwrap();
}

/// Returns random-looking bytes.
fn garbage(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect()
}

/// Opens the damaged file. The damage must be reported, the file copied, and the store usable.
async fn recovered(home: &Home) -> (SqliteStore, Damage) {
    let before = std::fs::read(home.db()).unwrap();
    let (store, report) = home.open().await;
    let damage = report.damage.expect("damage is noticed");
    assert!(
        std::fs::read(damage.copy.as_ref().unwrap()).unwrap() == before,
        "the copy is the damaged file"
    );
    assert!(!report.new);
    let leftovers: Vec<_> = home
        .names()
        .into_iter()
        .filter(|name| name.contains("recover") || name.contains("salvage") || name.contains("new"))
        .collect();
    assert_eq!(leftovers, Vec::<String>::new());
    assert_eq!(store.check().await.unwrap(), None, "the recovered rows are intact");
    (store, damage)
}

fn rows(damage: &Damage, table: &str) -> u64 {
    damage.recovered.iter().find(|one| one.table == table).unwrap().rows
}

async fn goes_on(store: &SqliteStore) {
    let session = session_id(1);
    let before = store.session(session).await.unwrap().last_seq;
    let next = store.append(append(session, vec![message(100_000)])).await.unwrap();
    assert_eq!(next.last_seq, before.next());
    assert_eq!(found(store, session, "word100000").await, 1);
}

#[tokio::test]
async fn garbage_in_the_middle_costs_what_it_covers() {
    let home = Home::filled(2000).await;
    uncleanly_stopped(&home);
    let middle = size(&home) / 2 / PAGE * PAGE;
    overwrite(&home, middle, &garbage(3 * PAGE as usize));
    let (store, damage) = recovered(&home).await;
    assert_eq!(rows(&damage, "sessions"), 2);
    let whole =
        whole_messages(&store, session_id(1)).await + whole_messages(&store, session_id(2)).await;
    assert_eq!(whole as u64, rows(&damage, "messages"));
    assert!((1900..=2000).contains(&whole), "{whole}");
    assert_eq!(store.session(session_id(1)).await.unwrap().last_seq, Seq(1000));
    assert_eq!(found(&store, session_id(2), "word999").await, 1, "the index is rebuilt");
    goes_on(&store).await;
    store.close().await.unwrap();
    assert_eq!(home.open().await.1.damage, None, "once");
}

#[tokio::test]
async fn a_page_of_garbage_anywhere_is_survived() {
    let template = Home::filled(120).await;
    let bytes = std::fs::read(template.db()).unwrap();
    let pages = bytes.len() as u64 / PAGE;
    for page in 0..pages {
        let home = Home::new();
        std::fs::create_dir(home.db().parent().unwrap()).unwrap();
        std::fs::write(home.db(), &bytes).unwrap();
        overwrite(&home, page * PAGE, &garbage(PAGE as usize));
        let (store, report) = home.open().await;
        // A damaged index page or free page may lose no rows, but must be noticed unless it is unused.
        if let Some(damage) = report.damage {
            assert!(rows(&damage, "messages") >= 70, "page {page}: {damage:?}");
        }
        let mut whole = 0;
        for number in 1..=2 {
            if store.session(session_id(number)).await.is_ok() {
                whole += whole_messages(&store, session_id(number)).await;
            }
        }
        assert!(whole >= 70, "page {page}: {whole}");
        assert_eq!(store.check().await.unwrap(), None, "page {page}");
    }
}

#[tokio::test]
async fn a_file_cut_off_keeps_its_beginning() {
    let home = Home::filled(2000).await;
    let length = size(&home) / 2 + 77;
    std::fs::OpenOptions::new().write(true).open(home.db()).unwrap().set_len(length).unwrap();
    let (store, damage) = recovered(&home).await;
    let whole = whole_messages(&store, session_id(1)).await;
    assert!(whole > 500, "{whole} of 1000, {damage:?}");
    goes_on(&store).await;
}

/// The mark of the last clean stop is about the file that the backup replaced.
#[tokio::test]
async fn a_restored_backup_of_another_size_is_not_damaged() {
    let (home, backup) = (Home::filled(2000).await, Home::filled(20).await);
    assert_ne!(size(&home), size(&backup));
    std::fs::copy(backup.db(), home.db()).unwrap();
    let (store, report) = home.open().await;
    assert_eq!(report.damage, None);
    assert!(report.check_due);
    assert_eq!(whole_messages(&store, session_id(1)).await, 10);
    goes_on(&store).await;
}

#[tokio::test]
async fn lost_messages_are_counted_and_their_file_can_be_imported_again() {
    let home = Home::filled(20).await;
    let (store, _) = home.open().await;
    for number in [3, 4] {
        let new = NewSession {
            content_hash: Some(format!("hash of file {number}")),
            ..NewSession::new(session_id(number), "/project".into(), "{}".into(), NOW)
        };
        store.create_session(new, None).await.unwrap();
    }
    store.append(append(session_id(3), vec![message(777_777)])).await.unwrap();
    store.append(append(session_id(4), vec![message(888_888)])).await.unwrap();
    store.close().await.unwrap();
    let bytes = std::fs::read(home.db()).unwrap();
    let at = bytes.windows(10).position(|found| found == b"word777777").unwrap();
    overwrite(&home, at as u64, b"WORD777777");
    store_is_suspect(&home).await;
    let (store, damage) = recovered(&home).await;
    assert_eq!((damage.lost_messages, damage.incomplete_sessions), (1, 1));
    assert_eq!(store.imported("hash of file 3").await.unwrap(), None);
    assert_eq!(store.imported("hash of file 4").await.unwrap(), Some(session_id(4)));
}

/// Reads everything, so that the damage is noticed and the next start recovers the file.
async fn store_is_suspect(home: &Home) {
    let (store, _) = home.open().await;
    assert!(store.check().await.unwrap().is_some());
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_gone_is_reported_once() {
    let home = Home::filled(20).await;
    std::fs::remove_file(home.db()).unwrap();
    let (store, report) = home.open().await;
    assert!(report.new);
    let damage = report.damage.unwrap();
    assert!(damage.copy.is_none() && damage.reason.contains("is gone"), "{damage:?}");
    store.close().await.unwrap();
    assert_eq!(home.open().await.1.damage, None);
}

#[tokio::test]
async fn a_log_that_is_gone_is_reported_once() {
    let home = Home::filled(20).await;
    // What a killed daemon leaves, without its log.
    uncleanly_stopped(&home);
    std::fs::write(home.beside("-shm"), []).unwrap();
    let (store, report) = home.open().await;
    let damage = report.damage.unwrap();
    assert!(damage.copy.is_none() && damage.reason.contains("-wal"), "{damage:?}");
    store.close().await.unwrap();
    assert_eq!(home.open().await.1.damage, None);
}

/// Otherwise, a hook would begin an empty history while a copy is interrupted.
#[tokio::test]
async fn no_new_file_is_made_beside_an_unfinished_copy() {
    let home = Home::new();
    std::fs::create_dir(home.db().parent().unwrap()).unwrap();
    std::fs::write(home.beside(".copying"), []).unwrap();
    let refused = home.try_open().await.unwrap_err();
    assert!(matches!(refused, OpenError::UnfinishedCopy(_)), "{refused}");
    assert_eq!(home.names(), ["db.copying"]);
}

#[tokio::test]
async fn a_lost_beginning_is_lent_by_a_fresh_file() {
    let home = Home::filled(2000).await;
    overwrite(&home, 0, &garbage(PAGE as usize));
    let (store, _) = recovered(&home).await;
    assert_eq!(whole_messages(&store, session_id(1)).await, 1000);
    assert_eq!(whole_messages(&store, session_id(2)).await, 1000);
    assert_eq!(store.session(session_id(1)).await.unwrap().title.as_deref(), Some("kept title"));
    goes_on(&store).await;
}

#[tokio::test]
async fn an_empty_file_is_not_a_new_one() {
    let home = Home::filled(20).await;
    std::fs::write(home.db(), []).unwrap();
    let (store, damage) = recovered(&home).await;
    assert_eq!(rows(&damage, "messages"), 0);
    common::make_session(&store, 1).await;
    goes_on(&store).await;
}

#[tokio::test]
async fn a_text_file_is_kept_aside() {
    let home = Home::new();
    std::fs::create_dir(home.db().parent().unwrap()).unwrap();
    std::fs::write(home.db(), "Dear diary,\n").unwrap();
    let (store, damage) = recovered(&home).await;
    assert_eq!(std::fs::read(damage.copy.as_ref().unwrap()).unwrap(), b"Dear diary,\n");
    common::make_session(&store, 1).await;
    goes_on(&store).await;
}

#[tokio::test]
async fn a_log_without_its_file_gives_back_what_it_holds() {
    let home = Home::new();
    let (store, _) = home.open().await;
    common::fill(&store, 100).await;
    let lost = Home::new();
    std::fs::create_dir(lost.db().parent().unwrap()).unwrap();
    std::fs::copy(home.beside("-wal"), lost.beside("-wal")).unwrap();
    std::fs::write(lost.db(), []).unwrap();
    let (store, _) = recovered(&lost).await;
    assert_eq!(whole_messages(&store, session_id(1)).await, 50);
}

/// SQLite itself does not notice this damage; the checksum does.
#[tokio::test]
async fn a_bit_that_fell_over_is_seen_by_a_check() {
    let home = Home::filled(100).await;
    let bytes = std::fs::read(home.db()).unwrap();
    let needle = b"word37 word37 word37";
    let at = bytes.windows(needle.len()).position(|window| window == needle).unwrap();
    overwrite(&home, at as u64, b"worD37");
    let (store, report) = home.open().await;
    assert_eq!(report.damage, None);
    let mut refused = 0;
    for session in [session_id(1), session_id(2)] {
        if let Err(error) = store.messages(session, SeqRange::all()).await {
            assert!(matches!(&error, StoreError::Damaged(why) if why.contains("is corrupted")));
            refused += 1;
        }
    }
    assert_eq!(refused, 1, "an altered message is not served");
    assert!(store.damage().is_some_and(|why| why.contains("is corrupted")));
    let fault = store.check().await.unwrap().expect("the check sees it");
    assert!(fault.contains("is corrupted"), "{fault}");
    store.close().await.unwrap();
    let (store, damage) = recovered(&home).await;
    assert_eq!(rows(&damage, "messages"), 99);
    assert_eq!(damage.recovered.iter().map(|table| table.spoiled).sum::<u64>(), 1);
    let whole = whole_messages(&store, session_id(1)).await;
    assert_eq!(whole + whole_messages(&store, session_id(2)).await, 99);
}

/// Replaces a string in the file with another one of the same length.
fn alter(home: &Home, text: &str, to: &str) {
    let bytes = std::fs::read(home.db()).unwrap();
    let found = bytes.windows(text.len()).position(|window| window == text.as_bytes());
    overwrite(home, found.unwrap() as u64, to.as_bytes());
}

#[tokio::test]
async fn an_altered_row_of_any_kind_is_refused_and_the_file_marked() {
    let home = Home::filled(20).await;
    alter(&home, "kept title", "kepT title");
    let (store, _) = home.open().await;
    let sessions = [store.session(session_id(1)).await, store.session(session_id(2)).await];
    let refused = sessions.iter().filter(|one| matches!(one, Err(StoreError::Damaged(_)))).count();
    assert_eq!(refused, 1, "{sessions:?}");
    assert!(store.damage().is_some_and(|why| why.contains("of sessions is corrupted")));
    store.close().await.unwrap();
    let (store, damage) = recovered(&home).await;
    assert!(damage.reason.contains("of sessions is corrupted"));
    let titles = [session_id(1), session_id(2)].map(|id| store.session(id));
    for title in titles {
        let title = title.await.unwrap().title.unwrap();
        assert!(["kept title", "recovered"].contains(&title.as_str()), "{title}");
    }
}

/// The schema is text in the file. Its statements are not run again, so a changed name shows only when it is used.
#[tokio::test]
async fn a_column_with_an_altered_name_is_damage_and_its_rows_are_recovered() {
    let home = Home::filled(20).await;
    let (store, _) = home.open().await;
    let version = NewMemoryVersion {
        directory: "project/private".into(),
        file: "fog.md".into(),
        hash: "h".into(),
        content: Some(b"fog".to_vec().into()),
        author: MemoryAuthor::Person,
        session: None,
        note: "added".into(),
        at: NOW,
    };
    store.add_memory_versions(vec![version]).await.unwrap();
    store.close().await.unwrap();
    alter(&home, "author    TEXT", "auth0r    TEXT");
    let (store, _) = home.open().await;
    let filter = || MemoryVersionFilter {
        directory: "project/private".into(),
        limit: 10,
        ..MemoryVersionFilter::default()
    };
    let read = store.memory_versions(filter()).await;
    assert!(matches!(read, Err(StoreError::Damaged(_))), "{read:?}");
    store.close().await.unwrap();
    let (store, _) = recovered(&home).await;
    assert_eq!(store.memory_versions(filter()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_role_and_the_time_of_a_message_are_covered_by_its_checksum() {
    use sqlx::{ConnectOptions, Connection};
    for change in [
        "UPDATE messages SET role = 1 WHERE seq = 3",
        "UPDATE messages SET recorded = 1 WHERE seq = 3",
        "UPDATE messages SET created_at = created_at + 1 WHERE seq = 3",
    ] {
        let home = Home::filled(20).await;
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(home.db());
        let mut connection = options.connect().await.unwrap();
        sqlx::query(change).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        let (store, _) = home.open().await;
        let read = store.messages(session_id(1), SeqRange::all()).await;
        assert!(matches!(read, Err(StoreError::Damaged(_))), "{change}");
    }
}

/// A change of some columns would also give the altered columns a new checksum.
#[tokio::test]
async fn an_altered_row_is_not_given_a_new_checksum() {
    let home = Home::filled(20).await;
    alter(&home, "kept title", "kepT title");
    let (store, _) = home.open().await;
    let change =
        || SessionChange { titled: Some(true), updated_at: NOW, ..SessionChange::default() };
    let mut refused = 0;
    for session in [session_id(1), session_id(2)] {
        refused += usize::from(store.update_session(session, change()).await.is_err());
    }
    assert_eq!(refused, 1);
    assert!(store.damage().is_some());
}

/// A row of an older database has no checksum until it is written.
#[tokio::test]
async fn a_row_without_a_checksum_is_intact_and_gets_one() {
    use sqlx::{ConnectOptions, Connection};
    let home = Home::filled(20).await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(home.db());
    let mut connection = options.connect().await.unwrap();
    sqlx::query("UPDATE sessions SET seal = NULL").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let (store, _) = home.open().await;
    goes_on(&store).await;
    assert_eq!(store.check().await.unwrap(), None);
    let change = SessionChange { titled: Some(true), updated_at: NOW, ..SessionChange::default() };
    store.update_session(session_id(1), change).await.unwrap();
    store.close().await.unwrap();
    let mut connection = options.connect().await.unwrap();
    let sealed = sqlx::query_scalar("SELECT count(*) FROM sessions WHERE seal IS NOT NULL");
    let sealed: i64 = sealed.fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    assert_eq!(sealed, 1);
}

/// SQLite does not compare indexes with their tables when it reads, so a message would be missing without an error.
#[tokio::test]
async fn a_check_finds_a_message_that_its_index_does_not_have() {
    let home = Home::filled(200).await;
    let bytes = std::fs::read(home.db()).unwrap();
    // In the index of ids, the session comes right before the id; in the table, its number is between them.
    let mut entry = session_id(1).0.as_bytes().to_vec();
    entry.extend(b"m37");
    for (at, window) in (0..).zip(bytes.windows(entry.len())) {
        if window == entry {
            overwrite(&home, at + 17, b"9");
        }
    }
    let (store, _) = home.open().await;
    assert!(store.damage().is_none());
    let fault = store.check().await.unwrap().expect("the check sees it");
    assert!(fault.contains("index"), "{fault}");
}

/// After 200 answered appends, one bit of the log changes. Either all messages are there, or the store reports that
/// some are not.
#[tokio::test]
async fn a_changed_bit_in_the_log_does_not_drop_what_comes_after() {
    let home = Home::new();
    let (store, _) = home.open().await;
    common::fill(&store, 200).await;
    for number in 100..200 {
        store.append(append(session_id(1), vec![message(number)])).await.unwrap();
    }
    let damaged = Home::new();
    std::fs::create_dir(damaged.db().parent().unwrap()).unwrap();
    for end in ["", "-wal"] {
        std::fs::copy(home.beside(end), damaged.beside(end)).unwrap();
    }
    let mut log = std::fs::read(damaged.beside("-wal")).unwrap();
    let middle = log.len() / 2;
    log[middle] ^= 1;
    std::fs::write(damaged.beside("-wal"), log).unwrap();
    let (store, damage) = recovered(&damaged).await;
    assert!(damage.reason.contains("write-ahead log"), "{}", damage.reason);
    assert_eq!(whole_messages(&store, session_id(1)).await, 200);
    goes_on(&store).await;
}

/// The next start must not find the end of a dropped transaction after later ones.
#[tokio::test]
async fn a_torn_transaction_is_removed_from_the_log() {
    let home = Home::new();
    let (store, _) = home.open().await;
    common::fill(&store, 40).await;
    let many = (20..60).map(message).collect();
    store.append(append(session_id(1), many)).await.unwrap();
    let torn = Home::new();
    std::fs::create_dir(torn.db().parent().unwrap()).unwrap();
    for end in ["", "-wal"] {
        std::fs::copy(home.beside(end), torn.beside(end)).unwrap();
    }
    let mut log = std::fs::read(torn.beside("-wal")).unwrap();
    let end = log.len();
    // A sector of the last transaction that was not written, before its end.
    log[end - 8192..end - 7680].fill(0);
    std::fs::write(torn.beside("-wal"), &log).unwrap();
    let (store, report) = torn.open().await;
    assert!(report.torn && report.damage.is_none(), "{report:?}");
    assert_eq!(whole_messages(&store, session_id(1)).await, 20);
    let kept = std::fs::metadata(torn.beside("-wal")).unwrap().len();
    assert!(kept < end as u64, "{kept} bytes of {end}");
}

#[tokio::test]
async fn a_changed_migration_is_damage_and_not_another_program() {
    use sqlx::{ConnectOptions, Connection};
    for change in [
        "UPDATE _sqlx_migrations SET checksum = x'00' WHERE version = 7",
        "UPDATE _sqlx_migrations SET version = 7000 WHERE version = 7",
    ] {
        let home = Home::filled(20).await;
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(home.db());
        let mut connection = options.connect().await.unwrap();
        sqlx::query(change).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        let (store, _) = recovered(&home).await;
        assert_eq!(whole_messages(&store, session_id(1)).await, 10);
    }
}

#[tokio::test]
async fn the_result_of_a_job_is_not_served_altered() {
    let home = Home::new();
    let (store, _) = home.open().await;
    let id = JobId(Uuid::from_u128(7));
    let new = NewJob {
        id,
        kind: "import".into(),
        session: None,
        payload: "{}".into(),
        background: false,
        created_at: NOW,
    };
    store.enqueue(new).await.unwrap();
    let until = UnixMicros(NOW.0 + 1);
    let lease = Lease { owner: "me".into(), now: NOW, until, background: true };
    store.lease(lease).await.unwrap().unwrap();
    let outcome = JobOutcome::Done("{\"session\":\"the lighthouse\"}".into());
    store.finish(id, "me".into(), outcome, NOW).await.unwrap();
    assert_eq!(store.job(id).await.unwrap().state, JobState::Done);
    store.close().await.unwrap();
    let bytes = std::fs::read(home.db()).unwrap();
    let needle = b"the lighthouse";
    let at = bytes.windows(needle.len()).position(|window| window == needle).unwrap();
    overwrite(&home, at as u64, b"the lighthousE");
    let (store, _) = home.open().await;
    let read = store.job(id).await;
    assert!(matches!(&read, Err(StoreError::Damaged(why)) if why.contains("jobs")), "{read:?}");
    assert!(store.damage().is_some());
}

/// A waiting job would be run with an altered payload, and a heartbeat or a release would give it a new checksum. The jobs
/// behind it still run.
#[tokio::test]
async fn an_altered_job_is_passed_over() {
    let home = Home::new();
    let (store, _) = home.open().await;
    let new = |number| NewJob {
        id: JobId(Uuid::from_u128(number)),
        kind: "import".into(),
        session: None,
        payload: format!("{{\"path\":\"lighthouse{number}\"}}"),
        background: false,
        created_at: UnixMicros(NOW.0 + number as i64),
    };
    let until = UnixMicros(NOW.0 + 1);
    let lease = || Lease { owner: "me".into(), now: NOW, until, background: true };
    for number in [1, 2, 3, 4] {
        store.enqueue(new(number)).await.unwrap();
    }
    let altered = store.lease(lease()).await.unwrap().unwrap();
    let running = store.lease(lease()).await.unwrap().unwrap();
    let progress = Progress { done: 1, total: 2, ..Progress::default() };
    for job in [&altered, &running] {
        store.heartbeat(job.id, lease(), progress.clone()).await.unwrap();
    }
    assert_eq!(store.job(altered.id).await.unwrap().progress, progress);
    store.close().await.unwrap();
    alter(&home, "lighthouse1", "lighthousE1");
    alter(&home, "lighthouse3", "lighthousE3");

    let (store, _) = home.open().await;
    let heartbeat = store.heartbeat(altered.id, lease(), progress).await;
    assert!(matches!(heartbeat, Err(StoreError::Damaged(_))), "{heartbeat:?}");
    store.release("me".into()).await.unwrap();
    assert!(store.damage().is_some_and(|why| why.contains("jobs")));
    for number in [2, 4] {
        let leased = store.lease(lease()).await.unwrap().map(|job| job.id);
        assert_eq!(leased, Some(new(number).id));
    }
    assert_eq!(store.lease(lease()).await.unwrap(), None);
    for number in [1, 3] {
        let read = store.job(new(number).id).await;
        assert!(matches!(read, Err(StoreError::Damaged(_))), "{read:?}");
    }
}

/// An altered page of the index would hide a message from search, or show one without the word.
#[tokio::test]
async fn an_altered_page_of_the_index_is_not_searched() {
    let home = Home::filled(20).await;
    let (store, _) = home.open().await;
    assert_eq!(found(&store, session_id(1), "word7").await, 1);
    store.close().await.unwrap();
    let bytes = std::fs::read(home.db()).unwrap();
    // Only in the index does a term not repeat.
    let at = (0..bytes.len() - 12).find(|at| {
        bytes[*at..].starts_with(b"word7")
            && !bytes[at + 5..at + 12].starts_with(b" word7")
            && !bytes[..*at].ends_with(b"word7 ")
    });
    overwrite(&home, at.unwrap() as u64, b"worD7");
    let (store, _) = home.open().await;
    let lookup = IndexLookup {
        scope: SearchScope::Session(session_id(1)),
        terms: vec!["word7".into()],
        families: Vec::new(),
        marks: Vec::new(),
        most: 10,
    };
    let searched = store.lookup(lookup).await;
    assert!(matches!(&searched, Err(StoreError::Damaged(why)) if why.contains("index")));
    assert!(store.check().await.unwrap().is_some_and(|fault| fault.contains("index_pages")));
    store.close().await.unwrap();
    let (store, _) = recovered(&home).await;
    assert_eq!(found(&store, session_id(1), "word7").await, 1, "the index is rebuilt");
}

/// Returns what is not indexed yet.
async fn batch(store: &SqliteStore) -> IndexBatch {
    let session = session_id(1);
    let range = store.unindexed(session).await.unwrap().unwrap();
    let through = Seq(range.before.unwrap().0 - 1);
    let messages = store.messages(session, range).await.unwrap();
    let entries = messages.iter().map(|stored| (stored.seq, analyse(&stored.raw))).collect();
    IndexBatch { session, entries, through }
}

/// A segment outside of its range of sessions would not be searched, and no change may give it a new checksum.
#[tokio::test]
async fn an_altered_segment_is_found() {
    use sqlx::{ConnectOptions, Connection};
    for (table, change) in [("index_segments", "last_session = 0"), ("index_sessions", "terms = 9")]
    {
        let home = Home::filled(20).await;
        let (store, _) = home.open().await;
        assert_eq!(found(&store, session_id(1), "word7").await, 1);
        store.close().await.unwrap();
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(home.db());
        let mut connection = options.connect().await.unwrap();
        let change = sqlx::AssertSqlSafe(format!("UPDATE {table} SET {change}"));
        sqlx::query(change).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        let (store, _) = home.open().await;
        store.append(append(session_id(1), vec![message(100)])).await.unwrap();
        let indexed = store.index(batch(&store).await).await;
        assert!(matches!(&indexed, Err(StoreError::Damaged(why)) if why.contains(table)));
        assert!(store.check().await.unwrap().is_some_and(|fault| fault.contains(table)));
    }
}

#[tokio::test]
async fn the_time_of_a_check_is_kept() {
    let home = Home::filled(20).await;
    let (store, _) = home.open().await;
    assert_eq!(store.checked_at().await.unwrap(), None);
    store.set_checked_at(Some(NOW)).await.unwrap();
    store.close().await.unwrap();
    assert_eq!(home.open().await.0.checked_at().await.unwrap(), Some(NOW));
}

#[tokio::test]
async fn a_session_is_made_again_for_its_messages() {
    use sqlx::{ConnectOptions, Connection};
    let home = Home::filled(20).await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(home.db());
    let mut connection = options.connect().await.unwrap();
    sqlx::query("DELETE FROM sessions").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    std::fs::write(home.beside(".suspect"), "seen by a check").unwrap();
    let (store, damage) = recovered(&home).await;
    assert_eq!(damage.reason, "seen by a check");
    let session = store.session(session_id(1)).await.unwrap();
    assert_eq!((session.title.as_deref(), session.last_seq), (Some("recovered"), Seq(10)));
    assert_eq!(whole_messages(&store, session_id(1)).await, 10);
    let decision =
        NewDecision { kind: "k".into(), data: "{}".into(), made_after: Seq(1), created_at: NOW };
    store.add_decisions(session_id(1), vec![decision]).await.unwrap();
    goes_on(&store).await;
}

/// The daemon is killed before the recovered file replaces the damaged one.
#[tokio::test]
async fn an_interrupted_recovery_is_finished() {
    let home = Home::filled(20).await;
    std::fs::rename(home.db(), home.beside(".recovered")).unwrap();
    std::fs::write(home.db(), "damaged").unwrap();
    std::fs::write(home.beside("-wal"), "a log of the damaged file").unwrap();
    std::fs::write(home.beside(".recovering"), "unfinished").unwrap();
    let (store, report) = home.open().await;
    assert_eq!(report.damage, None);
    assert_eq!(whole_messages(&store, session_id(1)).await, 10);
    assert!(!home.names().iter().any(|name| name.contains("recover")));
}

/// The index is not recovered but rebuilt from the messages.
#[tokio::test]
async fn what_a_recovery_does_not_index_is_marked() {
    let home = Home::filled(20).await;
    std::fs::write(home.beside(".suspect"), "seen by a check").unwrap();
    let (store, report) = home.open().await;
    assert!(report.damage.is_some());
    let session = session_id(1);
    let all = SeqRange { before: Some(Seq(11)), ..SeqRange::from(Seq(1)) };
    assert_eq!(store.unindexed(session).await.unwrap(), Some(all));
    assert_eq!(found(&store, session, "word3").await, 1);
    assert!(store.unindexed(session_id(2)).await.unwrap().is_some());
    assert_eq!(found(&store, session_id(2), "word3").await, 1);
    goes_on(&store).await;
}

/// The ledger is recovered. Its rows do not recreate a session, because it may have been deleted.
#[tokio::test]
async fn the_ledger_survives_a_recovery() {
    let home = Home::filled(20).await;
    let (store, _) = home.open().await;
    let call = ModelCall {
        id: CallId(session_id(1).0),
        session: Some(session_id(9)),
        purpose: "summary".into(),
        provider: "anthropic".into(),
        model: "m".into(),
        started_at: NOW,
        millis: 1,
        input: 10,
        output: 20,
        cache_read: 30,
        cache_write: 40,
        cost: Some(50),
        outcome: "ok".into(),
    };
    store.add_model_call(call).await.unwrap();
    let before = store.model_usage(UsageFilter::default()).await.unwrap();
    store.close().await.unwrap();
    std::fs::write(home.beside(".suspect"), "seen by a check").unwrap();
    let (store, damage) = recovered(&home).await;
    assert_eq!((rows(&damage, "model_calls"), rows(&damage, "sessions")), (1, 2));
    assert_eq!(store.model_usage(UsageFilter::default()).await.unwrap(), before);
    store.close().await.unwrap();
    alter(&home, "anthropic", "anthropiC");
    let (store, _) = home.open().await;
    let sums = store.model_usage(UsageFilter::default()).await;
    assert!(matches!(&sums, Err(StoreError::Damaged(why)) if why.contains("model_calls")));
}
