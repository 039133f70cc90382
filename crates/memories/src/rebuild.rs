//! Updates MEMORY.md to match the existing topics.

use bethink_api as api;
use bethink_memdir::index::{TopicLine, TopicWords, rebuild};
use bethink_memdir_fs::DirectoryFile;
use bethink_service::{Result, ServiceError};

use crate::memory_write::{Author, MemoryWrite};
use crate::service::MemoryService;

impl MemoryService {
    /// Updates the index, but keeps its prose, its order and its valid lines. The old index is stored as a version.
    pub async fn rebuild_memory(&self, request: api::RebuildMemory) -> Result<api::MemoryRebuilt> {
        let project = self.project(&request.project_dir).await?;
        let scope = request.scope.unwrap_or_default();
        let directory = project.directory(scope);
        let shown = self.snapshot_anew(directory).await?;
        let topics: Vec<TopicWords> = shown.topics.values().map(|topic| topic.words()).collect();
        let rows: Vec<TopicLine<'_>> = topics.iter().map(TopicWords::line).collect();
        let current = directory.read_file(&DirectoryFile::Index).await?;
        let expected = current.as_ref().map(|content| content.hash).into();
        let old = String::from_utf8(current.map_or_else(Vec::new, |content| content.bytes));
        let old = old.map_err(|_| {
            ServiceError::conflict("MEMORY.md is not UTF-8").hint("fix or remove the file")
        })?;
        let new = rebuild(&old, &rows);
        let (added, dropped) = (missing(&new, &old), missing(&old, &new));
        let changed = new != old;
        let mut warnings = Vec::new();
        if changed && !request.dry_run {
            let (file, text) = (DirectoryFile::Index, Some(new));
            let author = Author { note: "rebuild".to_owned(), ..Author::person() };
            let write = MemoryWrite { scope, file, text, expected, author };
            warnings = self.write_memory(&project, write).await?.warnings;
        }
        Ok(api::MemoryRebuilt {
            scope,
            path: directory.dir.join(DirectoryFile::Index.path()).display().to_string(),
            changed,
            dry_run: request.dry_run,
            added,
            dropped,
            warnings,
        })
    }
}

/// Returns the lines of `text` that `other` does not have.
fn missing(text: &str, other: &str) -> Vec<String> {
    let other: std::collections::HashSet<&str> = other.lines().collect();
    text.lines()
        .filter(|line| !other.contains(line) && !line.is_empty())
        .map(str::to_owned)
        .collect()
}
