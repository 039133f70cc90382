//! Two people at their terminals, and what lies between them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::terminal::{Terminal, done};

fn status(terminal: &Terminal) -> Value {
    serde_json::from_str(&done(terminal.run(&["team", "status", "--json"]))).unwrap()
}

fn dir(terminal: &Terminal) -> PathBuf {
    PathBuf::from(status(terminal)["dir"].as_str().unwrap())
}

#[test]
fn two_people_share_and_are_told_what_happened() {
    let (ada, bob) = (Terminal::new(), Terminal::new());
    let shared = ada.path().join("shared.git");
    let made =
        Command::new("git").args(["init", "--quiet", "--bare"]).arg(&shared).status().unwrap();
    assert!(made.success());
    let none = ada.run(&["team", "status"]);
    assert!(none.out.contains("no team memory") && none.err.contains("team init"), "{none:?}");
    // A path is meant from where the person stands.
    let told = done(ada.run(&["team", "init", "--remote", "shared.git"]));
    assert!(told.contains("shared with") && !told.contains("already in sync"), "{told}");
    done(bob.run(&["team", "init", "--remote", &shared.to_string_lossy()]));

    let key = format!("ghp_{}", "q8Zt2LmXp0VrKt5Wb3NcJ7yHd4Fs6GaEu1Bo");
    fs::write(dir(&ada).join("fog.md"), "Fog is linear.\n").unwrap();
    for command in ["show", "history"] {
        done(ada.run(&["memory", command, "team/fog"]));
    }
    fs::write(dir(&ada).join("ci.md"), format!("first\ntoken {key}\n")).unwrap();
    let told = done(ada.run(&["team", "sync"]));
    assert!(told.contains("pushed  fog.md"), "{told}");
    assert!(
        told.contains("blocked ci.md must not be shared") && told.contains("line 2:"),
        "{told}"
    );
    assert!(!told.contains(&key), "{told}");
    fs::remove_file(dir(&ada).join("ci.md")).unwrap();
    assert!(done(bob.run(&["team", "sync"])).contains("pulled  fog.md"));

    fs::write(dir(&ada).join("fog.md"), "Fog is squared.\n").unwrap();
    fs::write(dir(&bob).join("fog.md"), "Fog is cubed.\n").unwrap();
    let unsynced = done(bob.run(&["team", "status"]));
    assert!(
        unsynced.contains("reachable") && unsynced.contains("changed since the last sync: fog.md")
    );
    done(ada.run(&["team", "sync"]));
    let told = done(bob.run(&["team", "sync"]));
    assert!(told.contains("conflict fog was changed by you and by"), "{told}");
    assert!(told.contains("bethink team resolve fog --mine"), "{told}");
    done(ada.run(&["team", "sync"]));
    let versions = |person: &Terminal| done(person.run(&["team", "resolve", "fog"]));
    for person in [&ada, &bob] {
        let told = done(person.run(&["team", "status"]));
        assert!(told.contains("conflict fog has 2 versions"), "{told}");
        assert!(versions(person).contains("--edit"), "{}", versions(person));
        assert!(done(person.run(&["doctor"])).contains("fog has 2 versions"));
    }
    let clear = bob.run(&["team", "resolve", "fog", "--keep-version", "fog"]);
    assert!(
        clear.out.contains("resolved fog") && clear.err.contains("bethink team sync"),
        "{clear:?}"
    );
    done(bob.run(&["team", "sync"]));
    assert_eq!(bob.run(&["team", "resolve", "fog", "--mine"]).code, 1);

    let doctor = done(bob.run(&["doctor"]));
    assert!(doctor.contains("shared with"), "{doctor}");
    fs::rename(&shared, ada.path().join("moved.git")).unwrap();
    let refused = bob.run(&["team", "sync"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(
        refused.err.contains("remote not found") && refused.err.contains("hint:"),
        "{refused:?}"
    );
    assert_eq!(status(&bob)["reachable"], false);
}
