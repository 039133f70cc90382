//! Tests the real disk: which changes are noticed, and that nothing blocks.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bethink_api::SkipKind;
use bethink_transcript::UnixMicros;

use super::standing::{self, InstructionGround, ReadInstructions};

struct Project {
    dir: tempfile::TempDir,
    root: PathBuf,
}

fn project() -> Project {
    let dir = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(dir.path()).unwrap().join("p");
    fs::create_dir_all(root.join(".git")).unwrap();
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("CLAUDE.md"), "first").unwrap();
    Project { dir, root }
}

impl Project {
    /// Reads at a time long after all files were written.
    fn read(&self) -> ReadInstructions {
        let now = UnixMicros(i64::MAX / 2_000);
        let home = Some(self.dir.path().join("home"));
        let ground = InstructionGround { home, above: false, now };
        let src = self.root.join("src");
        standing::read(ground, &src, &src, &[], Arc::default())
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn paths(read: &ReadInstructions, root: &Path) -> Vec<String> {
    let below = |path: &Path| path.strip_prefix(root).unwrap().display().to_string();
    read.found.chain.iter().map(|file| below(&file.path)).collect()
}

#[test]
fn the_working_tree_s_toplevel_is_the_root() {
    let project = project();
    project.write("src/AGENTS.md", "near");
    let read = project.read();
    assert_eq!(read.places.root, project.root);
    assert_eq!(paths(&read, &project.root), ["CLAUDE.md", "src/AGENTS.md"]);
}

#[test]
fn what_did_not_change_holds() {
    let project = project();
    let read = project.read();
    assert!(read.holds(0, &Arc::default()));
    assert!(!read.holds(1, &Arc::default()), "another file was touched");
    let approved = Arc::new([PathBuf::from("/x")].into());
    assert!(!read.holds(0, &approved), "a file was approved");
}

#[test]
fn every_kind_of_change_is_noticed() {
    type Change = (&'static str, fn(&Project));
    let changes: [Change; 7] = [
        ("an edit", |p| p.write("CLAUDE.md", "second")),
        ("an edit of the same length", |p| p.write("CLAUDE.md", "fresh")),
        ("a new file", |p| p.write("CLAUDE.local.md", "x")),
        ("a new directory of rules", |p| p.write(".claude/rules/a.md", "x")),
        ("a removal", |p| fs::remove_file(p.root.join("CLAUDE.md")).unwrap()),
        ("a replacement", |p| {
            p.write("new", "first");
            fs::rename(p.root.join("new"), p.root.join("CLAUDE.md")).unwrap();
        }),
        ("the user's file", |p| {
            let user = p.dir.path().join("home/.claude");
            fs::create_dir_all(&user).unwrap();
            fs::write(user.join("CLAUDE.md"), "x").unwrap();
        }),
    ];
    for (what, change) in changes {
        let project = project();
        let read = project.read();
        assert!(read.holds(0, &Arc::default()), "{what}");
        change(&project);
        assert!(!read.holds(0, &Arc::default()), "{what}");
    }
}

#[test]
fn changes_deep_in_rules_and_behind_links_are_noticed() {
    let project = project();
    project.write(".claude/rules/a/b.md", "b");
    project.write("docs/x.md", "x");
    symlink("docs/x.md", project.root.join("AGENTS.md")).unwrap();
    project.write("CLAUDE.md", "@AGENTS.md @later.md");
    for change in [".claude/rules/a/c.md", "docs/x.md", "later.md", ".claude/rules/a/b.md"] {
        let read = project.read();
        project.write(change, &format!("{change} changed"));
        assert!(!read.holds(0, &Arc::default()), "{change}");
    }
}

#[test]
fn what_was_just_written_is_not_trusted() {
    let project = project();
    let written = fs::metadata(project.root.join("CLAUDE.md")).unwrap().modified().unwrap();
    let micros = written.duration_since(std::time::UNIX_EPOCH).unwrap().as_micros();
    let now = UnixMicros(i64::try_from(micros).unwrap() + 1);
    let ground = InstructionGround { home: None, above: false, now };
    let read = standing::read(ground, &project.root, &project.root, &[], Arc::default());
    assert!(!read.holds(0, &Arc::default()));
}

#[test]
fn a_pipe_is_told_and_does_not_hang() {
    use bethink_instructions::Disk;
    let project = project();
    let pipe = project.root.join("pipe.md");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    project.write("CLAUDE.md", "@pipe.md");
    let read = project.read();
    let told: Vec<_> = read.found.skipped.iter().map(|s| s.reason.kind()).collect();
    assert_eq!(told, [SkipKind::NotAFile]);
    // A pipe that replaced the file after it was checked does not block either.
    let disk = super::disk::RealDisk::new(UnixMicros(0));
    assert!(disk.read(&pipe, 10).is_err());
}

#[test]
fn a_read_follows_no_link_and_takes_no_more_than_it_may() {
    use bethink_instructions::Disk;
    let project = project();
    symlink("CLAUDE.md", project.root.join("link.md")).unwrap();
    let disk = super::disk::RealDisk::new(UnixMicros(0));
    assert!(disk.read(&project.root.join("link.md"), 10).is_err());
    assert!(disk.read(&project.root.join("CLAUDE.md"), 4).is_err());
    assert_eq!(disk.read(&project.root.join("CLAUDE.md"), 5).unwrap(), b"first");
    assert_eq!(disk.list(&project.root, 1).unwrap().len(), 1, "a directory of any size");
    symlink(&project.root, project.dir.path().join("way")).unwrap();
    let way = fs::canonicalize(project.dir.path()).unwrap().join("way/CLAUDE.md");
    assert!(disk.read(&way, 10).is_err(), "a directory on the way became a link");
}
