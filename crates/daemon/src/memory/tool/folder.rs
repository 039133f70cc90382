//! What lies in a folder, and moves of files and folders.

use bethink_memdir::name::{INDEX, TEAM};
use bethink_memdir::tool::{At, Entry, Spot, ToolError};
use bethink_memdir::{Name, Scope};
use bethink_memdir_fs::File;

use super::{Bench, Done, Unmet, file_of};
use crate::memory::MemoryWish;
use crate::{Refusal, Result};

impl Bench<'_> {
    /// Files below a folder, as their paths within it. The team's are below the private directory itself.
    pub(super) async fn entries(&self, scope: Scope, folder: &str) -> Result<Vec<Entry>> {
        let mut found = self.own_entries(scope, folder).await?;
        if scope == Scope::Private && folder.is_empty() {
            let team = self.own_entries(Scope::Team, "").await?;
            let below = |entry: Entry| Entry { path: format!("{TEAM}/{}", entry.path), ..entry };
            found.extend(team.into_iter().map(below));
        }
        Ok(found)
    }

    async fn own_entries(&self, scope: Scope, folder: &str) -> Result<Vec<Entry>> {
        let shown = self.project.shelf(scope).snapshot(self.daemon).await?;
        let below = |name: &Name| {
            let file = name.file();
            match folder {
                "" => Some(file),
                folder => Some(file.strip_prefix(folder)?.strip_prefix('/')?.to_owned()),
            }
        };
        let mut found: Vec<Entry> = shown
            .topics
            .values()
            .filter_map(|topic| Some(Entry { path: below(&topic.name)?, bytes: topic.bytes }))
            .collect();
        if let Some(index) = shown.index.as_ref().filter(|_| folder.is_empty()) {
            let bytes = index.text.len() as u64;
            found.push(Entry { path: INDEX.to_owned(), bytes });
        }
        Ok(found)
    }

    /// The private topics below a folder.
    pub(super) async fn topics_in(&self, folder: &str) -> Result<Vec<File>> {
        let entries = self.own_entries(Scope::Private, folder).await?;
        let name = |entry: &Entry| Name::parse(&format!("{folder}/{}", entry.path)).ok();
        Ok(entries.iter().filter_map(name).map(File::Topic).collect())
    }

    pub(super) async fn rename(&self, old: &str, new: &str) -> Done {
        let from = Spot::movable(old, "rename")?;
        let to = match Spot::movable(new, "rename") {
            Err(ToolError::Root { .. } | ToolError::Index { .. }) => {
                return Err(ToolError::Taken(new.to_owned()).into());
            }
            to => to?,
        };
        match (&from.at, &to.at) {
            (At::Folder(from), At::Folder(to)) => self.move_folder((old, from), (new, to)).await?,
            (At::Topic(_), At::Topic(_)) => {
                let (Some(from), Some(to)) = (file_of(&from.at), file_of(&to.at)) else {
                    return Err(ToolError::Gone(old.to_owned()).into());
                };
                self.move_file((old, from), (new, to)).await?;
            }
            (At::Topic(_), At::Folder(_)) => {
                Spot::file(new)?;
            }
            _ => return Err(ToolError::Unlike { from: old.to_owned(), to: new.to_owned() }.into()),
        }
        Ok(format!("Successfully renamed {old} to {new}"))
    }

    /// There under the new name before it goes from the old one: a kill in between leaves it twice. What was saved
    /// under the old name meanwhile stays there, and the new one goes again.
    async fn move_file(
        &self,
        (old, from): (&str, File),
        (new, to): (&str, File),
    ) -> std::result::Result<(), Unmet> {
        let found = self.read(Scope::Private, &from).await?;
        let (text, hash) = found.ok_or_else(|| ToolError::Gone(old.to_owned()))?;
        if self.read(Scope::Private, &to).await?.is_some() {
            return Err(ToolError::Taken(new.to_owned()).into());
        }
        let write = self.write(Scope::Private, to.clone(), Some(text), MemoryWish::Absent);
        match self.daemon.write_memory(self.project, write).await {
            Ok(_) => {}
            Err(refusal) if refusal.versions.is_some() => {
                return Err(ToolError::Taken(new.to_owned()).into());
            }
            Err(refusal) => return Err(refusal.into()),
        }
        let gone = self.write(Scope::Private, from, None, MemoryWish::Hash(hash));
        if let Err(refusal) = self.daemon.write_memory(self.project, gone).await {
            let back = self.write(Scope::Private, to, None, MemoryWish::Hash(hash));
            self.daemon.write_memory(self.project, back).await?;
            return Err(lost(old, refusal));
        }
        Ok(())
    }

    /// File by file; a new folder must be empty, and none is moved into itself.
    async fn move_folder(
        &self,
        (old, from): (&str, &str),
        (new, to): (&str, &str),
    ) -> std::result::Result<(), Unmet> {
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
        let place = |folder: &str, entry: &Entry| {
            let name = Name::parse(&format!("{folder}/{}", entry.path));
            name.map(File::Topic).map_err(|error| Refusal::invalid("new_path", error.to_string()))
        };
        let moves = files.iter().map(|entry| Ok((place(from, entry)?, place(to, entry)?)));
        let moves: Vec<(File, File)> = moves.collect::<Result<_>>()?;
        let all = moves.len();
        for (done, (from, to)) in moves.into_iter().enumerate() {
            let (old, new) = (format!("{old} ({from})"), format!("{new} ({to})"));
            if let Err(unmet) = self.move_file((&old, from), (&new, to)).await {
                return Err(match unmet {
                    Unmet::Told(why) => {
                        Unmet::Told(format!("{done} of {all} files were moved; then: {why}"))
                    }
                    refused @ Unmet::Refused(_) => refused,
                });
            }
        }
        Ok(())
    }
}

fn lost(old: &str, refusal: Refusal) -> Unmet {
    match refusal.versions {
        Some(_) => super::changed(old),
        None => refusal.into(),
    }
}
