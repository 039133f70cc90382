//! Many who write and save at the same time, and what is noticed of it.

use std::os::unix::fs::symlink;
use std::process::Command;

use bethink_harness::door::HttpDoor;
use bethink_harness::saves::{Size, run};
use bethink_harness::wait::{PATIENCE, until};

use crate::memory::Desk;

#[test]
fn nobodys_text_is_lost_through_the_api_in_editors_and_by_git() {
    let desk = Desk::new();
    let door = HttpDoor::new(&desk.daemon, desk.project());
    let size = Size { files: 5, writers: 20, edits: 15, git: true };
    let tally = run(door.dir(), &door, size, 1);
    assert_eq!((tally.lost, tally.refused), (vec![], [].into()));
    assert!(tally.written > 20 && tally.conflicts > 0 && tally.saved > 100);
}

/// Sessions start in any directory of a project, and all of them share its watch.
#[test]
fn a_second_directory_of_a_project_leaves_its_watch_alone() {
    let desk = Desk::new();
    let git = Command::new("git").args(["init", "-q"]).current_dir(&desk.project).status();
    assert!(git.unwrap().success());
    let below = desk.project.join("src");
    std::fs::create_dir(&below).unwrap();
    desk.put("fog", "Thick.\n", &[]).ok();
    let path = format!("/v1/memories/private/fog?project_dir={}", below.display());
    assert_eq!(desk.daemon.client().get(&path).text(), "Thick.\n");
    std::fs::write(desk.dir().join("sky.md"), "Blue.\n").unwrap();
    let seen = until(PATIENCE, || (desk.names() == ["fog", "sky"]).then_some(()));
    assert!(seen.is_some(), "{:?}", desk.names());
}

#[test]
fn what_becomes_strange_is_named_and_so_is_its_end() {
    let desk = Desk::new();
    desk.put("fog", "Thick.\n", &[]).ok();
    let (dir, index) = (desk.dir(), || desk.daemon.client().get(&desk.path("/index")).ok());
    let strange = |count: usize| {
        let named = || index()["strange"].as_array().map_or(0, Vec::len) == count;
        until(PATIENCE, || named().then_some(())).unwrap_or_else(|| panic!("{}", index()));
    };
    std::fs::remove_file(dir.join("fog.md")).unwrap();
    symlink("/etc/hostname", dir.join("fog.md")).unwrap();
    strange(1);
    assert_eq!(desk.names(), [] as [String; 0]);
    std::fs::remove_file(dir.join("fog.md")).unwrap();
    std::fs::write(dir.join("fog.md"), "Thin.\n").unwrap();
    strange(0);
    assert_eq!(desk.names(), ["fog"]);
}
