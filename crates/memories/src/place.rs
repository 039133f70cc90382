//! Finds the project that a directory belongs to, and where the project's memory is stored.
//!
//! All worktrees of a repository, and all directories in them, are one project.

use std::fs;
use std::path::{Component, Path, PathBuf};

use bethink_config::{Home, Settings};
use bethink_memdir::Hash;
use bethink_memdir::name::TEAM;

/// Maximum size of a git pointer file, in bytes; paths are shorter.
const POINTER_BYTES: u64 = 8_192;
/// Name of the directory with the person's memory. No project has this key, because project keys end in a hash.
const PERSON: &str = "person";
/// Number of hexadecimal digits that distinguish projects of the same name: enough for millions of projects.
const DIGITS: usize = 12;
/// Maximum length of a project's name in its key, in bytes: enough to recognize it, and accepted by every file system.
const NAME_BYTES: usize = 60;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProjectPlace {
    /// The repository's main working tree, or the directory itself if it is not in a repository.
    pub(crate) root: PathBuf,
    /// The project's name in the database and in bethink's own layout.
    pub(crate) key: String,
    pub(crate) memory: PathBuf,
    /// The team's directory, unless the project has chosen another directory.
    pub(crate) team: PathBuf,
    /// The directory of the person's memory, which all projects share.
    pub(crate) person: PathBuf,
    /// Whether memory is stored in another agent's layout. Files in such a layout are not consolidated.
    pub(crate) foreign: bool,
}

impl ProjectPlace {
    pub(crate) fn of(dir: &Path, settings: &Settings) -> Self {
        let root = root_of(dir);
        let key = key_of(&root);
        let foreign = settings.memory.layout == "claude" && settings.person.is_some();
        let memory = memory_dir(&root, &key, foreign, settings);
        let team = match settings.team.dir.as_str() {
            "" => memory.join(TEAM),
            shared => Path::new(shared).join(name_of(&root)),
        };
        let person = Home::new(&settings.home).memory().join(PERSON);
        Self { root, key, memory, team, person, foreign }
    }
}

fn memory_dir(root: &Path, key: &str, foreign: bool, settings: &Settings) -> PathBuf {
    let named =
        Some(settings.memory.root.as_str()).filter(|root| !root.is_empty()).map(PathBuf::from);
    match (&settings.person, foreign) {
        (Some(person), true) => named
            .unwrap_or_else(|| person.join(".claude/projects"))
            .join(foreign_key(root))
            .join("memory"),
        _ => named.unwrap_or_else(|| Home::new(&settings.home).memory()).join(key).join("memory"),
    }
}

/// Claude Code's name for a project's folder: all characters except letters and digits become dashes.
fn foreign_key(root: &Path) -> String {
    root.to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect()
}

pub(crate) fn key_of(root: &Path) -> String {
    let mut digits = Hash::of(root.as_os_str().as_encoded_bytes()).to_string();
    digits.truncate(DIGITS);
    format!("{}-{digits}", name_of(root))
}

/// A project's name, in characters that every file system accepts.
fn name_of(root: &Path) -> String {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '-' };
    let name: String = name.chars().map(plain).take(NAME_BYTES).collect();
    if name.is_empty() { "root".to_owned() } else { name }
}

/// Returns the main working tree of the repository that contains a directory, or the directory itself if there is no
/// repository or the directory is not on this machine.
pub(crate) fn root_of(dir: &Path) -> PathBuf {
    let dir = fs::canonicalize(dir).unwrap_or_else(|_| lexical(dir));
    let found = dir.ancestors().find_map(|at| repository(at, &at.join(".git")));
    found.unwrap_or(dir)
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

/// Returns the main working tree of a linked worktree, if the repository lists that worktree too. Otherwise a `.git`
/// file could claim to belong to another project and get access to its memory.
fn main_tree(git: &Path, own: &Path) -> Option<PathBuf> {
    let claimed = pointer(&own.join("gitdir"))?;
    let claimed = fs::canonicalize(own.join(claimed.trim())).ok()?;
    if claimed != fs::canonicalize(git).ok()? {
        return None;
    }
    let common = fs::canonicalize(own.join(pointer(&own.join("commondir"))?.trim())).ok()?;
    match common.file_name() {
        Some(name) if name == ".git" => common.parent().map(Path::to_path_buf),
        // A bare repository with worktrees next to it.
        _ => Some(common),
    }
}

/// Returns the working trees of the project that has this root: the root itself, and the linked worktrees that its repository lists.
pub(crate) fn trees_of(root: &Path) -> Vec<PathBuf> {
    let listed =
        fs::read_dir(root.join(".git/worktrees")).or_else(|_| fs::read_dir(root.join("worktrees")));
    let own = listed.into_iter().flatten().flatten().map(|entry| entry.path());
    let linked = own.filter_map(|own| {
        let git = own.join(pointer(&own.join("gitdir"))?.trim());
        git.parent().map(Path::to_path_buf)
    });
    std::iter::once(root.to_path_buf()).chain(linked).collect()
}

/// Reads a file that consists of a single short line.
fn pointer(path: &Path) -> Option<String> {
    let kind = fs::symlink_metadata(path).ok()?;
    (kind.is_file() && kind.len() <= POINTER_BYTES).then(|| fs::read_to_string(path).ok())?
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
    fn worktrees_and_folders_are_one_project() {
        let (_kept, main, tree) = repository();
        fs::create_dir_all(tree.join("src/deep")).unwrap();
        for dir in [&main, &tree, &tree.join("src/deep"), &main.join("./.git/..")] {
            assert_eq!(root_of(dir), main, "{}", dir.display());
        }
    }

    #[test]
    fn who_only_claims_to_be_a_worktree_is_a_project_of_its_own() {
        let (kept, main, _) = repository();
        let thief = fs::canonicalize(kept.path()).unwrap().join("thief");
        let own = main.join(".git/worktrees/fix");
        write(&thief.join(".git"), &format!("gitdir: {}\n", own.display()));
        assert_eq!(root_of(&thief), thief);
        // The git directory of a submodule names no worktrees.
        let module = main.join("vendored");
        write(&main.join(".git/modules/vendored/HEAD"), "ref: x\n");
        write(&module.join(".git"), "gitdir: ../.git/modules/vendored\n");
        assert_eq!(root_of(&module), module);
    }

    #[test]
    fn a_directory_without_a_repository_is_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        assert_eq!(root_of(&base), base);
        assert_eq!(root_of(Path::new("/nowhere/at/./all/../here")), Path::new("/nowhere/at/here"));
    }

    #[test]
    fn layouts_have_their_places() {
        let mut settings = Settings::at("/home/a/.bethink");
        settings.person = Some("/home/a".into());
        let place = |settings: &Settings| ProjectPlace::of(Path::new("/nowhere/my app"), settings);
        let own = place(&settings);
        assert!(
            own.key.starts_with("my-app-") && own.key.len() == "my-app-".len() + DIGITS,
            "{}",
            own.key
        );
        assert_eq!(own.memory, Path::new("/home/a/.bethink/memory").join(&own.key).join("memory"));
        assert_eq!(own.team, own.memory.join("team"));
        settings.memory.layout = "claude".to_owned();
        settings.team.dir = "/mnt/team".to_owned();
        let shared = place(&settings);
        assert_eq!(shared.memory, Path::new("/home/a/.claude/projects/-nowhere-my-app/memory"));
        assert_eq!(shared.team, Path::new("/mnt/team/my-app"));
        assert_eq!(shared.key, own.key, "history is found in either layout");
        settings.memory.root = "/data".to_owned();
        assert_eq!(place(&settings).memory, Path::new("/data/-nowhere-my-app/memory"));
    }

    #[test]
    fn projects_of_one_name_are_apart() {
        assert_ne!(key_of(Path::new("/a/app")), key_of(Path::new("/b/app")));
        assert!(key_of(Path::new("/")).starts_with("root-"));
    }
}
