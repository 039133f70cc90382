//! Finds the project that a directory belongs to.
//!
//! All worktrees of a repository, and all directories in them, are one project. A `.git` file by itself proves nothing: the repository
//! must list the worktree, too.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// Maximum size of a git pointer file, in bytes; paths are shorter.
const POINTER_BYTES: u64 = 8_192;
/// Number of hexadecimal digits that distinguish projects of the same name: enough for millions of projects.
const DIGITS: usize = 12;
/// Maximum length of a project's name in its key, in bytes: enough to recognize it, and accepted by every file system.
const NAME_BYTES: usize = 60;

/// Returns the key of the project that has this root: its name in the database and in bethink's own layout.
pub fn project_key(root: &Path) -> String {
    let hash = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
    format!("{}-{}", project_name(root), &hash[..DIGITS])
}

/// Returns the name of the project that has this root, in characters that every file system accepts.
pub fn project_name(root: &Path) -> String {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '-' };
    let name: String = name.chars().map(plain).take(NAME_BYTES).collect();
    if name.is_empty() { "root".to_owned() } else { name }
}

/// Returns the main working tree of the repository that contains a directory, or the directory itself if there is no
/// repository or the directory is not on this machine.
pub fn project_root(dir: &Path) -> PathBuf {
    let dir = resolve_links(dir);
    repository_root(&dir).unwrap_or(dir)
}

/// Returns the main working tree of the repository that contains a directory. The path must not contain links.
pub fn repository_root(dir: &Path) -> Option<PathBuf> {
    dir.ancestors().find_map(|at| repository(at, &at.join(".git")))
}

/// Returns a directory and those that contain it, up to the top of its working tree. Outside of a working tree, these are all up to the
/// root of the file system, which is left out: sessions that are not about any directory begin there.
pub fn dirs_of_working_tree(dir: &Path) -> impl Iterator<Item = &Path> {
    let top = dir.ancestors().find(|dir| dir.join(".git").exists());
    let is_own = move |dir: &&Path| match top {
        Some(top) => dir.starts_with(top),
        None => dir.parent().is_some(),
    };
    dir.ancestors().take_while(is_own)
}

/// Returns the main working tree, if `git` is the `.git` entry of a working tree at `at`.
fn repository(at: &Path, git: &Path) -> Option<PathBuf> {
    let kind = fs::symlink_metadata(git).ok()?;
    if kind.is_dir() {
        return git.join("HEAD").exists().then(|| at.to_path_buf());
    }
    if !kind.is_file() {
        return None;
    }
    let own = at.join(pointer(git)?.strip_prefix("gitdir:")?.trim());
    Some(main_tree(git, &own).unwrap_or_else(|| at.to_path_buf()))
}

/// Returns the main working tree of a linked worktree, if the repository itself lists that worktree. Otherwise a `.git`
/// file could claim to belong to another project and get access to its memory.
fn main_tree(git: &Path, own: &Path) -> Option<PathBuf> {
    let claimed = pointer(&own.join("gitdir"))?;
    let claimed = fs::canonicalize(own.join(claimed.trim())).ok()?;
    if claimed != fs::canonicalize(git).ok()? {
        return None;
    }
    let common = fs::canonicalize(own.join(pointer(&own.join("commondir"))?.trim())).ok()?;
    if fs::canonicalize(own).ok()?.parent()? != common.join("worktrees") {
        return None;
    }
    match common.file_name() {
        Some(name) if name == ".git" => common.parent().map(Path::to_path_buf),
        // A bare repository with worktrees next to it.
        _ => common.join("HEAD").is_file().then_some(common),
    }
}

/// Reads a file that consists of a single short line.
fn pointer(path: &Path) -> Option<String> {
    let kind = fs::symlink_metadata(path).ok()?;
    (kind.is_file() && kind.len() <= POINTER_BYTES).then(|| fs::read_to_string(path).ok())?
}

/// Resolves the links in a path, whose end need not exist.
pub fn resolve_links(dir: &Path) -> PathBuf {
    if let Ok(dir) = fs::canonicalize(dir) {
        return dir;
    }
    let dir = lexical(dir);
    let exists =
        |at: &Path| Some((fs::canonicalize(at).ok()?, dir.strip_prefix(at).ok()?.to_owned()));
    dir.ancestors().find_map(exists).map_or(dir.clone(), |(at, rest)| {
        if rest.as_os_str().is_empty() { at } else { at.join(rest) }
    })
}

/// Resolves `.` and `..` without accessing the disk, because the path may not exist.
fn lexical(dir: &Path) -> PathBuf {
    let mut path = PathBuf::new();
    for part in dir.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(path.pop()),
            part => path.push(part),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A repository with a worktree beside it, as git lays them out.
    fn repository() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        let (main, tree) = (base.join("app"), base.join("app-fix"));
        let own = main.join(".git/worktrees/fix");
        write(&main.join(".git/HEAD"), "ref: refs/heads/main\n");
        write(&own.join("commondir"), "../..\n");
        write(&own.join("gitdir"), &format!("{}\n", tree.join(".git").display()));
        write(&tree.join(".git"), &format!("gitdir: {}\n", own.display()));
        (dir, main, tree)
    }

    #[test]
    fn worktrees_and_subdirectories_are_one_project() {
        let (_kept, main, tree) = repository();
        fs::create_dir_all(tree.join("src/deep")).unwrap();
        for dir in [&main, &tree, &tree.join("src/deep"), &main.join("./.git/..")] {
            assert_eq!(project_root(dir), main, "{}", dir.display());
        }
    }

    #[test]
    fn a_false_worktree_is_its_own_project() {
        let (kept, main, _) = repository();
        let thief = fs::canonicalize(kept.path()).unwrap().join("thief");
        let own = main.join(".git/worktrees/fix");
        write(&thief.join(".git"), &format!("gitdir: {}\n", own.display()));
        assert_eq!(project_root(&thief), thief);
        // Nor can it with a directory of its own that claims to be one of the repository's.
        let own = thief.join("own");
        write(&thief.join(".git"), "gitdir: own\n");
        write(&own.join("gitdir"), "../.git\n");
        write(&own.join("commondir"), &format!("{}\n", main.join(".git").display()));
        write(&own.join("HEAD"), "ref: refs/heads/main\n");
        assert!(project_root(&thief).starts_with(&thief), "{}", project_root(&thief).display());
        // The git directory of a submodule names no worktrees.
        let module = main.join("vendored");
        write(&main.join(".git/modules/vendored/HEAD"), "ref: x\n");
        write(&module.join(".git"), "gitdir: ../.git/modules/vendored\n");
        assert_eq!(project_root(&module), module);
    }

    #[test]
    fn a_directory_without_a_repository_is_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        assert_eq!(project_root(&base), base);
        assert_eq!(
            project_root(Path::new("/nowhere/at/./all/../here")),
            Path::new("/nowhere/at/here")
        );
    }

    #[test]
    fn projects_with_the_same_name_have_different_keys() {
        assert_ne!(project_key(Path::new("/a/app")), project_key(Path::new("/b/app")));
        assert!(project_key(Path::new("/")).starts_with("root-"));
    }
}
