//! Tests hostile names of every form, both as arguments and as entries that already exist in the directory.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bethink_memdir::{Name, Scope};
use bethink_memdir_fs::{DirectoryFile, Expected, Follow, MemoryRoot, WriteOutcome};
use unicode_normalization::UnicodeNormalization;

/// Names that mean a parent directory or another place on some system.
const UPWARDS: [&str; 27] = [
    "..",
    ".",
    "...",
    "%2e%2e",
    "%2E%2e",
    "%252e%252e",
    "%c0%ae%c0%ae",
    "%u002e%u002e",
    "..;",
    ".. ",
    ". .",
    "..\u{200b}",
    "\u{2024}\u{2024}",
    "\u{2025}",
    "\u{ff0e}\u{ff0e}",
    "\u{fe52}\u{fe52}",
    "~",
    "~root",
    "-rf",
    "$HOME",
    "C:",
    "c:",
    "file:",
    "\\\\?\\C:",
    "\\\\server",
    "..\u{0}",
    "\u{202e}..",
];
/// Characters that are path separators on some system.
const SEPARATORS: [&str; 12] = [
    "/", "//", "\\", "\\\\", "%2f", "%2F", "%5c", "%255c", "\u{ff0f}", "\u{ff3c}", "\u{fe68}",
    "/./",
];

/// Returns names that must all be refused.
fn refused() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for up in UPWARDS.iter().filter(|up| **up != "$HOME") {
        for separator in SEPARATORS {
            names.insert(format!("{up}{separator}outside"));
            names.insert(format!("a{separator}{up}{separator}outside"));
            names.insert(format!("a{separator}{up}"));
        }
    }
    let system = ["etc/passwd", "proc/self/mem", "dev/zero", "dev/stdin", "proc/self/fd/0"];
    names.extend(system.map(|path| format!("/{path}")));
    names.extend((0..32).chain(127..160).map(|c| format!("a{}b", char::from(c))));
    for device in ["con", "PRN", "aux", "Nul", "COM1", "lpt9", "com\u{b9}", "CONIN$", "clock$"] {
        names.extend(["", ".txt", " .x", "/x"].map(|end| format!("{device}{end}")));
        names.insert(format!("plans/{device}"));
    }
    names.extend([':', '\\', '\u{ff1a}', '\u{fe55}'].map(|c| format!("fog{c}stream")));
    names.extend(
        ["fog.", "fog ", " fog", "fog. .", "fog\u{a0}", "\u{3000}fog", ".fog", "a/.git/x"]
            .map(str::to_owned),
    );
    names.extend(
        ['\u{200b}', '\u{202e}', '\u{2066}', '\u{feff}', '\u{ad}', '\u{e0041}', '\u{2028}']
            .map(|c| format!("fo{c}g")),
    );
    names.extend(
        ["MEMORY", "memory", "Memory.md", "\u{ff2d}EMORY", "fog.md.md", "fog.MD", "", ".md"]
            .map(str::to_owned),
    );
    names.extend([201, 256, 4_096, 100_000].map(|long| "x".repeat(long)));
    names.extend([5, 40, 2_000].map(|deep| vec!["x"; deep].join("/")));
    names.insert("\u{1e9e}".repeat(100));
    names
}

/// Names that are unusual but harmless.
const HONEST: [&str; 17] = [
    "fog",
    "user_role",
    "plans/deep/fog",
    "v1.2",
    "a b",
    "caf\u{e9}",
    "\u{645}\u{6cc}\u{200c}\u{62e}",
    "\u{4f60}\u{597d}",
    "\u{2764}\u{fe0f}",
    "100%",
    "context",
    "c++",
    "it's",
    "nulls",
    "a%20b",
    "who?",
    "a \"b\" <c>",
];

#[test]
fn hostile_names_are_refused_before_they_are_paths() {
    let names = refused();
    assert!(names.len() >= 500, "{}", names.len());
    let taken: Vec<&String> = names.iter().filter(|name| Name::parse(name).is_ok()).collect();
    assert_eq!(taken, [] as [&String; 0]);
}

#[test]
fn honest_names_are_taken_and_come_back_from_a_listing() {
    let dir = tempfile::tempdir().unwrap();
    let root = MemoryRoot::create(dir.path(), Scope::Private, Follow::No).unwrap();
    for name in HONEST {
        let file = DirectoryFile::Topic(Name::parse(name).unwrap());
        let written = root.replace(&file, Expected::Absent, name.as_bytes()).unwrap();
        assert!(matches!(written, WriteOutcome::Done { .. }), "{name}");
    }
    let listing = root.list().unwrap();
    let listed: BTreeSet<&str> = listing.topics.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(listed, BTreeSet::from(HONEST));
    assert_eq!(listing.strange, []);
    for (name, _) in &listing.topics {
        assert_eq!(Name::parse(name.as_str()).as_ref(), Ok(name));
        let content = root.read(&DirectoryFile::Topic(name.clone())).unwrap().unwrap();
        assert_eq!(content.text(), Some(name.as_str()));
    }
}

/// Linux accepts nearly every name, so other people's files may have such names.
#[test]
fn entries_with_hostile_names_are_named_and_neither_read_nor_hidden() {
    let dir = tempfile::tempdir().unwrap();
    let mut made = 0;
    let hostile = refused().into_iter().map(|name| format!("{name}.md").into_bytes());
    for name in hostile.chain([b"latin-\xe9.md".to_vec(), b"over-\xc0\xae\xc0\xae.md".to_vec()]) {
        let single = !name.contains(&b'/') && !name.contains(&0) && !name.starts_with(b".");
        let path = dir.path().join(OsStr::from_bytes(&name));
        made += usize::from(single && name != b"MEMORY.md" && fs::write(path, "x").is_ok());
    }
    assert!(made > 200, "{made}");
    let root = MemoryRoot::open(dir.path(), Scope::Private, Follow::No).unwrap().unwrap();
    let listing = root.list().unwrap();
    assert_eq!((listing.topics.len(), listing.strange.len()), (0, made));
}

/// The two names are different Unicode forms of the same word and look identical.
#[test]
fn forms_of_one_name_fold_alike_and_are_no_two_topics() {
    let dir = tempfile::tempdir().unwrap();
    let root = MemoryRoot::create(dir.path(), Scope::Team, Follow::No).unwrap();
    for name in ["Caf\u{e9}", "\u{fb01}sh", "\u{c5}ngstr\u{f6}m", "\u{1e9b}\u{323}", "STRA\u{df}E"]
    {
        let written = DirectoryFile::Topic(Name::parse(name).unwrap());
        let _ = root.replace(&written, Expected::Absent, b"first").unwrap();
        let forms = [name.nfd().collect(), name.nfkc().collect(), name.to_lowercase()];
        for form in forms.into_iter().filter(|form: &String| form != name) {
            let twin = Name::parse(&form).unwrap();
            assert_eq!(twin.folded(), Name::parse(name).unwrap().folded(), "{form}");
            assert!(
                root.replace(&DirectoryFile::Topic(twin), Expected::Absent, b"second").is_err(),
                "{form}"
            );
        }
    }
    assert_eq!(root.list().unwrap().topics.len(), 5);
}

#[test]
fn the_teams_directory_is_its_own_in_any_spelling() {
    let dir = tempfile::tempdir().unwrap();
    let root = MemoryRoot::create(dir.path(), Scope::Private, Follow::No).unwrap();
    for team in ["team", "Team", "TEAM", "\u{ff54}eam"] {
        let file = DirectoryFile::Topic(Name::parse(&format!("{team}/fog")).unwrap());
        assert!(root.replace(&file, Expected::Absent, b"unscanned").is_err(), "{team}");
        assert!(!Path::new(dir.path()).join(team).exists());
    }
}
