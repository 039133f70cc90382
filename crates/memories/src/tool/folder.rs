//! Lists folders, and moves files and folders.

use std::sync::Arc;

use bethink_memdir::name::{INDEX, TEAM};
use bethink_memdir::tool::{At, ListedFile, ToolError, ToolSpot};
use bethink_memdir::{Name, Scope};
use bethink_memdir_fs::DirectoryFile;
use bethink_service::{Result, ServiceError};

use super::{Done, ToolRefusal, ToolRun};
use crate::directory::MemoryTopic;
use crate::memory_write::Expected;

impl ToolRun<'_> {
    /// Lists the files in a folder and its subfolders. The private root also contains the team's files.
    pub(super) async fn entries(&self, scope: Scope, folder: &str) -> Result<Vec<ListedFile>> {
        let mut found = self.own_entries(scope, folder).await?;
        if scope == Scope::Private && folder.is_empty() {
            let team = self.own_entries(Scope::Team, "").await?;
            let below =
                |entry: ListedFile| ListedFile { path: format!("{TEAM}/{}", entry.path), ..entry };
            found.extend(team.into_iter().map(below));
        }
        Ok(found)
    }

    async fn own_entries(&self, scope: Scope, folder: &str) -> Result<Vec<ListedFile>> {
        let shown = self.memories.snapshot(self.project.directory(scope)).await?;
        let below = |name: &Name| {
            let file = name.file();
            match folder {
                "" => Some(file),
                folder => Some(file.strip_prefix(folder)?.strip_prefix('/')?.to_owned()),
            }
        };
        let entry = |topic: &Arc<MemoryTopic>| {
            Some(ListedFile { path: below(&topic.name)?, bytes: topic.bytes })
        };
        let index = shown.index.as_ref().filter(|_| folder.is_empty());
        let index = index
            .map(|index| ListedFile { path: INDEX.to_owned(), bytes: index.text.len() as u64 });
        Ok(shown.topics.values().filter_map(entry).chain(index).collect())
    }

    /// Lists the private topics in a folder and its subfolders.
    pub(super) async fn topics_in(&self, folder: &str) -> Result<Vec<DirectoryFile>> {
        let entries = self.own_entries(Scope::Private, folder).await?;
        let name = |entry: &ListedFile| Name::parse(&format!("{folder}/{}", entry.path)).ok();
        Ok(entries.iter().filter_map(name).map(DirectoryFile::Topic).collect())
    }

    pub(super) async fn rename(&self, old: &str, new: &str) -> Done {
        let from = ToolSpot::movable(old, "rename")?;
        let to = match ToolSpot::movable(new, "rename") {
            Err(ToolError::Root { .. } | ToolError::Index { .. }) => {
                return Err(ToolError::Taken(new.to_owned()).into());
            }
            to => to?,
        };
        match (&from.at, &to.at) {
            (At::Folder(from), At::Folder(to)) => self.move_folder((old, from), (new, to)).await?,
            (At::Topic(from), At::Topic(to)) => {
                let [from, to] = [from, to].map(|name| DirectoryFile::Topic(name.clone()));
                self.move_file((old, from), (new, to)).await?;
            }
            (At::Topic(_), At::Folder(_)) => {
                ToolSpot::file(new)?;
            }
            _ => return Err(ToolError::Unlike { from: old.to_owned(), to: new.to_owned() }.into()),
        }
        Ok(format!("Successfully renamed {old} to {new}"))
    }

    /// Writes the new file before it removes the old one, so that a crash in between leaves both. If the old file was
    /// changed in the meantime, it stays, and the new file is removed.
    async fn move_file(
        &self,
        (old, from): (&str, DirectoryFile),
        (new, to): (&str, DirectoryFile),
    ) -> std::result::Result<(), ToolRefusal> {
        let found = self.read(Scope::Private, &from).await?;
        let (text, hash) = found.ok_or_else(|| ToolError::Gone(old.to_owned()))?;
        if self.read(Scope::Private, &to).await?.is_some() {
            return Err(ToolError::Taken(new.to_owned()).into());
        }
        let write = self.write(to.clone(), Some(text), Expected::Absent);
        match self.memories.write_memory(self.project, write).await {
            Err(error) if error.versions.is_some() => {
                return Err(ToolError::Taken(new.to_owned()).into());
            }
            written => drop(written?),
        }
        let gone = self.write(from, None, Expected::Hash(hash));
        if let Err(error) = self.memories.write_memory(self.project, gone).await {
            let back = self.write(to, None, Expected::Hash(hash));
            self.memories.write_memory(self.project, back).await?;
            return Err(match error.versions {
                Some(_) => super::changed(old),
                None => error.into(),
            });
        }
        Ok(())
    }

    /// Moves a folder file by file. The new folder must be empty, and a folder cannot be moved into itself.
    async fn move_folder(
        &self,
        (old, from): (&str, &str),
        (new, to): (&str, &str),
    ) -> std::result::Result<(), ToolRefusal> {
        let files = self.own_entries(Scope::Private, from).await?;
        if files.is_empty() {
            return Err(ToolError::Gone(old.to_owned()).into());
        }
        if !self.own_entries(Scope::Private, to).await?.is_empty() {
            return Err(ToolError::Taken(new.to_owned()).into());
        }
        if to.strip_prefix(from).is_some_and(|rest| rest.starts_with('/')) {
            let (from, to) = (old.to_owned(), new.to_owned());
            return Err(ToolError::IntoItself { from, to }.into());
        }
        let place = |folder: &str, entry: &ListedFile| {
            let name = Name::parse(&format!("{folder}/{}", entry.path));
            name.map(DirectoryFile::Topic)
                .map_err(|error| ServiceError::invalid("new_path", error.to_string()))
        };
        let moves = files.iter().map(|entry| Ok((place(from, entry)?, place(to, entry)?)));
        let moves: Vec<(DirectoryFile, DirectoryFile)> = moves.collect::<Result<_>>()?;
        let all = moves.len();
        for (done, (from, to)) in moves.into_iter().enumerate() {
            let (old, new) = (format!("{old} ({from})"), format!("{new} ({to})"));
            if let Err(unmet) = self.move_file((&old, from), (&new, to)).await {
                let ToolRefusal::ForModel(why) = unmet else { return Err(unmet) };
                return Err(ToolRefusal::ForModel(format!(
                    "{done} of {all} files were moved before an error occurred: {why}"
                )));
            }
        }
        Ok(())
    }
}
