//! The disk of the database server is full.

use bethink_harness::disk::Disk;
use bethink_harness::wait::PATIENCE;
use bethink_harness::{say, until};
use serde_json::json;

use crate::{World, health, stored};

#[test]
fn a_full_disk_of_the_server_refuses_writes_and_loses_nothing() {
    let Some(disk) = Disk::mount(64 << 10) else { return };
    let world = World::shared();
    world.server.give(disk.path());
    world.admin(&format!("CREATE TABLESPACE small LOCATION '{}'", disk.path().display()));
    world.admin("CREATE DATABASE on_small_disk TABLESPACE small TEMPLATE template0");
    let daemon = world.home("on_small_disk").start();
    let session = daemon.session(200_000);
    daemon.append(&session, &[say::user("before")]);
    disk.fill().unwrap();
    let append = || {
        let body = json!({ "messages": [say::user(&"x".repeat(50_000))] });
        let path = format!("/v1/sessions/{session}/messages");
        daemon.client().patient(PATIENCE).post(&path, &body)
    };
    // The tables still have some room.
    let mut acknowledged = 1;
    let refused = loop {
        let answer = append();
        match answer.status {
            200 => acknowledged += 1,
            _ => break answer.problem(),
        }
        assert!(acknowledged < 100, "the disk is not full");
    };
    assert_eq!(refused["type"], "storage_full", "{refused}");
    assert_eq!(stored(&daemon, &session), acknowledged, "history can be read");
    assert_eq!(health(&daemon)["status"], "degraded");
    disk.free().unwrap();
    let is_well = || (health(&daemon)["status"] == "ok").then_some(());
    until(PATIENCE, is_well).expect("the daemon heals by itself");
    assert_eq!(append().status, 200);
    assert_eq!(stored(&daemon, &session), acknowledged + 1);
    daemon.is_well();
    drop(daemon);
    world.admin("DROP DATABASE on_small_disk WITH (FORCE)");
    world.admin("DROP TABLESPACE small");
}
