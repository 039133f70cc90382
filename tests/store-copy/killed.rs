//! Copies that are killed at random moments.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use bethink_harness::Rng;

use crate::world::{CopyServer, ReadHistory, copied, lived_in, start_on, store};

/// Kills the copy after a random time, again and again, and then lets it finish. Returns how often it was killed.
fn copy_with_kills(home: &Path, from: &str, to: &str, rng: &mut Rng) -> usize {
    let mut kills = 0;
    for _ in 0..12 {
        let mut command = store(home, &["copy", from, to]);
        let mut copy = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::park_timeout(Duration::from_millis(10 + rng.below(250) as u64));
        kills += usize::from(copy.try_wait().unwrap().is_none());
        copy.kill().unwrap();
        copy.wait().unwrap();
    }
    copied(home, from, to);
    kills
}

#[test]
fn killed_copies_lose_and_duplicate_no_row() {
    let world = CopyServer::shared();
    let (mut daemon, history) = lived_in();
    let path = daemon.home.path().to_owned();
    let home = path.to_str().unwrap().to_owned();
    let mut rng = Rng::new(7);
    let url = world.database();
    let kills = copy_with_kills(&path, &home, &url, &mut rng);
    assert!(kills > 0);
    std::fs::rename(path.join("bethink.db"), path.join("first.db")).unwrap();
    let mut moved = start_on(&url, &daemon);
    history.check(&ReadHistory::of(&moved));
    let history = ReadHistory::of(&moved);
    assert!(moved.terminate().success());
    let kills = copy_with_kills(&path, &url, &home, &mut rng);
    assert!(kills > 0);
    daemon.start();
    history.check(&ReadHistory::of(&daemon));
}
