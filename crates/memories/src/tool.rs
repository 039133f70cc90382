//! Anthropic's memory tool for a project's memory. The tool's commands read and write in the same way as all other
//! callers: writes are compared with the text that was read, and stored as versions.

mod folder;

use bethink_api as api;
use bethink_api::MemoryOutcome;
use bethink_memdir::tool::spot::root_of;
use bethink_memdir::tool::{self, At, ToolCommand, ToolError, ToolSpot, edit};
use bethink_memdir::{Hash, Scope};
use bethink_memdir_fs::DirectoryFile;
use bethink_service::{ErrorKind, Result, ServiceError};
use bethink_transcript::SessionId;

use crate::change::TRIES;
use crate::held_back::listed;
use crate::memory_write::{Author, Expected, MemoryWrite};
use crate::project::MemoryProject;
use crate::service::MemoryService;

enum ToolRefusal {
    /// An error that the model can correct. The model gets this text.
    ForModel(String),
    Service(ServiceError),
}

type Done = std::result::Result<String, ToolRefusal>;

impl From<ToolError> for ToolRefusal {
    fn from(error: ToolError) -> Self {
        Self::ForModel(error.to_string())
    }
}

impl From<ServiceError> for ToolRefusal {
    fn from(error: ServiceError) -> Self {
        match error.kind {
            ErrorKind::Invalid
            | ErrorKind::NotFound
            | ErrorKind::Conflict
            | ErrorKind::Stale
            | ErrorKind::TooLarge => {
                let hint = error.hint.map_or_else(String::new, |hint| format!("; {hint}"));
                Self::ForModel(format!("{}{hint}", error.detail))
            }
            _ => Self::Service(error),
        }
    }
}

impl MemoryService {
    /// Runs one tool call. Errors that the model can correct are part of the answer.
    pub async fn memory_tool(&self, call: api::MemoryToolCall) -> Result<api::MemoryToolResult> {
        let project = self.project(&call.project_dir).await?;
        let command: ToolCommand = match serde_json::from_value(call.input) {
            Ok(command) => command,
            Err(error) => {
                let content = format!("The input is not a valid command of this tool: {error}");
                return Ok(api::MemoryToolResult { content, is_error: true });
            }
        };
        let session = call.session_id.map(SessionId);
        let allowed = match command {
            ToolCommand::View { .. } => Ok(()),
            _ => self.refuse_if_unrecorded(&call.project_dir),
        };
        let run = ToolRun { memories: self, project: &project, session };
        let done = match allowed {
            Ok(()) => run.run(command).await,
            Err(refusal) => Err(refusal.into()),
        };
        match done {
            Ok(content) => Ok(api::MemoryToolResult { content, is_error: false }),
            Err(ToolRefusal::ForModel(content)) => {
                Ok(api::MemoryToolResult { content, is_error: true })
            }
            Err(ToolRefusal::Service(error)) => Err(error),
        }
    }
}

struct ToolRun<'a> {
    memories: &'a MemoryService,
    project: &'a MemoryProject,
    session: Option<SessionId>,
}

impl ToolRun<'_> {
    async fn run(&self, command: ToolCommand) -> Done {
        match command {
            ToolCommand::View { path, view_range } => self.view(&path, view_range.as_deref()).await,
            ToolCommand::Create { path, file_text } => self.create(&path, file_text).await,
            ToolCommand::StrReplace { path, old_str, new_str } => {
                self.replace(&path, &old_str, &new_str.unwrap_or_default()).await
            }
            ToolCommand::Insert { path, insert_line, insert_text } => {
                self.insert(&path, insert_line, &insert_text).await
            }
            ToolCommand::Delete { path } => self.delete(&path).await,
            ToolCommand::Rename { old_path, new_path } => self.rename(&old_path, &new_path).await,
        }
    }

    async fn view(&self, path: &str, range: Option<&[i64]>) -> Done {
        let spot = ToolSpot::parse(path)?;
        if let At::Folder(folder) = &spot.at {
            let entries = self.entries(spot.scope, folder).await?;
            if entries.is_empty() && path.trim_end_matches('/') != root_of(spot.scope) {
                return Err(missing(path));
            }
            return Ok(tool::folder(path, &entries));
        }
        let file = file_of(&spot.at).ok_or_else(|| missing(path))?;
        let found = self.read(spot.scope, &file).await?;
        let (text, _) = found.ok_or_else(|| missing(path))?;
        let directory = self.project.directory(spot.scope);
        let findings = self.memories.held_back(directory, &text).await?;
        if !findings.is_empty() {
            let found = listed(&findings);
            let told = format!(
                "{path} is not shown, because it seems to contain a secret: {found}. Only a person can allow agents to read it"
            );
            return Err(ToolRefusal::ForModel(told));
        }
        Ok(tool::file(path, &text, range)?)
    }

    async fn create(&self, path: &str, text: String) -> Done {
        let write = self.write(writable(path)?, Some(text), Expected::Absent);
        match self.memories.write_memory(self.project, write).await {
            Ok(done) if done.outcome != MemoryOutcome::Same => {
                Ok(with_warnings(format!("File created successfully at: {path}"), &done.warnings))
            }
            Err(error) if error.versions.is_none() => Err(error.into()),
            _ => Err(ToolError::Exists(path.to_owned()).into()),
        }
    }

    /// Replaces a string that occurs once. If the file changes in the meantime, tries again with the new content.
    async fn replace(&self, path: &str, old: &str, new: &str) -> Done {
        for _ in 0..TRIES {
            let (file, text, hash) = self.there(path).await?;
            let edited = edit::replace(path, &text, old, new)?;
            let write = self.write(file, Some(edited.text), Expected::Hash(hash));
            match self.memories.write_memory(self.project, write).await {
                Ok(done) => return Ok(with_warnings(edited.answer, &done.warnings)),
                Err(error) if error.versions.is_some() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(changed(path))
    }

    /// Inserts text after a line. Fails if the file changes in the meantime, because the line number would be
    /// meaningless.
    async fn insert(&self, path: &str, line: i64, new: &str) -> Done {
        let (file, text, hash) = self.there(path).await?;
        let edited = edit::insert(path, &text, line, new)?;
        let write = self.write(file, Some(edited.text), Expected::Hash(hash));
        match self.memories.write_memory(self.project, write).await {
            Ok(done) => Ok(with_warnings(edited.answer, &done.warnings)),
            Err(error) if error.versions.is_some() => Err(changed(path)),
            Err(error) => Err(error.into()),
        }
    }

    async fn delete(&self, path: &str) -> Done {
        let spot = ToolSpot::movable(path, "delete")?;
        let files = match &spot.at {
            At::Folder(folder) => self.topics_in(folder).await?,
            at => file_of(at).into_iter().collect(),
        };
        let mut removed = 0;
        for file in files {
            let write = self.write(file, None, Expected::Anything);
            let done = self.memories.write_memory(self.project, write).await?;
            removed += usize::from(done.outcome == MemoryOutcome::Removed);
        }
        match removed {
            0 => Err(ToolError::Gone(path.to_owned()).into()),
            _ => Ok(format!("Successfully deleted {path}")),
        }
    }

    /// Returns a private file that exists, with its text and hash. The team's files cannot be changed.
    async fn there(
        &self,
        path: &str,
    ) -> std::result::Result<(DirectoryFile, String, Hash), ToolRefusal> {
        let spot = ToolSpot::parse(path)?;
        if let At::Folder(folder) = &spot.at {
            let is_there = folder.is_empty() || !self.entries(spot.scope, folder).await?.is_empty();
            return Err(match is_there {
                true => ToolError::NotAFile(path.to_owned()).into(),
                false => missing(path),
            });
        }
        let file = file_of(&spot.at).ok_or_else(|| missing(path))?;
        if spot.scope == Scope::Team {
            return Err(ToolError::Team(path.to_owned()).into());
        }
        let (text, hash) = self.read(spot.scope, &file).await?.ok_or_else(|| missing(path))?;
        Ok((file, text, hash))
    }

    async fn read(&self, scope: Scope, file: &DirectoryFile) -> Result<Option<(String, Hash)>> {
        self.project.directory(scope).read_text(file).await
    }

    fn write(&self, file: DirectoryFile, text: Option<String>, expected: Expected) -> MemoryWrite {
        let author = Author::agent(self.session);
        MemoryWrite { scope: Scope::Private, file, text, expected, author }
    }
}

/// Returns the private file at a path. The team's files cannot be changed.
fn writable(path: &str) -> std::result::Result<DirectoryFile, ToolRefusal> {
    let spot = ToolSpot::file(path)?;
    match file_of(&spot.at) {
        Some(file) if spot.scope == Scope::Private => Ok(file),
        Some(_) => Err(ToolError::Team(path.to_owned()).into()),
        None => Err(ToolError::NotAFile(path.to_owned()).into()),
    }
}

fn file_of(at: &At) -> Option<DirectoryFile> {
    match at {
        At::Folder(_) => None,
        At::Index => Some(DirectoryFile::Index),
        At::Topic(name) => Some(DirectoryFile::Topic(name.clone())),
    }
}

fn missing(path: &str) -> ToolRefusal {
    ToolError::Missing(path.to_owned()).into()
}

fn changed(path: &str) -> ToolRefusal {
    ToolRefusal::ForModel(format!(
        "{path} was changed by someone else in the meantime. View it again"
    ))
}

fn with_warnings(answer: String, warnings: &[String]) -> String {
    let notes = warnings.iter().map(|warning| format!("\nNote: {warning}"));
    std::iter::once(answer).chain(notes).collect()
}
