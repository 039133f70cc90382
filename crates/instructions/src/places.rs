//! The directories in which bethink looks for instruction files.

use std::path::{Component, Path, PathBuf};

use crate::disk::Disk;
use crate::limits::MOST_LEVELS;

/// The administrator's file for all users of a machine.
pub const MANAGED: &str = "/etc/claude-code/CLAUDE.md";

/// The directories for a lookup. All paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionPlaces {
    pub managed: PathBuf,
    pub home: Option<PathBuf>,
    /// The project's root: see [`root_of`].
    pub root: PathBuf,
    /// The agent's working directory. If it is outside of `root`, `root` is used instead.
    pub cwd: PathBuf,
    /// Whether files in the directories above the root are loaded. Otherwise, these files are only listed.
    pub above: bool,
}

impl InstructionPlaces {
    /// Returns the directories above the root, from the file system's root down.
    pub(crate) fn directories_above(&self) -> Vec<PathBuf> {
        let mut above: Vec<PathBuf> =
            self.root.ancestors().skip(1).take(MOST_LEVELS).map(Path::to_path_buf).collect();
        above.reverse();
        above
    }

    /// Returns the directories from the root down to the working directory.
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        let mut found = vec![self.root.clone()];
        if let Ok(below) = self.cwd.strip_prefix(&self.root) {
            found.extend(steps(&self.root, below));
        }
        found
    }
}

/// Returns each directory on the path from `from` down to `below`, without `from`.
pub(crate) fn steps(from: &Path, below: &Path) -> Vec<PathBuf> {
    let names = below.components().take(MOST_LEVELS);
    let deeper = |at: &mut PathBuf, name: Component<'_>| {
        at.push(name);
        Some(at.clone())
    };
    names.scan(from.to_path_buf(), deeper).collect()
}

/// Returns the top level of the working tree that contains `dir`, or else `dir`.
pub fn root_of(disk: &dyn Disk, dir: &Path) -> PathBuf {
    let mut above = dir.ancestors().take(MOST_LEVELS);
    // `.git` is a file in a linked working tree, and a directory in the main one.
    let top = above.find(|dir| disk.look(&dir.join(".git")).is_ok());
    top.unwrap_or(dir).to_path_buf()
}

/// Returns the absolute path without `.` and `..`. Does not access the disk.
pub fn absolute(base: &Path, path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in base.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directories(root: &str, cwd: &str) -> Vec<PathBuf> {
        let (managed, home) = (PathBuf::from(MANAGED), None);
        InstructionPlaces { managed, home, root: root.into(), cwd: cwd.into(), above: false }
            .directories()
    }

    #[test]
    fn from_the_root_down() {
        assert_eq!(directories("/p", "/p"), [Path::new("/p")]);
        assert_eq!(directories("/p", "/p/a/b"), ["/p", "/p/a", "/p/a/b"].map(Path::new));
        assert_eq!(directories("/p", "/q/a"), [Path::new("/p")]);
    }

    #[test]
    fn absolute_paths() {
        let check = |path: &str, expect: &str| {
            assert_eq!(absolute(Path::new("/p/a"), Path::new(path)), Path::new(expect));
        };
        check("b", "/p/a/b");
        check("./b/../c", "/p/a/c");
        check("../../../..", "/");
        check("/x/./y", "/x/y");
    }
}
