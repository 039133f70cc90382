//! Finds memory files whose content changed although nobody saved them, so that a damaged disk is not mistaken for a
//! person's edit.

use std::collections::BTreeMap;
use std::sync::Arc;

use bethink_memdir_fs::{DirectoryFile, FileContent};
use bethink_service::{Result, locked};

use crate::directory::MemoryDirectory;
use crate::service::MemoryService;

impl MemoryService {
    /// Describes the damaged files of projects in use, if there are any.
    pub fn damage(&self) -> Option<String> {
        let projects = self.inner.projects.in_use();
        let directories = projects.iter().flat_map(|project| project.directories());
        // Projects can share a directory.
        let directories: BTreeMap<&str, _> =
            directories.map(|directory| (directory.key.as_str(), directory)).collect();
        let damaged: Vec<String> = directories.into_values().flat_map(damaged_in).collect();
        (!damaged.is_empty()).then(|| {
            format!(
                "the disk may be damaged, because the content of these memory files changed, but their \
                 modification times did not: {}; run `bethink memory restore NAME` in the project, or save the file again if \
                 its content is right",
                damaged.join(", ")
            )
        })
    }

    /// Checks all files of a directory, as last read, for damage.
    pub(crate) async fn find_damage(&self, directory: &Arc<MemoryDirectory>) -> Result<()> {
        let shown = directory.shown();
        let topics = shown.topics.keys().cloned().map(DirectoryFile::Topic);
        let index = shown.index.as_ref().map(|_| DirectoryFile::Index);
        for file in topics.chain(index) {
            if let Some(content) = directory.read_file(&file).await? {
                self.note_if_damaged(directory, &file, &content).await?;
            }
        }
        Ok(())
    }

    /// Records a file as damaged if it has the modification time of its newest version, but different content: when someone
    /// else saves the file, its modification time changes. Only versions that were stored before this daemon read the directory
    /// are compared, because a later save at the same moment as ours would look like damage.
    pub(crate) async fn note_if_damaged(
        &self,
        directory: &MemoryDirectory,
        file: &DirectoryFile,
        content: &FileContent,
    ) -> Result<()> {
        let newest = self.newest_version(directory, &file.path(), None).await?;
        let (modified, hash) = (content.stat.modified, content.hash.to_string());
        let is_damaged = newest.is_some_and(|newest| {
            newest.at == modified && newest.at < directory.opened && newest.hash != hash
        });
        let is_news =
            is_damaged && locked(&directory.damaged).insert(file.clone(), modified).is_none();
        if is_news {
            let path = directory.dir.join(file.path());
            tracing::error!(
                file = %path.display(),
                "a memory is damaged: its content changed, but its modification time did not"
            );
        }
        Ok(())
    }
}

fn damaged_in(directory: &Arc<MemoryDirectory>) -> Vec<String> {
    let damaged = locked(&directory.damaged);
    damaged.keys().map(|file| directory.dir.join(file.path()).display().to_string()).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

    use std::fs;
    use std::path::{Path, PathBuf};
    use std::time::{SystemTime, UNIX_EPOCH};

    use bethink_config::Settings;
    use bethink_memdir::Scope;

    use super::*;
    use crate::memory_write::Expected;
    use crate::tests::home::start;

    const TEXT: &str = "---\ndescription: How thick the fog is\n---\nVery thick.\n";
    const FLIPPED: &str = "---\ndescription: How thick the fog is\n---\nVery thicc.\n";

    fn save(file: &Path, text: &str, time: SystemTime) {
        fs::write(file, text).unwrap();
        fs::File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
    }

    async fn put(memories: &MemoryService, project: &str) -> PathBuf {
        let (scope, text) = (Scope::Private, TEXT.to_owned());
        let written =
            memories.put_memory(project, scope, "fog", text, Expected::Anything).await.unwrap();
        written.path.into()
    }

    /// Whether a change of the file also changes its time, as an edit does.
    enum FileTime {
        Kept,
        Changed,
    }

    /// Starts a service whose only memory became [`FLIPPED`] while it was stopped.
    async fn restarted(home: &tempfile::TempDir, time: FileTime) -> (MemoryService, PathBuf) {
        let first = start(Settings::at(home.path()), None).await;
        let file = put(&first, "/project").await;
        first.cx.stop().await;
        let time = match time {
            FileTime::Kept => fs::metadata(&file).unwrap().modified().unwrap(),
            FileTime::Changed => UNIX_EPOCH,
        };
        save(&file, FLIPPED, time);
        (start(Settings::at(home.path()), None).await, file)
    }

    async fn read(memories: &MemoryService, project: &str) -> String {
        memories.memory(project, Scope::Private, "fog").await.unwrap().text
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_bit_that_fell_over_is_told_until_the_file_is_saved() {
        let home = tempfile::tempdir().unwrap();
        let (second, file) = restarted(&home, FileTime::Kept).await;
        assert_eq!(second.damage(), None, "nothing was read yet");
        assert_eq!(read(&second, "/project").await, FLIPPED);
        let told = second.damage().unwrap();
        assert!(told.contains(file.to_str().unwrap()), "{told}");
        second.restore_memory("/project", Scope::Private, "fog", None).await.unwrap();
        assert_eq!((read(&second, "/project").await.as_str(), second.damage()), (TEXT, None));
        second.cx.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn every_file_is_looked_at_when_a_directory_is_first_read() {
        let home = tempfile::tempdir().unwrap();
        let (second, _) = restarted(&home, FileTime::Kept).await;
        let project = second.project("/project").await.unwrap();
        let directory = project.directory(Scope::Private);
        second.snapshot(directory).await.unwrap();
        second.find_damage(directory).await.unwrap();
        assert!(second.damage().is_some());
        second.cx.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_edit_of_a_person_is_no_damage() {
        let home = tempfile::tempdir().unwrap();
        let (second, _) = restarted(&home, FileTime::Changed).await;
        assert_eq!(read(&second, "/project").await, FLIPPED);
        assert_eq!(second.damage(), None);
        second.cx.stop().await;
    }
}
