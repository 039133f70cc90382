//! A copy of the working tree, with its own build directory, so that mutations never touch the tree itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

pub(super) struct TreeCopy {
    pub(super) tree: PathBuf,
    pub(super) build: PathBuf,
}

impl TreeCopy {
    /// Copies what has changed since the last time. A new copy begins with the build in `built`, so that nothing is compiled
    /// twice.
    pub(super) fn make(root: &Path, place: &Path, built: &Path) -> Result<Self> {
        let place = std::path::absolute(place)?;
        let copy = Self { tree: place.join("tree"), build: place.join("target") };
        let wanted = files(root)?;
        if copy.tree.is_dir() {
            let extra = under(&copy.tree)?.into_iter().filter(|path| !wanted.contains(path));
            for path in extra {
                fs::remove_file(copy.tree.join(path))?;
            }
        }
        for path in &wanted {
            bring(&root.join(path), &copy.tree.join(path))
                .with_context(|| format!("could not copy {}", path.display()))?;
        }
        if !copy.build.is_dir() && built.is_dir() {
            fs::create_dir_all(&copy.build)?;
            let status = Command::new("cp").arg("-a").arg(built).arg(&copy.build).status()?;
            ensure!(status.success(), "could not copy {}", built.display());
        }
        Ok(copy)
    }
}

/// Returns the files that git knows or would add.
fn files(root: &Path) -> Result<BTreeSet<PathBuf>> {
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let done = Command::new("git").args(list).current_dir(root).output()?;
    ensure!(done.status.success(), "could not list the files of {}", root.display());
    let names = String::from_utf8(done.stdout).context("a file's name is not UTF-8")?;
    let paths = names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
    Ok(paths.filter(|path| root.join(path).is_file()).collect())
}

fn under(dir: &Path) -> Result<BTreeSet<PathBuf>> {
    let (mut found, mut next) = (BTreeSet::new(), vec![dir.to_owned()]);
    while let Some(path) = next.pop() {
        for entry in fs::read_dir(&path)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                next.push(entry.path());
            } else {
                found.insert(entry.path().strip_prefix(dir)?.to_owned());
            }
        }
    }
    Ok(found)
}

/// Copies a file unless the copy is equal. A new copy gets the file's modification time, because Cargo compares times.
fn bring(from: &Path, to: &Path) -> Result<()> {
    let bytes = fs::read(from)?;
    if fs::read(to).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    let is_new = !to.exists();
    fs::copy(from, to)?;
    if is_new {
        fs::File::options().write(true).open(to)?.set_modified(fs::metadata(from)?.modified()?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_copied_again_and_a_removed_one_goes() {
        let dir = std::env::temp_dir().join(format!("bethink-copy-{}", std::process::id()));
        let (root, place) = (dir.join("root"), dir.join("place"));
        fs::create_dir_all(root.join("a")).unwrap();
        assert!(Command::new("git").arg("init").arg("-q").arg(&root).status().unwrap().success());
        fs::write(root.join("a/one"), "1").unwrap();
        fs::write(root.join("two"), "2").unwrap();
        TreeCopy::make(&root, &place, &dir.join("none")).unwrap();
        fs::remove_file(root.join("two")).unwrap();
        fs::write(root.join("a/one"), "changed").unwrap();
        let copy = TreeCopy::make(&root, &place, &dir.join("none")).unwrap();
        let left = under(&copy.tree).unwrap();
        let text = fs::read_to_string(copy.tree.join("a/one")).unwrap();
        fs::remove_dir_all(&dir).unwrap();
        assert_eq!(left, BTreeSet::from([PathBuf::from("a/one")]));
        assert_eq!(text, "changed");
    }
}
