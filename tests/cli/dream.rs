//! A memory brought into order at a terminal.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::terminal::{Terminal, done};

const WHOLE: &str =
    "Deploys go through Ann.\n\nThe staging box is slow.\n\nAsk before you restart it.\n";
const PART: &str = "The staging box is slow.\n\nAsk before you restart it.\n";

#[test]
fn a_dream_is_looked_at_made_and_taken_back() {
    let terminal = Terminal::new();
    let index: Value =
        serde_json::from_str(&done(terminal.run(&["memory", "index", "--json"]))).unwrap();
    let dir = PathBuf::from(index["dir"].as_str().unwrap());
    let none = done(terminal.run(&["dream"]));
    assert!(none.contains("the memory is tidy; nothing to do"), "{none}");
    fs::create_dir_all(&dir).unwrap();
    for (name, text) in
        [("whole.md", WHOLE), ("part.md", PART), ("odd.md", "\u{1b}[31m\u{202e}odd\n")]
    {
        fs::write(dir.join(name), text).unwrap();
    }
    let look = done(terminal.run(&["dream", "--dry-run"]));
    for told in [
        "orient       topics: 3",
        "consolidate  part.md: merged into whole.md",
        "--- a/part.md",
        "+++ /dev/null",
    ] {
        assert!(look.contains(told), "{told:?} is not in\n{look}");
    }
    assert!(
        look.ends_with("nothing was changed; run `bethink dream` to make these changes\n"),
        "{look}"
    );
    assert!(!look.contains('\u{1b}') && !look.contains('\u{202e}'), "{look:?}");
    assert!(dir.join("part.md").exists() && !dir.join("MEMORY.md").exists());
    let made = done(terminal.run(&["dream"]));
    assert!(made.contains("2 files changed; run `bethink dream --undo` to restore them"), "{made}");
    assert!(!dir.join("part.md").exists() && dir.join("MEMORY.md").exists());
    let json: Value = serde_json::from_str(&done(terminal.run(&["dream", "--json"]))).unwrap();
    assert_eq!((json["diff"].clone(), json["dry_run"].clone()), ("".into(), false.into()));
    let back = done(terminal.run(&["dream", "--undo"]));
    assert!(back.contains("restored 2 files to the state before the last consolidation"), "{back}");
    assert_eq!(fs::read_to_string(dir.join("part.md")).unwrap(), PART);
    let again = terminal.run(&["dream", "--undo"]);
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.err.contains("no dream to undo"), "{again:?}");
    assert_eq!(terminal.run(&["dream", "--undo", "--dry-run"]).code, 2);
}
