//! What a project remembers, as a person writes, reads and mends it.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::terminal::{Terminal, done};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Where the project's memory lies.
fn dir(terminal: &Terminal) -> PathBuf {
    let index = json(&done(terminal.run(&["memory", "index", "--json"])));
    PathBuf::from(index["dir"].as_str().unwrap())
}

#[test]
fn a_sentence_is_remembered_listed_and_shown() {
    let terminal = Terminal::new();
    let empty = terminal.run(&["memory", "ls"]);
    assert!(empty.code == 0 && empty.err.contains("bethink remember"), "{empty:?}");
    let told = done(terminal.run(&["remember", "Never", "mock the database"]));
    assert!(told.starts_with("remembered as never-mock-the-database (feedback)"), "{told}");
    let listed = done(terminal.run(&["memory", "ls"]));
    assert!(listed.contains("never-mock-the-database") && listed.contains("feedback"), "{listed}");
    assert!(listed.lines().all(|line| line.chars().count() <= 80), "{listed}");
    let file = dir(&terminal).join("never-mock-the-database.md");
    let shown = done(terminal.run(&["memory", "show", "never-mock-the-database.md"]));
    assert_eq!(shown, fs::read_to_string(&file).unwrap());
    assert!(shown.starts_with("---\n") && shown.ends_with("\n\nNever mock the database\n"));
    let index = done(terminal.run(&["memory", "index"]));
    assert_eq!(index, "- [Never mock the database](never-mock-the-database.md)\n");
    let typed = done(terminal.run(&[
        "remember",
        "The release is on Thursday",
        "--type",
        "project",
        "--name",
        "release",
        "--json",
    ]));
    assert_eq!(
        (json(&typed)["name"].clone(), json(&typed)["type"].clone()),
        ("release".into(), "project".into())
    );
    let of_type = done(terminal.run(&["memory", "ls", "--type", "project", "--quiet"]));
    assert_eq!(of_type, "release\n");
    let again = terminal.run(&["remember", "Another", "--name", "release"]);
    assert!(again.code == 1 && again.err.contains("release"), "{again:?}");
}

#[test]
fn a_topic_is_added_edited_removed_and_brought_back() {
    let terminal = Terminal::new();
    let own = terminal.path().join("own.md");
    fs::write(&own, "---\nname: Fog\ntype: project\ndescription: how far it is\n---\nFar.\n")
        .unwrap();
    let from = own.display().to_string();
    done(terminal.run(&["memory", "add", "fog", "--from", &from]));
    assert_eq!(done(terminal.run(&["memory", "show", "fog"])), fs::read_to_string(&own).unwrap());
    let twice = terminal.run(&["memory", "add", "fog", "--from", &from]);
    assert!(twice.code == 0 && twice.err.contains("already says that"), "{twice:?}");
    let nothing = terminal.run(&["memory", "add", "rain", "--from", "/dev/null"]);
    assert!(nothing.code == 1 && nothing.err.contains("the text is empty"), "{nothing:?}");
    let other = terminal.path().join("other.md");
    fs::write(&other, "Other words.\n").unwrap();
    let taken = terminal.run(&["memory", "add", "fog", "--from", &other.display().to_string()]);
    assert!(taken.code == 1 && taken.err.contains("already"), "{taken:?}");
    let both = terminal.run(&["memory", "add", "rain", "--from", &from, "--type", "user"]);
    assert!(both.code == 1 && both.err.contains("front matter"), "{both:?}");

    let append = [("EDITOR", "printf 'And wide.\\n' >>")];
    done(terminal.run_with(&["memory", "edit", "fog"], &append));
    assert!(done(terminal.run(&["memory", "show", "fog"])).ends_with("Far.\nAnd wide.\n"));
    let unchanged = terminal.run_with(&["memory", "edit", "fog"], &[("EDITOR", "true")]);
    assert!(unchanged.code == 0 && unchanged.err.contains("nothing was changed"), "{unchanged:?}");
    let written = [("VISUAL", "printf -- '---\\ntype: user\\n---\\nMe.\\n' >")];
    done(terminal.run_with(&["memory", "add", "me"], &written));
    assert!(done(terminal.run(&["memory", "show", "me"])).ends_with("Me.\n"));
    let nothing = terminal.run_with(&["memory", "add", "you"], &[("EDITOR", "true")]);
    assert!(nothing.code == 0 && nothing.err.contains("nothing was added"), "{nothing:?}");

    done(terminal.run(&["memory", "restore", "fog"]));
    assert!(done(terminal.run(&["memory", "show", "fog"])).ends_with("---\nFar.\n"));
    let removed = terminal.run(&["memory", "rm", "fog", "me"]);
    assert!(removed.code == 0 && removed.err.contains("restore"), "{removed:?}");
    assert!(!dir(&terminal).join("fog.md").exists());
    assert_eq!(fs::read_to_string(dir(&terminal).join("MEMORY.md")).unwrap(), "");
    let gone = terminal.run(&["memory", "show", "fog"]);
    assert!(gone.code == 1 && gone.err.contains("there is no topic"), "{gone:?}");
    let history = done(terminal.run(&["memory", "history", "fog"]));
    assert!(history.contains("removed") && history.lines().count() >= 5, "{history}");
    let versions = json(&done(terminal.run(&["memory", "history", "fog", "--json"])));
    let oldest = versions["versions"].as_array().unwrap().last().unwrap()["version"].to_string();
    assert_eq!(
        done(terminal.run(&["memory", "show", "fog", "--version", &oldest])),
        fs::read_to_string(&own).unwrap()
    );
    done(terminal.run(&["memory", "restore", "fog", "--version", &oldest]));
    assert_eq!(fs::read(dir(&terminal).join("fog.md")).unwrap(), fs::read(&own).unwrap());
    assert!(done(terminal.run(&["memory", "index"])).contains("[Fog](fog.md) — how far it is"));
}

#[test]
fn versions_are_numbered_per_topic() {
    let terminal = Terminal::new();
    for name in ["fog", "sky"] {
        done(terminal.run(&["remember", "It is far", "--name", name]));
    }
    for name in ["fog", "sky"] {
        let append = [("EDITOR", "printf 'And wide.\\n' >>")];
        done(terminal.run_with(&["memory", "edit", name], &append));
    }
    for name in ["fog", "sky"] {
        done(terminal.run(&["memory", "restore", name, "--version", "1"]));
        assert!(!done(terminal.run(&["memory", "show", name])).contains("wide"));
        let history = json(&done(terminal.run(&["memory", "history", name, "--json"])));
        let versions = history["versions"].as_array().unwrap();
        let numbers: Vec<_> = versions.iter().map(|version| &version["version"]).collect();
        assert_eq!(numbers, [3, 2, 1]);
        assert_eq!(versions[0]["note"], "version 1");
    }
    let unknown = terminal.run(&["memory", "restore", "fog", "--version", "4"]);
    assert!(unknown.code == 1 && unknown.err.contains("there is no version 4"), "{unknown:?}");
}

/// Somebody else saves the file while it is in the editor.
#[test]
fn an_edited_topic_that_loses_a_race_is_kept_in_a_file() {
    let terminal = Terminal::new();
    done(terminal.run(&["remember", "The fog is far", "--name", "fog"]));
    let file = dir(&terminal).join("fog.md");
    let editor = format!("echo other >> {}; echo mine >>", file.display());
    let editor = format!("sh -c '{editor} \"$1\"' sh");
    let lost = terminal.run_with(&["memory", "edit", "fog"], &[("EDITOR", &editor)]);
    assert_eq!(lost.code, 1, "{lost:?}");
    let words = lost.err.split_whitespace().map(|word| word.trim_end_matches(';'));
    let kept = words.filter(|word| word.ends_with(".md")).find(|word| word.contains("bethink-fog"));
    let kept = kept.expect("a file is named");
    assert!(fs::read_to_string(kept).unwrap().ends_with("mine\n"));
    fs::remove_file(kept).unwrap();
    let shown = fs::read_to_string(&file).unwrap();
    assert!(shown.ends_with("other\n") && !shown.contains("mine"), "{shown}");
}

#[test]
fn what_is_wrong_is_told_and_mended() {
    let terminal = Terminal::new();
    done(terminal.run(&["remember", "The fog is far", "--name", "fog", "--type", "project"]));
    assert_eq!(terminal.run(&["memory", "lint"]).code, 0);
    let dir = dir(&terminal);
    fs::write(dir.join("MEMORY.md"), "# Mine\n\n- [Gone](gone.md) — x\n").unwrap();
    fs::write(dir.join("odd.md"), "---\ntype: nonsense\n---\nsee \u{202e}this\n").unwrap();
    fs::write(dir.join("raw.md"), b"\xff\xfe").unwrap();
    let told = terminal.run(&["memory", "lint"]);
    assert_eq!(told.code, 1, "{told:?}");
    for words in [
        "error: MEMORY.md links to no topic; topics in the directory: 2",
        "warning: MEMORY.md:3 links to gone.md, which does not exist",
        "error: odd.md:4 has a right-to-left override (U+202E)",
        "\"nonsense\" is not a memory type",
        "error: raw.md has invalid UTF-8",
        "→ run `bethink memory rebuild`",
    ] {
        assert!(told.out.contains(words), "{words}: {}", told.out);
    }
    assert!(!told.out.contains('\u{202e}') && told.err.contains("3 topics"), "{told:?}");
    let lint = json(&terminal.run(&["memory", "lint", "--json"]).out);
    assert_eq!(lint["shelves"][0]["findings"][0]["severity"], "error");

    let doctor = terminal.run(&["doctor"]);
    assert!(doctor.out.contains("private: 3 topics"), "{doctor:?}");
    assert!(doctor.out.contains("`bethink memory lint` to see all"), "{doctor:?}");

    let shown = done(terminal.run(&["memory", "show", "odd"]));
    assert!(shown.contains("see \\u{202e}this"), "{shown}");
    let dry = done(terminal.run(&["memory", "rebuild", "--dry-run"]));
    assert!(dry.contains("- - [Gone](gone.md) — x") && dry.contains("+ - [Fog](fog.md)"), "{dry}");
    let before = fs::read_to_string(dir.join("MEMORY.md")).unwrap();
    assert!(before.contains("gone.md"), "{before}");
    done(terminal.run(&["memory", "rebuild"]));
    let after = fs::read_to_string(dir.join("MEMORY.md")).unwrap();
    assert!(after.starts_with("# Mine\n\n- [Fog](fog.md) — The fog is far\n"), "{after}");
    assert!(!after.contains("gone.md") && after.contains("](odd.md)"), "{after}");
    // The index has versions as every file has.
    done(terminal.run(&["memory", "restore", "MEMORY"]));
    assert_eq!(fs::read_to_string(dir.join("MEMORY.md")).unwrap(), before);
    done(terminal.run(&["memory", "rebuild"]));
    let again = terminal.run(&["memory", "rebuild"]);
    assert!(again.out.is_empty() && again.err.contains("already lists every topic"), "{again:?}");
}

#[test]
fn memories_are_searched_exported_and_imported() {
    let (ada, bob) = (Terminal::new(), Terminal::new());
    let fog = "---\ndescription: How fog is drawn\nmodified: 2025-01-02\n---\n\nFog is linear.\n\nSee [[sky]].\n";
    std::fs::write(ada.path().join("fog.txt"), fog).unwrap();
    done(ada.run(&["memory", "add", "fog", "--from", "fog.txt"]));
    done(ada.run(&["remember", "The sky is painted by Priya", "--name", "sky"]));
    let found = done(ada.run(&["memory", "search", "linear"]));
    assert!(
        found.contains("fog") && found.contains("Fog is linear.") && !found.contains("sky  The"),
        "{found}"
    );
    let none = ada.run(&["memory", "search", "quicksort"]);
    assert!(none.code == 0 && none.err.contains("no hits in 2 topics"), "{none:?}");
    let recalled = done(ada.run(&["recall", "how is fog drawn"]));
    assert!(recalled.contains("see sky — The sky is painted by Priya"), "{recalled}");

    let index = done(ada.run(&["memory", "show", "MEMORY"]));
    for archive in ["out.tar", "out"] {
        done(ada.run(&["memory", "export", archive]));
        let again = ada.run(&["memory", "export", archive]);
        assert_eq!(again.code, 1, "nothing is overwritten: {again:?}");
    }
    assert_eq!(std::fs::read_to_string(ada.path().join("out/fog.md")).unwrap(), fog);
    let tar = ada.path().join("out.tar").display().to_string();
    assert!(done(bob.run(&["memory", "import", &tar])).contains("imported 2 topics"));
    assert_eq!(
        done(bob.run(&["memory", "show", "fog"])),
        done(ada.run(&["memory", "show", "fog"]))
    );
    assert_eq!(done(bob.run(&["memory", "show", "MEMORY"])), index);
    done(bob.run(&["memory", "export", "copy"]));
    for file in ["fog.md", "sky.md", "MEMORY.md"] {
        let read = |person: &Terminal, dir: &str| {
            std::fs::read(person.path().join(dir).join(file)).unwrap()
        };
        assert_eq!(read(&bob, "copy"), read(&ada, "out"), "{file}");
    }
    let again = done(bob.run(&["memory", "import", &tar]));
    assert!(again.contains("imported 0 topics; 2 already present"), "{again}");

    let key = format!("ghp_{}", "q8Zt2LmXp0VrKt5Wb3NcJ7yHd4Fs6GaEu1Bo");
    let export = format!(
        r#"{{"results": [{{"memory": "Prefers morning meetings.", "created_at": "2026-01-02T03:04:05Z"}},
            {{"memory": "The sky was painted by Priya."}}, {{"memory": "The key is {key}"}}, {{"memory": ""}}]}}"#
    );
    std::fs::write(bob.path().join("mem0.json"), export).unwrap();
    let told = done(bob.run(&["memory", "import", "mem0.json"]));
    assert!(told.contains("imported 1 topic from mem0; 1 already known; 1 without text"), "{told}");
    assert!(told.contains("refused") && !told.contains(&key), "{told}");
    std::fs::write(bob.path().join("other.json"), "{}").unwrap();
    let refused = bob.run(&["memory", "import", "other.json"]);
    assert!(
        refused.code == 1 && refused.err.contains("neither a claude-mem export"),
        "{refused:?}"
    );
    std::fs::write(bob.path().join("cut.tar"), &std::fs::read(&tar).unwrap()[..700]).unwrap();
    let cut = bob.run(&["memory", "import", "cut.tar"]);
    assert!(cut.code == 1 && cut.err.contains("is truncated after 1 complete file"), "{cut:?}");
}

/// A transcript of a session in which each of these is said.
fn transcript(terminal: &Terminal, name: &str, said: &[&str]) -> String {
    let mut text = String::new();
    for (number, said) in said.iter().enumerate() {
        for (role, words) in [("user", *said), ("assistant", "Good.")] {
            let line = serde_json::json!({
                "type": role, "uuid": format!("{name}-{role}-{number}"), "sessionId": name,
                "cwd": terminal.path(), "isSidechain": false,
                "timestamp": "2026-01-02T03:04:05.678Z",
                "message": { "role": role, "content": words },
            });
            text.push_str(&format!("{line}\n"));
        }
    }
    let path = terminal.path().join(format!("{name}.jsonl"));
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn candidates_are_listed_kept_and_dropped() {
    let terminal = Terminal::new();
    let none = terminal.run(&["memory", "candidates"]);
    assert!(none.code == 0 && none.err.contains("no candidates are waiting"), "{none:?}");
    let said = [
        "Ideally the retry limit is configurable, because some servers are slow.",
        "Ideally the log level is configurable, because the logs are noisy.",
    ];
    done(terminal.run(&["import", &transcript(&terminal, "one", &said)]));
    let told = done(terminal.run(&["memory", "extract", "--from-start", "--session", "last"]));
    assert!(told.contains("candidate [") && told.contains(said[0]), "{told}");
    let listed = done(terminal.run(&["memory", "candidates"]));
    assert!(said.iter().all(|said| listed.contains(said)), "{listed}");
    assert!(listed.contains("session ") && listed.contains("message 3"), "{listed}");
    let status = done(terminal.run(&["status"]));
    assert!(
        status.contains("2 candidates are waiting") && status.contains("memory candidates"),
        "{status}"
    );
    let all = json(&done(terminal.run(&["memory", "candidates", "--json"])));
    let id = |n: usize| all["candidates"][n]["id"].as_str().unwrap().to_owned();
    let text = "Retries have a limit in the settings";
    let kept = done(terminal.run(&["memory", "candidates", "keep", &id(1)[..8], "--text", text]));
    assert!(kept.starts_with("remembered as retries-have-a-limit"), "{kept}");
    let dropped = terminal.run(&["memory", "candidates", "drop", &id(0)[24..]]);
    assert!(dropped.code == 0 && dropped.err.contains("dropped: Ideally the log"), "{dropped:?}");
    let again = terminal.run(&["memory", "candidates", "keep", &id(0)]);
    assert!(again.code == 1 && again.err.contains("no waiting candidate"), "{again:?}");
    let both = terminal.run(&["memory", "candidates", "keep", "aaaa", "bbbb", "--name", "x"]);
    assert!(both.code == 2 && both.err.contains("one at a time"), "{both:?}");
    let all = done(terminal.run(&["memory", "candidates", "--all"]));
    assert!(all.contains("kept") && all.contains("dropped"), "{all}");
    assert!(!done(terminal.run(&["status"])).contains("wait"));
}

#[test]
fn what_is_about_me_holds_in_every_project() {
    let terminal = Terminal::new();
    let other = terminal.path().join("other");
    fs::create_dir(&other).unwrap();
    let told = done(terminal.run(&["remember", "--me", "Answer in German", "--name", "language"]));
    assert!(told.starts_with("remembered as person/language"), "{told}");
    let listed = done(terminal.run_in(&other, &["memory", "ls"]));
    assert!(listed.contains("person/language"), "{listed}");
    let shown = done(terminal.run_in(&other, &["memory", "show", "language"]));
    assert!(shown.contains("Answer in German"), "{shown}");
    let moved = done(terminal.run_in(&other, &["memory", "mv", "language"]));
    assert!(moved.starts_with("moved to language"), "{moved}");
    assert_eq!(done(terminal.run(&["memory", "ls", "--quiet"])), "");
    done(terminal.run_in(&other, &["memory", "mv", "language", "--me"]));
    assert_eq!(done(terminal.run(&["memory", "ls", "--me", "--quiet"])), "language\n");
    let both = terminal.run(&["remember", "--me", "--team", "x"]);
    assert_eq!(both.code, 2, "{both:?}");
}
