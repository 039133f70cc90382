//! Reads a project's memory.

use std::ops::Bound;

use bethink_api as api;
use bethink_memdir::{Name, Scope, index};
use bethink_memdir_fs::DirectoryFile;
use bethink_service::{Result, ServiceError, rfc3339};

use crate::branches::UnmergedTopics;
use crate::directory::{MemoryDirectory, MemoryTopic};
use crate::recall::view::key_of;
use crate::refused::text_of;
use crate::service::MemoryService;

/// Maximum number of topics per page.
const PAGE: usize = 500;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryText {
    pub text: String,
    /// The text's ETag for a later write, without quotes.
    pub etag: String,
}

impl MemoryService {
    /// Lists topics in order of scope and name.
    pub async fn memories(
        &self,
        project_dir: &str,
        scope: Option<Scope>,
        limit: Option<usize>,
        cursor: Option<String>,
    ) -> Result<api::MemoriesPage> {
        let project = self.project(project_dir).await?;
        let scopes = scope.map_or(Scope::ALL.to_vec(), |scope| vec![scope]);
        // A cursor is the scope and name of the previous page's last topic.
        let place = |cursor: &str| {
            key_of(cursor).ok_or_else(|| {
                ServiceError::invalid(
                    "cursor",
                    "the cursor is not from this list; start again without a cursor",
                )
            })
        };
        let after = cursor.as_deref().map(place).transpose()?;
        let limit = limit.unwrap_or(PAGE).clamp(1, PAGE);
        let mut found = Vec::new();
        for scope in scopes {
            let snapshot = self.snapshot(project.directory(scope)).await?;
            let from = match &after {
                Some((passed, _)) if scope < *passed => continue,
                Some((passed, name)) if scope == *passed => Bound::Excluded(name.clone()),
                _ => Bound::Unbounded,
            };
            let new = snapshot.topics.range((from, Bound::Unbounded)).map(|(_, topic)| topic);
            found.extend(new.take(limit + 1 - found.len()).map(|topic| (scope, topic.clone())));
            if found.len() > limit {
                break;
            }
        }
        let unmerged = self.unmerged(&project, project_dir).await;
        let more = found.len() > limit;
        found.truncate(limit);
        let last = found.last().filter(|_| more);
        Ok(api::MemoriesPage {
            next_cursor: last.map(|(scope, topic)| format!("{scope}/{}", topic.name)),
            memories: found.iter().map(|(scope, topic)| out(*scope, topic, &unmerged)).collect(),
        })
    }

    pub async fn memory_index(
        &self,
        project_dir: &str,
        scope: Option<Scope>,
    ) -> Result<api::MemoryIndex> {
        let project = self.project(project_dir).await?;
        let directory = project.directory(scope.unwrap_or_default());
        let snapshot = self.snapshot(directory).await?;
        let text = snapshot.index.as_ref().map_or("", |index| index.text.as_str());
        let unmerged = self.unmerged(&project, project_dir).await;
        let text_shown = self.shown_index(directory, &snapshot, &unmerged).await;
        let shown = index::shown(&text_shown);
        Ok(api::MemoryIndex {
            dir: directory.dir.display().to_string(),
            scope: directory.scope,
            content: shown.content.to_owned(),
            lines: text.lines().count() as u64,
            bytes: text.len() as u64,
            cut_by: shown.cut_by,
            warnings: index::warnings(text).iter().map(ToString::to_string).collect(),
            topics: snapshot.topics.len() as u64,
            strange: snapshot.strange.iter().map(|s| format!("{} {}", s.path, s.why)).collect(),
            fault: snapshot.fault.clone(),
            polled: directory.is_polled(),
        })
    }

    /// Returns a topic, or the whole index if `name` is `MEMORY`.
    pub async fn memory(&self, project_dir: &str, scope: Scope, name: &str) -> Result<MemoryText> {
        let project = self.project(project_dir).await?;
        let (directory, file) = (project.directory(scope), file_of(name)?);
        let content = directory.read_file(&file).await?.ok_or_else(|| no_file(directory, &file))?;
        self.note_if_damaged(directory, &file, &content).await?;
        let (text, hash) = text_of(&file, content)?;
        Ok(MemoryText { text, etag: hash.to_string() })
    }
}

pub(super) fn name_of(text: &str) -> Result<Name> {
    Name::parse(text).map_err(|error| ServiceError::invalid("name", error.to_string()))
}

/// Returns a topic's file, or the index for `MEMORY`.
pub(super) fn file_of(text: &str) -> Result<DirectoryFile> {
    match text.strip_suffix(".md").unwrap_or(text) {
        "MEMORY" => Ok(DirectoryFile::Index),
        _ => name_of(text).map(DirectoryFile::Topic),
    }
}

pub(super) fn no_file(directory: &MemoryDirectory, file: &DirectoryFile) -> ServiceError {
    let detail = match file {
        DirectoryFile::Topic(name) => {
            format!("topic {:?} not found in {}", name.as_str(), directory.dir.display())
        }
        file => format!("{file} not found in {}", directory.dir.display()),
    };
    ServiceError::not_found(detail).hint("`bethink memory ls` lists the topics")
}

fn out(scope: Scope, topic: &MemoryTopic, unmerged: &UnmergedTopics) -> api::Memory {
    let header = &topic.header;
    api::Memory {
        scope,
        name: topic.name.to_string(),
        title: header.name.clone().filter(|title| title != topic.name.as_str()),
        description: header.description.clone(),
        questions: header.questions.clone(),
        kind: header.kind,
        recall: header.recall,
        modified: rfc3339(topic.modified),
        bytes: topic.bytes,
        etag: topic.hash.to_string(),
        source: header.source.clone(),
        unmerged: unmerged.get(&(scope, topic.name.clone())).cloned(),
    }
}
