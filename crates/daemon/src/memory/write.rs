//! Every write to a memory file goes through here: compared with what was read, its versions kept.
//!
//! What stood there is in the store before the file changes, and what was written is in the store before the
//! write is answered, so that nothing that was ever acknowledged is lost, whoever saves over it.

use std::sync::Arc;

use bethink_api as api;
use bethink_memdir::index::{self, Warning};
use bethink_memdir::{Hash, Name, Scope, header};
use bethink_memdir_fs::{
    Conflict, Content, Expected, File, MemoryRoot, Removed, Replaced, Settled,
};
use bethink_store::{MemoryVersionFilter, NewMemoryVersion};
use bethink_transcript::{Seq, SessionId};
use bytes::Bytes;
use serde_json::json;

use super::read::{file_of, name_of, no_file, scope_of};
use super::shelf::{blocking, refused};
use super::{Project, Shelf};
use crate::{Daemon, Kind, Refusal, Result};

/// Longest topic; what a model gets of one is 4 KiB. Other agents' limit for one file is a tenth of it.
pub const MAX_MEMORY_BYTES: u64 = 1 << 20;
/// Tries of a write that wants the last word over a file that others change at the same time.
const TRIES: usize = 8;
/// How long a displaced file is watched for what an editor still writes into it.
const SETTLES_AFTER: std::time::Duration = std::time::Duration::from_secs(2);

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

/// What came of one try.
enum Tried {
    Same(Hash),
    Written { hash: Hash, new: bool },
    Removed,
    Absent,
    Lost(Conflict),
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

    /// Tries until the wish is met or broken.
    async fn change(&self, shelf: &Arc<Shelf>, write: &MemoryWrite) -> Result<Tried> {
        for _ in 1..TRIES {
            match self.try_change(shelf, write).await? {
                Tried::Lost(_) if write.wish == MemoryWish::Anything => {}
                tried => return Ok(tried),
            }
        }
        self.try_change(shelf, write).await
    }

    async fn try_change(&self, shelf: &Arc<Shelf>, write: &MemoryWrite) -> Result<Tried> {
        let current = shelf.read_file(&write.file).await?;
        let expected = match (write.wish, &current) {
            (MemoryWish::Absent, _) | (MemoryWish::Anything, None) => None,
            (MemoryWish::Hash(hash), _) => Some(hash),
            (MemoryWish::Anything, Some(current)) => Some(current.hash),
        };
        let before = current.as_ref().filter(|current| Some(current.hash) == expected);
        if let Some(before) = before {
            self.keep_found(shelf, &write.file, before, "stood there before").await?;
        }
        let (held, file, text) = (Arc::clone(shelf), write.file.clone(), write.text.clone());
        let (tried, unsettled) = blocking(move || {
            let Some(root) = held.root(text.is_some())? else { return Ok((Ok(Tried::Absent), 0)) };
            let tried = act(&root, &file, text.as_deref(), expected);
            Ok((tried, root.unsettled()))
        })
        .await?;
        if unsettled > 0 {
            self.settle_later(shelf);
        }
        let tried = tried?;
        if let Tried::Lost(conflict) = &tried {
            for content in &conflict.displaced {
                self.keep_found(shelf, &write.file, content, "was overwritten by somebody else")
                    .await?;
            }
        }
        if matches!(tried, Tried::Written { .. } | Tried::Removed) {
            self.keep_written(shelf, write, &tried).await?;
            shelf.touched(&write.file);
        }
        Ok(tried)
    }

    /// A content that no version holds yet.
    async fn keep_found(
        &self,
        shelf: &Shelf,
        file: &File,
        content: &Content,
        note: &str,
    ) -> Result<()> {
        let hash = content.hash.to_string();
        let newest = MemoryVersionFilter {
            directory: shelf.key.clone(),
            file: Some(file.path()),
            limit: 1,
            ..MemoryVersionFilter::default()
        };
        if self.store().memory_versions(newest).await?.first().is_some_and(|v| v.hash == hash) {
            return Ok(());
        }
        let version = NewMemoryVersion {
            directory: shelf.key.clone(),
            file: file.path(),
            hash,
            content: Some(Bytes::copy_from_slice(&content.bytes)),
            author: "found".to_owned(),
            session: None,
            note: note.to_owned(),
            at: self.now(),
        };
        Ok(self.store().add_memory_versions(vec![version]).await?)
    }

    async fn keep_written(&self, shelf: &Shelf, write: &MemoryWrite, tried: &Tried) -> Result<()> {
        let hash = match tried {
            Tried::Written { hash, .. } => hash.to_string(),
            _ => String::new(),
        };
        let version = NewMemoryVersion {
            directory: shelf.key.clone(),
            file: write.file.path(),
            hash,
            content: write.text.as_ref().map(|text| Bytes::copy_from_slice(text.as_bytes())),
            author: write.author.by.to_owned(),
            session: write.author.session,
            note: write.author.note.clone(),
            at: self.now(),
        };
        Ok(self.store().add_memory_versions(vec![version]).await?)
    }

    /// Adds the line of a new topic, or takes that of a removed one away. That the topic is written is not
    /// undone by an index that can't be.
    async fn index_line(
        &self,
        shelf: &Arc<Shelf>,
        name: &Name,
        write: &MemoryWrite,
    ) -> Option<String> {
        match self.try_index_line(shelf, name, write).await {
            Ok(()) => None,
            Err(refusal) => Some(format!("MEMORY.md was not changed: {}", refusal.detail)),
        }
    }

    async fn try_index_line(
        &self,
        shelf: &Arc<Shelf>,
        name: &Name,
        write: &MemoryWrite,
    ) -> Result<()> {
        for _ in 0..TRIES {
            let current = shelf.read_file(&File::Index).await?;
            let text = match &current {
                None => String::new(),
                Some(content) => String::from_utf8(content.bytes.clone())
                    .map_err(|_| Refusal::new(Kind::Conflict, "it is not UTF-8"))?,
            };
            let changed = match &write.text {
                Some(topic) => with_line(&text, name, topic),
                None => index::remove(&text, name),
            };
            if changed == text {
                return Ok(());
            }
            let line = MemoryWrite {
                scope: write.scope,
                file: File::Index,
                text: Some(changed),
                wish: current.map_or(MemoryWish::Absent, |content| MemoryWish::Hash(content.hash)),
                author: write.author.clone(),
            };
            if !matches!(self.try_change(shelf, &line).await?, Tried::Lost(_)) {
                return Ok(());
            }
        }
        Err(Refusal::new(Kind::Conflict, "others keep changing it"))
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
            self.hub().publish(session, "memory", Seq::ZERO, &data);
        }
    }

    /// Looks once more at what was displaced, when no editor writes into it any more.
    fn settle_later(&self, shelf: &Arc<Shelf>) {
        let (daemon, shelf, stop) = (self.clone(), Arc::clone(shelf), self.stopping());
        self.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(SETTLES_AFTER) => {}
                () = stop.cancelled() => {}
            }
            if let Err(refusal) = daemon.settle_shelf(&shelf).await {
                tracing::warn!(dir = %shelf.dir.display(), reason = %refusal.detail, "displaced files stay");
            }
        });
    }

    /// Takes in what writes left that were broken off.
    pub(super) async fn sweep(&self, shelf: &Arc<Shelf>) -> Result<()> {
        let (held, now) = (Arc::clone(shelf), self.now());
        let left = blocking(move || {
            let Some(root) = held.root(false)? else { return Ok(Vec::new()) };
            let listing = root.list().map_err(|error| refused(&error))?;
            Ok(root.sweep(&listing, now))
        })
        .await?;
        if self.keep_settled(shelf, left, "was left by a broken-off write").await? {
            self.settle_shelf(shelf).await?;
        }
        Ok(())
    }

    async fn settle_shelf(&self, shelf: &Arc<Shelf>) -> Result<()> {
        let held = Arc::clone(shelf);
        let look = || {
            let held = Arc::clone(&held);
            blocking(move || {
                Ok(held.root(false)?.map(|root| root.settle(SETTLES_AFTER)).unwrap_or_default())
            })
        };
        let late = look().await?;
        if self.keep_settled(shelf, late, "was saved over a newer one").await? {
            self.keep_settled(shelf, look().await?, "was saved over a newer one").await?;
        }
        Ok(())
    }

    /// Once in the store they may go. True when there were any.
    async fn keep_settled(
        &self,
        shelf: &Arc<Shelf>,
        settled: Vec<Settled>,
        note: &str,
    ) -> Result<bool> {
        for settled in &settled {
            self.keep_found(shelf, &settled.file, &settled.content, note).await?;
        }
        if settled.is_empty() {
            return Ok(false);
        }
        let held = Arc::clone(shelf);
        blocking(move || {
            if let Some(root) = held.root(false)? {
                root.release(&settled);
            }
            Ok(true)
        })
        .await
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

/// The index with a line of the topic, unless it has one.
fn with_line(index: &str, name: &Name, text: &str) -> String {
    let topic = header::read(text);
    index::add(index, name, &name.titled(&topic.header), &topic.header.described(topic.body))
}

fn act(
    root: &MemoryRoot,
    file: &File,
    text: Option<&str>,
    expected: Option<Hash>,
) -> Result<Tried> {
    let Some(text) = text else {
        let Some(expected) = expected else { return Ok(Tried::Absent) };
        return Ok(match root.remove(file, expected).map_err(|error| refused(&error))? {
            Removed::Absent => Tried::Absent,
            Removed::Done { .. } => Tried::Removed,
            Removed::Conflict(conflict) => Tried::Lost(conflict),
        });
    };
    let expected = expected.map_or(Expected::Absent, Expected::Hash);
    Ok(match root.replace(file, expected, text.as_bytes()).map_err(|error| refused(&error))? {
        Replaced::Same { hash, .. } => Tried::Same(hash),
        Replaced::Done { hash, before, .. } => Tried::Written { hash, new: before.is_none() },
        Replaced::Conflict(conflict) => Tried::Lost(conflict),
    })
}

/// A lost race, with both versions.
fn lost(write: &MemoryWrite, conflict: Conflict) -> Refusal {
    let detail = match &conflict.current {
        None => format!("{} is gone since it was read; nothing was changed", write.file),
        Some(_) => {
            format!("{} holds something else than was read; nothing was changed", write.file)
        }
    };
    let both = api::BothVersions {
        etag: conflict.current.as_ref().map(|content| content.hash.to_string()),
        current: conflict
            .current
            .map(|content| String::from_utf8_lossy(&content.bytes).into_owned()),
        yours: write.text.clone(),
    };
    Refusal {
        versions: Some(Box::new(both)),
        ..Refusal::new(Kind::Conflict, detail)
            .hint("bring both versions together, and write with the new tag")
    }
}
