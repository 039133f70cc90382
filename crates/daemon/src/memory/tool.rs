//! Anthropic's memory tool over a project's memory: each command is reads and writes like everybody's, compared
//! with what was read and kept as versions.

mod folder;

use bethink_api as api;
use bethink_memdir::tool::spot::root_of;
use bethink_memdir::tool::{self, At, Command, Spot, ToolError, edit};
use bethink_memdir::{Hash, Scope};
use bethink_memdir_fs::File;
use bethink_transcript::SessionId;

use super::change::TRIES;
use super::{Author, MemoryWish, MemoryWrite, Project};
use crate::{Daemon, Kind, Refusal, Result};

/// Why a command came to nothing.
enum Unmet {
    /// The model can put it right.
    Told(String),
    Refused(Refusal),
}

type Done = std::result::Result<String, Unmet>;

impl From<ToolError> for Unmet {
    fn from(error: ToolError) -> Self {
        Self::Told(error.to_string())
    }
}

impl From<Refusal> for Unmet {
    fn from(refusal: Refusal) -> Self {
        match refusal.kind {
            Kind::Invalid | Kind::NotFound | Kind::Conflict | Kind::Stale | Kind::TooLarge => {
                let hint = refusal.hint.map_or_else(String::new, |hint| format!("; {hint}"));
                Self::Told(format!("{}{hint}", refusal.detail))
            }
            _ => Self::Refused(refusal),
        }
    }
}

impl Daemon {
    /// One call of the tool. What the model can put right is an answer to it, and no refusal.
    pub async fn memory_tool(&self, call: api::MemoryToolCall) -> Result<api::MemoryToolResult> {
        let project = self.project(&call.project_dir).await?;
        let command: Command = match serde_json::from_value(call.input) {
            Ok(command) => command,
            Err(error) => {
                let content = format!("The input is not a command of this tool: {error}");
                return Ok(api::MemoryToolResult { content, is_error: true });
            }
        };
        let bench =
            Bench { daemon: self, project: &project, session: call.session_id.map(SessionId) };
        match bench.run(command).await {
            Ok(content) => Ok(api::MemoryToolResult { content, is_error: false }),
            Err(Unmet::Told(content)) => Ok(api::MemoryToolResult { content, is_error: true }),
            Err(Unmet::Refused(refusal)) => Err(refusal),
        }
    }
}

/// A command at work.
struct Bench<'a> {
    daemon: &'a Daemon,
    project: &'a Project,
    session: Option<SessionId>,
}

impl Bench<'_> {
    async fn run(&self, command: Command) -> Done {
        match command {
            Command::View { path, view_range } => self.view(&path, view_range.as_deref()).await,
            Command::Create { path, file_text } => self.create(&path, file_text).await,
            Command::StrReplace { path, old_str, new_str } => {
                self.replace(&path, &old_str, &new_str.unwrap_or_default()).await
            }
            Command::Insert { path, insert_line, insert_text } => {
                self.insert(&path, insert_line, &insert_text).await
            }
            Command::Delete { path } => self.delete(&path).await,
            Command::Rename { old_path, new_path } => self.rename(&old_path, &new_path).await,
        }
    }

    async fn view(&self, path: &str, range: Option<&[i64]>) -> Done {
        let spot = Spot::parse(path)?;
        let Some(file) = file_of(&spot.at) else {
            let At::Folder(folder) = &spot.at else { return Err(missing(path)) };
            let entries = self.entries(spot.scope, folder).await?;
            if entries.is_empty() && path.trim_end_matches('/') != root_of(spot.scope) {
                return Err(missing(path));
            }
            return Ok(tool::folder(path, &entries));
        };
        let found = self.read(spot.scope, &file).await?;
        let (text, _) = found.ok_or_else(|| missing(path))?;
        Ok(tool::file(path, &text, range)?)
    }

    async fn create(&self, path: &str, text: String) -> Done {
        let (scope, file) = writable(path)?;
        let exists = || Unmet::from(ToolError::Exists(path.to_owned()));
        let write = self.write(scope, file, Some(text), MemoryWish::Absent);
        match self.daemon.write_memory(self.project, write).await {
            Ok(done) if done.outcome == "same" => Err(exists()),
            Ok(done) => {
                Ok(with_warnings(format!("File created successfully at: {path}"), &done.warnings))
            }
            Err(refusal) if refusal.versions.is_some() => Err(exists()),
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// A text that is there once is replaced in whatever the file holds by then.
    async fn replace(&self, path: &str, old: &str, new: &str) -> Done {
        let mut lost = None;
        for _ in 0..TRIES {
            let (scope, file, text, hash) = self.there(path).await?;
            let edited = edit::replace(path, &text, old, new)?;
            let write = self.write(scope, file, Some(edited.text), MemoryWish::Hash(hash));
            match self.daemon.write_memory(self.project, write).await {
                Ok(done) => return Ok(with_warnings(edited.told, &done.warnings)),
                Err(refusal) if refusal.versions.is_some() => lost = Some(refusal),
                Err(refusal) => return Err(refusal.into()),
            }
        }
        Err(lost.map_or_else(|| missing(path), |_| changed(path)))
    }

    /// A line's number says nothing of a file that somebody else has changed meanwhile.
    async fn insert(&self, path: &str, line: i64, new: &str) -> Done {
        let (scope, file, text, hash) = self.there(path).await?;
        let edited = edit::insert(path, &text, line, new)?;
        let write = self.write(scope, file, Some(edited.text), MemoryWish::Hash(hash));
        match self.daemon.write_memory(self.project, write).await {
            Ok(done) => Ok(with_warnings(edited.told, &done.warnings)),
            Err(refusal) if refusal.versions.is_some() => Err(changed(path)),
            Err(refusal) => Err(refusal.into()),
        }
    }

    async fn delete(&self, path: &str) -> Done {
        let spot = Spot::movable(path, "delete")?;
        let files = match &spot.at {
            At::Folder(folder) => self.topics_in(folder).await?,
            at => file_of(at).into_iter().collect(),
        };
        let mut removed = 0;
        for file in files {
            let write = self.write(spot.scope, file, None, MemoryWish::Anything);
            let done = self.daemon.write_memory(self.project, write).await?;
            removed += usize::from(done.outcome == "removed");
        }
        match removed {
            0 => Err(ToolError::Gone(path.to_owned()).into()),
            _ => Ok(format!("Successfully deleted {path}")),
        }
    }

    /// A file that may be changed, as it stands.
    async fn there(&self, path: &str) -> std::result::Result<(Scope, File, String, Hash), Unmet> {
        let spot = Spot::parse(path)?;
        let Some(file) = file_of(&spot.at) else {
            let At::Folder(folder) = &spot.at else { return Err(missing(path)) };
            let is_there = folder.is_empty() || !self.entries(spot.scope, folder).await?.is_empty();
            return Err(match is_there {
                true => ToolError::NotAFile(path.to_owned()).into(),
                false => missing(path),
            });
        };
        if spot.scope == Scope::Team {
            return Err(ToolError::Team(path.to_owned()).into());
        }
        let (text, hash) = self.read(spot.scope, &file).await?.ok_or_else(|| missing(path))?;
        Ok((spot.scope, file, text, hash))
    }

    async fn read(&self, scope: Scope, file: &File) -> Result<Option<(String, Hash)>> {
        self.project.shelf(scope).read_text(file).await
    }

    fn write(
        &self,
        scope: Scope,
        file: File,
        text: Option<String>,
        wish: MemoryWish,
    ) -> MemoryWrite {
        MemoryWrite { scope, file, text, wish, author: Author::agent(self.session) }
    }
}

/// What a write is for; the team's files are not for it.
fn writable(path: &str) -> std::result::Result<(Scope, File), Unmet> {
    let spot = Spot::file(path)?;
    match file_of(&spot.at) {
        Some(file) if spot.scope == Scope::Private => Ok((spot.scope, file)),
        Some(_) => Err(ToolError::Team(path.to_owned()).into()),
        None => Err(ToolError::NotAFile(path.to_owned()).into()),
    }
}

fn file_of(at: &At) -> Option<File> {
    match at {
        At::Folder(_) => None,
        At::Index => Some(File::Index),
        At::Topic(name) => Some(File::Topic(name.clone())),
    }
}

fn missing(path: &str) -> Unmet {
    ToolError::Missing(path.to_owned()).into()
}

fn changed(path: &str) -> Unmet {
    Unmet::Told(format!("{path} was changed by somebody else meanwhile. View it again"))
}

fn with_warnings(told: String, warnings: &[String]) -> String {
    let mut told = told;
    for warning in warnings {
        told.push_str(&format!("\nNote: {warning}"));
    }
    told
}
