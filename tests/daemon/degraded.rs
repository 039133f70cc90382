//! A daemon that starts while its home cannot be written: it serves reads, refuses writes, and heals by itself.

use bethink_harness::disk::Disk;
use bethink_harness::wait::PATIENCE;
use bethink_harness::{Daemon, Home, kill_loop, say, until};
use serde_json::{Value, json};

use crate::broken_disk::skips;

/// Enough space for the histories of these tests.
const ROOM_KIB: u64 = 16 * 1024;
/// Number of messages before the disk breaks: more than one search indexes at once.
const MESSAGES: usize = 40;

/// A home with a session on a disk of its own.
struct World {
    disk: Disk,
    daemon: Daemon,
    session: String,
}

impl World {
    fn new() -> Option<Self> {
        let disk = Disk::mount(ROOM_KIB)?;
        let daemon = Home::at(&disk.path().join("home")).start();
        let session = daemon.session(200_000);
        let messages: Vec<Value> =
            (0..MESSAGES).map(|n| say::user(&format!("the boathouse is number {n}"))).collect();
        daemon.append(&session, &messages);
        Some(Self { disk, daemon, session })
    }

    fn search(&self) -> Value {
        self.daemon.client().get(&format!("/v1/sessions/{}/search?q=boathouse", self.session)).ok()
    }

    fn stored(&self) -> usize {
        kill_loop::stored(&mut self.daemon.client(), &self.session).len()
    }

    /// Checks that everything can be read, and that a write is refused with this type.
    fn serves_reads_only(&self, refusal: &str) {
        let mut client = self.daemon.client();
        let of_session = |what: &str| format!("/v1/sessions/{}{what}", self.session);
        assert_eq!(self.stored(), MESSAGES);
        let project = self.daemon.home.scratch().display().to_string();
        for path in [
            of_session(""),
            of_session("/messages?limit=5"),
            of_session("/decisions"),
            of_session("/notes"),
            "/v1/sessions".to_owned(),
            "/v1/jobs".to_owned(),
            "/v1/usage".to_owned(),
            "/metrics".to_owned(),
            format!("/v1/memories?project_dir={project}"),
        ] {
            let answer = client.get(&path);
            assert!(answer.status < 500, "{path}: {}", answer.brief());
        }
        for (path, body) in [
            ("/v1/sessions".to_owned(), json!({"project_dir": project})),
            (of_session("/messages"), json!({"messages": [say::user("a new one")]})),
        ] {
            let problem = client.post(&path, &body).problem();
            assert_eq!(problem["type"], refusal, "{path}: {problem}");
            assert!(problem["hint"].is_string(), "{problem}");
        }
        assert_eq!(self.stored(), MESSAGES);
    }

    /// Checks that the daemon works again, and that everything was stored once.
    fn is_healed(&mut self) {
        heals(&self.daemon);
        let found =
            until(PATIENCE, || Some(self.search()).filter(|found| found["complete"] == true));
        assert!(found.is_some(), "the index is finished");
        self.daemon.append(&self.session, &[say::user("after")]);
        assert!(self.daemon.home.path().join("daemon.json").exists());
        self.daemon.kill9();
        self.daemon.start();
        assert_eq!(self.stored(), MESSAGES + 1);
        self.daemon.is_well();
    }
}

/// Waits until the daemon says that it is well, and checks that it works.
pub(crate) fn heals(daemon: &Daemon) {
    let is_ok = || (daemon.client().get("/health").ok()["status"] == "ok").then_some(());
    assert!(until(PATIENCE, is_ok).is_some(), "{}", daemon.client().get("/health").ok());
    daemon.is_well();
}

fn detail(daemon: &Daemon) -> Option<String> {
    let health = daemon.client().get("/health").ok();
    (health["status"] == "degraded").then(|| health["detail"].as_str().unwrap().to_owned())
}

fn starts_on_a_full_disk(end: impl Fn(&mut Daemon)) {
    let Some(mut world) = World::new() else { return skips("a full disk") };
    end(&mut world.daemon);
    // What the end of the daemon freed is taken, too.
    world.disk.fill().unwrap();
    world.daemon.start();
    let pid = world.daemon.pid().unwrap().to_string();
    let told = std::fs::read_to_string(world.daemon.home.path().join("daemon.json")).unwrap();
    assert!(told.contains(&pid), "clients find the daemon: {told}");
    world.serves_reads_only("storage_full");
    let told = until(PATIENCE, || detail(&world.daemon)).expect("the health is degraded");
    assert!(told.contains("the disk is full"), "{told}");
    // Nothing was indexed yet.
    assert_eq!(world.search()["complete"], false);
    world.disk.free().unwrap();
    world.is_healed();
}

#[test]
fn a_daemon_that_was_killed_starts_on_a_full_disk() {
    starts_on_a_full_disk(Daemon::kill9);
}

#[test]
fn a_daemon_that_was_stopped_starts_on_a_full_disk() {
    starts_on_a_full_disk(|daemon| assert!(daemon.terminate().success()));
}

#[test]
fn a_search_answers_while_the_disk_is_full_and_the_index_is_behind() {
    let Some(mut world) = World::new() else { return skips("a full disk") };
    world.disk.fill().unwrap();
    // Fills what the database has reserved.
    let path = format!("/v1/sessions/{}/messages", world.session);
    let large = say::user(&"fill the log ".repeat(20_000));
    let mut client = world.daemon.client();
    let refused = (0..100).any(|_| client.post(&path, &json!({"messages": [large]})).status == 507);
    assert!(refused, "the disk is full");
    assert!(detail(&world.daemon).is_some_and(|told| told.contains("the disk is full")));
    assert_eq!(world.search()["complete"], false);
    world.disk.free().unwrap();
    heals(&world.daemon);
    assert_eq!(world.search()["complete"], true);
    world.daemon.terminate();
}

fn starts_on_a_read_only_disk(end: impl Fn(&mut Daemon)) {
    let Some(mut world) = World::new() else { return skips("a read-only disk") };
    end(&mut world.daemon);
    assert!(world.disk.remount("ro"));
    world.daemon.start();
    world.serves_reads_only("read_only");
    assert!(detail(&world.daemon).is_some());
    assert_eq!(world.search()["complete"], false);
    assert!(world.disk.remount("rw"));
    world.is_healed();
}

#[test]
fn a_daemon_that_was_killed_starts_on_a_read_only_disk() {
    starts_on_a_read_only_disk(Daemon::kill9);
}

#[test]
fn a_daemon_that_was_stopped_starts_on_a_read_only_disk() {
    starts_on_a_read_only_disk(|daemon| assert!(daemon.terminate().success()));
}
