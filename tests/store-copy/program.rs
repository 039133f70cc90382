//! How `bethink store` and the program that works for it, `bethinkd store`, depend on each other.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use bethink_harness::daemon::binary;
use tempfile::tempdir;

use crate::world::{EndedProgram, run};

fn run_in(home: &Path, program: &Path, words: &[&str]) -> EndedProgram {
    let mut command = Command::new(program);
    command.args(words).env_clear().env("HOME", home).stdin(Stdio::null());
    run(command)
}

#[test]
fn a_program_that_is_missing_or_dies_is_reported() {
    let dir = tempdir().unwrap();
    let (own, daemon) = (dir.path().join("bethink"), dir.path().join("bethinkd"));
    fs::copy(binary("bethink"), &own).unwrap();
    let missing = run_in(dir.path(), &own, &["store", "check"]);
    assert_eq!(missing.code, Some(3), "{missing:?}");
    assert!(missing.err.contains("could not find bethinkd"), "{missing:?}");
    assert_eq!(missing.err, run_in(dir.path(), &own, &["up"]).err);

    fs::write(&daemon, "#!/bin/sh\necho 'the disk is on fire' >&2\nkill -9 $$\n").unwrap();
    fs::set_permissions(&daemon, fs::Permissions::from_mode(0o755)).unwrap();
    let died = run_in(dir.path(), &own, &["store", "check"]);
    assert_eq!((died.code, died.out.as_str()), (Some(1), ""), "{died:?}");
    for expect in ["it ended early (signal: 9", "the disk is on fire", "the same version"] {
        assert!(died.err.contains(expect), "{died:?}");
    }
}

#[test]
fn it_ends_when_its_stdin_is_closed() {
    let dir = tempdir().unwrap();
    // A server that never answers.
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://ann@{}/notes", server.local_addr().unwrap());
    let ended = run_in(dir.path(), &binary("bethinkd"), &["store", "check", &url]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.err.contains("stdin was closed"), "{ended:?}");
}
