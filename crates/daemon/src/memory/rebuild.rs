//! MEMORY.md brought up to date with the topics that are there.

use std::sync::Arc;

use bethink_api as api;
use bethink_memdir::index::{Row, rebuild};
use bethink_memdir::{Name, Scope, header};
use bethink_memdir_fs::File;

use super::read::scope_of;
use super::{Author, MemoryWish, MemoryWrite, Shelf};
use crate::{Daemon, Kind, Refusal, Result};

/// A topic's name, title and description.
type Told = (Name, String, String);

impl Daemon {
    /// Prose, order and living lines stay; what the index held before is a version of it.
    pub async fn rebuild_memory(&self, request: api::RebuildMemory) -> Result<api::MemoryRebuilt> {
        let project = self.project(&request.project_dir).await?;
        let scope = request.scope.as_deref().map_or(Ok(Scope::Private), scope_of)?;
        let shelf = project.shelf(scope);
        let topics = self.topics_told(shelf).await?;
        let rows: Vec<Row<'_>> = topics
            .iter()
            .map(|(name, title, description)| Row { name, title, description })
            .collect();
        let current = shelf.read_file(&File::Index).await?;
        let (old, wish) = match current {
            None => (String::new(), MemoryWish::Absent),
            Some(content) => {
                let old = String::from_utf8(content.bytes).map_err(|_| {
                    Refusal::new(Kind::Conflict, "MEMORY.md is not UTF-8")
                        .hint("mend or remove the file")
                })?;
                (old, MemoryWish::Hash(content.hash))
            }
        };
        let new = rebuild(&old, &rows);
        let (added, dropped) = (missing(&new, &old), missing(&old, &new));
        let changed = new != old;
        let mut warnings = Vec::new();
        if changed && !request.dry_run {
            let write = MemoryWrite {
                scope,
                file: File::Index,
                text: Some(new),
                wish,
                author: Author { note: "rebuild".to_owned(), ..Author::person() },
            };
            warnings = self.write_memory(&project, write).await?.warnings;
        }
        Ok(api::MemoryRebuilt {
            scope: scope.to_string(),
            path: shelf.dir.join(File::Index.path()).display().to_string(),
            changed,
            dry_run: request.dry_run,
            added,
            dropped,
            warnings,
        })
    }

    /// In order of their names. A topic that can't be read is named all the same.
    async fn topics_told(&self, shelf: &Arc<Shelf>) -> Result<Vec<Told>> {
        let shown = shelf.snapshot_anew(self).await?;
        let mut out = Vec::with_capacity(shown.topics.len());
        for topic in shown.topics.values() {
            let title = topic.name.titled(&topic.header);
            let description = match &topic.header.description {
                Some(description) => description.clone(),
                None => match shelf.read(self, &topic.name).await {
                    Ok(Some((text, _))) => topic.header.described(header::read(&text).body),
                    Ok(None) | Err(_) => String::new(),
                },
            };
            out.push((topic.name.clone(), title, description));
        }
        Ok(out)
    }
}

/// Lines of one text that the other has not.
fn missing(text: &str, other: &str) -> Vec<String> {
    let other: std::collections::HashSet<&str> = other.lines().collect();
    text.lines()
        .filter(|line| !other.contains(line) && !line.is_empty())
        .map(str::to_owned)
        .collect()
}
