//! Every write to a memory file goes through here: compared with what was read, its versions kept.
//!
//! What stood there is in the store before the file changes, and what was written is in the store before the
//! write is answered, so that nothing that was ever acknowledged is lost, whoever saves over it.

use bethink_api as api;
use bethink_memdir::index::{self, Warning};
use bethink_memdir::{Hash, Scope, header};
use bethink_memdir_fs::File;
use bethink_transcript::{Seq, SessionId};
use serde_json::json;

use super::Project;
use super::change::{Tried, lost};
use super::read::{file_of, name_of, no_file, scope_of};
use crate::{Daemon, Kind, Refusal, Result};

/// Longest topic; what a model gets of one is 4 KiB. Other agents' limit for one file is a tenth of it.
pub const MAX_MEMORY_BYTES: u64 = 1 << 20;
/// What has to stand there for a write to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryWish {
    /// Whatever it is; it is kept as a version.
    Anything,
    /// Nothing.
    Absent,
    /// What was read.
    Hash(Hash),
}

/// Who writes, and why.
#[derive(Clone, Debug)]
pub(crate) struct Author {
    /// `person`, `agent`, `extraction`, `dream`, `sync` or `restore`.
    pub(crate) by: &'static str,
    pub(crate) session: Option<SessionId>,
    pub(crate) note: String,
}

impl Author {
    pub(crate) fn person() -> Self {
        Self { by: "person", session: None, note: String::new() }
    }

    /// A client's model, of its own accord.
    pub(crate) fn agent(session: Option<SessionId>) -> Self {
        Self { by: "agent", session, note: String::new() }
    }
}

/// A change to one file.
#[derive(Clone, Debug)]
pub(crate) struct MemoryWrite {
    pub(crate) scope: Scope,
    pub(crate) file: File,
    /// `None` removes it.
    pub(crate) text: Option<String>,
    pub(crate) wish: MemoryWish,
    pub(crate) author: Author,
}

impl MemoryWrite {
    /// As its front matter says, where a topic is written.
    fn kind(&self) -> Option<header::Kind> {
        let text = self.text.as_ref().filter(|_| matches!(self.file, File::Topic(_)))?;
        header::read(text).header.kind
    }
}

impl Daemon {
    pub async fn put_memory(
        &self,
        project_dir: &str,
        scope: &str,
        name: &str,
        text: String,
        wish: MemoryWish,
    ) -> Result<api::MemoryWritten> {
        let project = self.project(project_dir).await?;
        let write = MemoryWrite {
            scope: scope_of(scope)?,
            file: file_of(name)?,
            text: Some(text),
            wish,
            author: Author::person(),
        };
        self.write_memory(&project, write).await
    }

    pub async fn delete_memory(
        &self,
        project_dir: &str,
        scope: &str,
        name: &str,
        wish: MemoryWish,
    ) -> Result<api::MemoryWritten> {
        let project = self.project(project_dir).await?;
        let (scope, name) = (scope_of(scope)?, name_of(name)?);
        let write = MemoryWrite {
            scope,
            file: File::Topic(name.clone()),
            text: None,
            wish,
            author: Author::person(),
        };
        let done = self.write_memory(&project, write).await?;
        match done.outcome.as_str() {
            "same" => Err(no_file(project.shelf(scope), &File::Topic(name))),
            _ => Ok(done),
        }
    }

    /// Makes a change, keeps its versions, brings the index up to date and tells of it.
    pub(crate) async fn write_memory(
        &self,
        project: &Project,
        write: MemoryWrite,
    ) -> Result<api::MemoryWritten> {
        let size = write.text.as_ref().map_or(0, String::len) as u64;
        if size > MAX_MEMORY_BYTES {
            let detail = format!("{} would have {size} bytes", write.file);
            return Err(Refusal::new(Kind::TooLarge, detail).bounded(MAX_MEMORY_BYTES, size));
        }
        if write.scope == Scope::Team {
            team_gate(&write)?;
        }
        let shelf = project.shelf(write.scope);
        let turn = shelf.turn(&write.file).await;
        let tried = self.change(shelf, &write).await?;
        drop(turn);
        let mut warnings = Vec::new();
        let (outcome, hash) = match tried {
            Tried::Same(hash) => ("same", Some(hash)),
            Tried::Absent => ("same", None),
            Tried::Removed => ("removed", None),
            Tried::Written { hash, new } => (if new { "created" } else { "changed" }, Some(hash)),
            Tried::Lost(conflict) => return Err(lost(&write, conflict)),
        };
        if let (File::Topic(name), "created" | "removed") = (&write.file, outcome)
            // An index is synced as a file of its own: whoever wrote the topic decided on its line.
            && write.author.by != "sync"
        {
            warnings.extend(self.index_line(shelf, name, &write).await);
        }
        let shown = shelf.snapshot(self).await?;
        if let Some(index) = &shown.index {
            // A long line is no news to who wrote another.
            let caps = index::warnings(&index.text);
            let caps = caps.iter().filter(|warning| !matches!(warning, Warning::LongLine { .. }));
            warnings.extend(caps.map(ToString::to_string));
        }
        if outcome != "same" {
            self.tell_memory(project, &write, outcome);
        }
        let name = match &write.file {
            File::Index => "MEMORY".to_owned(),
            File::Topic(name) => name.to_string(),
        };
        Ok(api::MemoryWritten {
            scope: write.scope.to_string(),
            name,
            kind: write.kind().map(|kind| kind.to_string()),
            path: shelf.dir.join(write.file.path()).display().to_string(),
            etag: hash.map_or_else(String::new, |hash| hash.to_string()),
            outcome: outcome.to_owned(),
            warnings,
        })
    }

    fn tell_memory(&self, project: &Project, write: &MemoryWrite, outcome: &str) {
        let data = json!({
            "project": project.key,
            "scope": write.scope.as_str(),
            "file": write.file.path(),
            "outcome": outcome,
            "by": write.author.by,
        });
        for session in project.followers().into_iter().chain(write.author.session) {
            self.hub().publish_in(session, "memory", Seq::ZERO, &data);
        }
        self.hub().announce(write.author.session, "memory", &data);
    }
}

/// What a team shares holds no secrets and nothing that a reader does not see.
fn team_gate(write: &MemoryWrite) -> Result<()> {
    let Some(text) = &write.text else { return Ok(()) };
    bethink_secrets::gate(&write.file.path(), text).map_err(|refusal| {
        Refusal::invalid("text", format!("{} may not be shared: {refusal}", write.file))
            .hint("take it out, or keep the memory private; nothing was written")
    })
}
