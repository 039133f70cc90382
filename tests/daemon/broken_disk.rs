//! A disk that is full, read-only or damaged.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use bethink_harness::daemon::binary;
use bethink_harness::disk::Disk;
use bethink_harness::wait::PATIENCE;
use bethink_harness::{Daemon, Home, kill_loop, say, until};

use crate::degraded::heals;
use serde_json::{Value, json};

/// Enough space for a new daemon only.
const SMALL_KIB: u64 = 4 * 1024;

/// Reports that a test is skipped.
pub(crate) fn skips(what: &str) {
    println!("SKIPPED: {what} needs a kernel that lets this user mount and remount a tmpfs");
}

#[test]
fn a_full_disk_is_507_reads_go_on_and_service_heals() {
    let Some(disk) = Disk::mount(SMALL_KIB) else { return skips("a full disk") };
    let mut daemon = Home::at(&disk.path().join("home")).start();
    let session = daemon.session(200_000);
    let path = format!("/v1/sessions/{session}/messages");
    let mut kept = 0;
    let full = (0..200).find_map(|n| {
        let message = say::with_id(&format!("m{n}"), say::user(&"fill the disk ".repeat(4000)));
        let answer = daemon.client().post(&path, &json!({"messages": [message]}));
        kept += usize::from(answer.status == 200);
        (answer.status != 200).then_some(answer)
    });
    let problem = full.expect("the disk fills").problem();
    assert_eq!(problem["status"], 507, "{problem}");
    assert!(problem["hint"].is_string(), "{problem}");
    assert_eq!(kill_loop::stored(&mut daemon.client(), &session).len(), kept, "reads go on");
    daemon.client().post(&format!("/v1/sessions/{session}/context"), &json!({"compact": "never"}));
    let words = daemon.client().get(&format!("/v1/sessions/{session}/search?q=disk")).ok();
    assert!(words["hits"].is_array(), "{words}");

    assert!(disk.remount("size=64m"));
    daemon.append(&session, &[say::with_id("after", say::user("there is room again"))]);
    heals(&daemon);
    daemon.kill9();
    daemon.start();
    assert_eq!(kill_loop::stored(&mut daemon.client(), &session).len(), kept + 1);
}

#[test]
fn an_import_that_fills_the_disk_ends_with_the_reason_and_is_finished_later() {
    let Some(disk) = Disk::mount(SMALL_KIB) else { return skips("a full disk") };
    let daemon = Home::at(&disk.path().join("home")).start();
    let file = daemon.home.scratch().join("large.jsonl");
    let line = |n: usize| {
        json!({
            "type": "user", "uuid": format!("u{n}"), "sessionId": "s", "timestamp": "2026-01-01T00:00:00Z",
            "message": say::user(&"fill the disk ".repeat(4000)),
        })
    };
    let lines: String = (0..100).map(|n| format!("{}\n", line(n))).collect();
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, lines).unwrap();
    let imported = Command::new(binary("bethink"))
        .args(["import", &file.display().to_string()])
        .env_clear()
        .env("HOME", daemon.home.scratch().join("person"))
        .env("BETHINK_HOME", daemon.home.path())
        .output()
        .unwrap();
    let told = String::from_utf8(imported.stderr).unwrap();
    assert_eq!(imported.status.code(), Some(1), "{told}");
    assert!(told.contains("the disk is full") && told.contains("finishes it"), "{told}");
    assert!(disk.remount("size=64m"));
    let mut client = daemon.client();
    let is_done = || (client.get("/v1/jobs").ok()["jobs"][0]["state"] == "done").then_some(());
    assert!(until(PATIENCE, is_done).is_some(), "{}", daemon.client().get("/v1/jobs").ok());
}

#[test]
fn a_home_on_a_disk_without_any_room_is_told_at_once() {
    let Some(disk) = Disk::mount(64) else { return skips("a disk without room") };
    fs::write(disk.path().join("ballast"), vec![0; 60 * 1024]).unwrap();
    let home = Home::at(&disk.path().join("home"));
    let exit = home.try_start().expect_err("no room to start in");
    assert!(exit.status.is_some_and(|s| !s.success()), "{exit:?}");
    assert!(exit.stderr.contains("home"), "names the place: {}", exit.stderr);
    assert!(!exit.stderr.contains("panicked"), "{}", exit.stderr);
}

#[test]
fn a_home_that_is_a_file_or_forbidden_is_told_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("home");
    fs::write(&file, "not a directory").unwrap();
    let exit = Home::at(&file).try_start().expect_err("a file is no home");
    assert!(exit.stderr.contains(file.to_str().unwrap()), "{}", exit.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap(), "not a directory");
}

#[test]
fn a_disk_that_turns_read_only_refuses_writes_and_goes_on_reading() {
    let Some(disk) = Disk::mount(SMALL_KIB) else { return skips("a read-only disk") };
    let daemon = Home::at(&disk.path().join("home")).start();
    let session = daemon.session(200_000);
    daemon.append(&session, &[say::user("before")]);
    // Some kernels do not allow the remount while a file is open for writing.
    if !disk.remount("ro") {
        return skips("a disk that turns read-only under an open database");
    }
    let path = format!("/v1/sessions/{session}/messages");
    let answer = daemon.client().post(&path, &json!({"messages": [say::user("x")]}));
    assert_eq!(answer.problem()["status"], 503, "{}", answer.brief());
    assert_eq!(kill_loop::stored(&mut daemon.client(), &session).len(), 1);
    assert!(disk.remount("rw"));
    heals(&daemon);
}

#[test]
fn a_database_damaged_in_a_crash_is_copied_aside_and_recovered() {
    is_recovered(Daemon::kill9);
}

#[test]
fn a_database_damaged_after_a_clean_stop_is_copied_aside_and_recovered() {
    is_recovered(|daemon| assert!(daemon.terminate().success()));
}

fn is_recovered(end: impl Fn(&mut Daemon)) {
    let mut daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    for n in 0..50 {
        daemon.append(&session, &say::work(n, 2000));
    }
    end(&mut daemon);
    let database = databases(daemon.home.path()).pop().expect("a database");
    let mut bytes = fs::read(&database).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 20_000].fill(0xa5);
    fs::write(&database, &bytes).unwrap();
    daemon.start();
    tells_of_damage(&daemon);
    let aside = files(daemon.home.path())
        .into_iter()
        .filter(|f| *f != database)
        .any(|f| fs::read(&f).is_ok_and(|copy| copy == bytes));
    assert!(aside, "the damaged file is kept: {:?}", files(daemon.home.path()));
    let whole = kill_loop::stored(&mut daemon.client(), &session).len();
    assert!(whole > 100, "{whole} of 200 messages are there");
}

#[test]
fn a_file_that_is_no_database_is_copied_aside_and_the_daemon_serves() {
    let mut daemon = Daemon::fresh();
    daemon.session(200_000);
    assert!(daemon.terminate().success());
    let database = databases(daemon.home.path()).pop().expect("a database");
    let garbage = b"this was a database once\n".repeat(1000);
    fs::write(&database, &garbage).unwrap();
    daemon.start();
    tells_of_damage(&daemon);
    let aside =
        files(daemon.home.path()).into_iter().any(|f| fs::read(f).is_ok_and(|c| c == garbage));
    assert!(aside, "the damaged file is kept: {:?}", files(daemon.home.path()));
}

#[test]
fn a_message_that_nobody_reads_is_checked_in_the_background() {
    let mut daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let messages: Vec<Value> =
        (0..50).map(|n| say::user(&format!("the boathouse is number {n}."))).collect();
    daemon.append(&session, &messages);
    let search = format!("/v1/sessions/{session}/search?q=boathouse");
    let indexed = || (daemon.client().get(&search).ok()["complete"] == true).then_some(());
    until(PATIENCE, indexed).expect("the start needs no message for the index");
    assert!(daemon.terminate().success());
    let database = databases(daemon.home.path()).pop().expect("a database");
    let (mut bytes, needle) = (fs::read(&database).unwrap(), b"the boathouse is number 37.");
    let at = bytes.windows(needle.len()).position(|window| window == needle).unwrap();
    bytes[at] ^= 1;
    let modified = fs::metadata(&database).unwrap().modified().unwrap();
    fs::write(&database, &bytes).unwrap();
    fs::File::options().write(true).open(&database).unwrap().set_modified(modified).unwrap();
    daemon.start();
    let health = || daemon.client().get("/health").ok();
    let told = until(PATIENCE, || Some(health()).filter(|health| health["status"] == "degraded"));
    let told = told.expect("the check finds it")["detail"].to_string();
    assert!(told.contains("of messages is corrupted"), "{told}");
    let doctor = Command::new(binary("bethink"))
        .args(["doctor", "--json"])
        .env_clear()
        .env("HOME", daemon.home.scratch().join("person"))
        .env("BETHINK_HOME", daemon.home.path())
        .output()
        .unwrap();
    assert_eq!(doctor.status.code(), Some(1), "{doctor:?}");
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.contains("of messages is corrupted"), "{doctor}");
    let refused = daemon.client().get(&format!("/v1/sessions/{session}/export"));
    assert_eq!(refused.json()["type"], "storage_damaged", "{}", refused.brief());
    daemon.terminate();
    daemon.start();
    assert_eq!(kill_loop::stored(&mut daemon.client(), &session).len(), 49, "the rest is whole");
    tells_of_damage(&daemon);
}

/// Checks that the daemon works, and that `/health` reports the damage.
fn tells_of_damage(daemon: &Daemon) {
    let health = daemon.client().get("/health").ok();
    assert_eq!(health["status"], "degraded", "{health}");
    assert!(health["detail"].is_string(), "{health}");
    let session = daemon.session(200_000);
    assert_eq!(daemon.append(&session, &[say::user("a new one")])["appended"], 1);
}

#[test]
fn a_home_keeps_to_its_owner() {
    let daemon = Daemon::fresh();
    for place in databases(daemon.home.path()).iter().chain([&daemon.home.path().to_path_buf()]) {
        let mode = fs::metadata(place).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}: {mode:o}", place.display());
    }
}

fn databases(home: &Path) -> Vec<PathBuf> {
    let is_database = |f: &PathBuf| fs::read(f).is_ok_and(|b| b.starts_with(b"SQLite format 3"));
    files(home).into_iter().filter(is_database).collect()
}

/// All files below a directory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => found.extend(files(&entry.path())),
            kind if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found
}
