//! Imports an export from another memory program. Each entry becomes a topic.

use bethink_api as api;
use bethink_extractor::Meaning;
use bethink_memdir::{Name, header};
use bethink_memdir_fs::DirectoryFile;
use bethink_service::{ErrorKind, Result, ServiceError, rfc3339};

use crate::foreign::{self, ForeignMemory};
use crate::memory_write::{Author, Expected, MemoryWrite};
use crate::project::MemoryProject;
use crate::service::MemoryService;

/// Maximum number of names that are tried for a topic.
const NAMES: usize = 100;

impl MemoryService {
    /// Imports an export from claude-mem or mem0. Entries that mean the same as an existing topic are skipped, and so
    /// are entries that must not be stored. The report gives the reasons.
    pub async fn import_memories(
        &self,
        request: api::ImportMemories,
    ) -> Result<api::MemoriesImported> {
        let project = self.project(&request.project_dir).await?;
        let export = foreign::read(&request.text).map_err(|error| {
            ServiceError::invalid("text", format!("could not read the export: {error}"))
                .hint("nothing was imported")
        })?;
        let mut report = api::MemoriesImported {
            from: export.from.to_owned(),
            empty: export.empty as u64,
            ..api::MemoriesImported::default()
        };
        let shown = self.snapshot(project.directory(request.scope)).await?;
        let mut known: Vec<Meaning> =
            shown.topics.values().map(|topic| Meaning::of(&topic.described)).collect();
        let now = rfc3339(self.cx.now());
        for memory in &export.memories {
            let meaning = Meaning::of(&memory.description);
            if known.iter().any(|known| known.same(&meaning)) {
                report.known += 1;
                continue;
            }
            let text = memory.topic(export.from, &now);
            match self.import_one(&project, request.scope, memory, text, export.from).await {
                Ok(name) => {
                    report.imported.push(name);
                    known.push(meaning);
                }
                Err(error) if matches!(error.kind, ErrorKind::Invalid | ErrorKind::TooLarge) => {
                    report.refused.push(error.detail);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(report)
    }

    async fn import_one(
        &self,
        project: &MemoryProject,
        scope: api::MemoryScope,
        memory: &ForeignMemory,
        text: String,
        from: &str,
    ) -> Result<String> {
        // The same check as for everything that is shared: an export may contain an API key.
        bethink_secrets::gate("an entry", &text)
            .map_err(|error| ServiceError::invalid("text", error.to_string()))?;
        let wanted = Name::suggest(&header::read(&text).header.described(&memory.description));
        for n in 1..=NAMES {
            let name = if n == 1 { wanted.clone() } else { wanted.numbered(n) };
            let author = Author { note: format!("imported from {from}"), ..Author::person() };
            let write = MemoryWrite {
                scope,
                file: DirectoryFile::Topic(name.clone()),
                text: Some(text.clone()),
                expected: Expected::Absent,
                author,
            };
            match self.write_memory(project, write).await {
                // The name is taken.
                Err(error) if error.versions.is_some() => {}
                done => return done.map(|_| name.to_string()),
            }
        }
        let detail = format!("{NAMES} topics already have names like {:?}", wanted.as_str());
        Err(ServiceError::conflict(detail))
    }
}
