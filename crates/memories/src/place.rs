//! Where the memory of a directory's project is stored.

use std::path::{Path, PathBuf};

use bethink_config::{Home, Settings};
use bethink_memdir::name::TEAM;
use bethink_project::{project_key, project_name, project_root};

/// Name of the directory with the person's memory. No project has this key, because project keys end in a hash.
const PERSON: &str = "person";
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
        let root = project_root(dir);
        let key = project_key(&root);
        let foreign = settings.memory.layout == "claude" && settings.person.is_some();
        let memory = memory_dir(&root, &key, foreign, settings);
        let team = match settings.team.dir.as_str() {
            "" => memory.join(TEAM),
            shared => Path::new(shared).join(project_name(&root)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_have_their_places() {
        let mut settings = Settings::at("/home/a/.bethink");
        settings.person = Some("/home/a".into());
        let place = |settings: &Settings| ProjectPlace::of(Path::new("/nowhere/my app"), settings);
        let own = place(&settings);
        assert!(own.key.starts_with("my-app-"), "{}", own.key);
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
}
