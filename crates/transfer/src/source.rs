//! Finds and opens agents' transcripts on disk.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use bethink_agent_transcript::{
    MAX_DOCUMENT_BYTES, StorageForm, TranscriptAgent, TranscriptContext, TranscriptReader,
};
use bethink_opencode_db::{OpencodeDb, OpencodeListing};
use bethink_service::{Result, ServiceError, blocking};
use bethink_transcript::UnixMicros;
use serde_json::Value;

use crate::reading::unreadable;

/// Maximum number of files of one agent, and maximum depth of their directories.
const FILES: usize = 200_000;
const DEPTH: usize = 8;
/// Number of bytes from which the agent that wrote a file is recognized.
const HEAD: u64 = 1 << 20;
/// Maximum size, in bytes, of the files that an agent stores next to a transcript.
const BESIDE: u64 = 16 << 20;
/// Margin in milliseconds. A session in a database is read again if its timestamp is later than the last read minus this
/// margin, because the timestamp is not updated with each part of an answer.
const DATABASE_MARGIN: i64 = 10 * 60 * 1_000;

/// One session of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TranscriptSource {
    pub(crate) agent: TranscriptAgent,
    /// The path of the file or the database.
    pub(crate) path: PathBuf,
    /// The session in the database.
    pub(crate) session: Option<String>,
}

/// The bytes of a transcript, and their number.
pub(crate) struct TranscriptBytes {
    pub(crate) read: Box<dyn Read + Send>,
    pub(crate) total: u64,
}

impl TranscriptSource {
    pub(crate) fn file(agent: TranscriptAgent, path: PathBuf) -> Self {
        Self { agent, path, session: None }
    }

    /// The source's name in reports.
    pub(crate) fn name(&self) -> String {
        match &self.session {
            Some(session) => format!("{} {session}", self.path.display()),
            None => self.path.display().to_string(),
        }
    }

    /// Returns all sessions at a path, which is a file, a directory or a database. Parents come before their children.
    pub(crate) async fn all(agent: TranscriptAgent, path: PathBuf) -> Result<Vec<Self>> {
        if agent.storage() == StorageForm::Database {
            return Self::changed_in(agent, path, UnixMicros(0)).await;
        }
        blocking(move || {
            let cannot = |error: io::Error| unreadable(&path, &error);
            if std::fs::metadata(&path).map_err(cannot)?.is_file() {
                return Ok(vec![Self::file(agent, path)]);
            }
            let mut found = Vec::new();
            walk(agent, &path, 0, &mut found).map_err(cannot)?;
            // Subagents are in deeper directories, or were started later than their parents.
            found.sort_by_key(|path| (path.components().count(), path.clone()));
            Ok(found.into_iter().map(|path| Self::file(agent, path)).collect())
        })
        .await
    }

    /// Returns the sessions of a database that have changed since the given time.
    pub(crate) async fn changed_in(
        agent: TranscriptAgent,
        path: PathBuf,
        since: UnixMicros,
    ) -> Result<Vec<Self>> {
        let mut db = OpencodeDb::open(&path).await.map_err(of_database)?;
        let sessions = db.sessions().await.map_err(of_database);
        db.close().await;
        let is_new = |session: &OpencodeListing| {
            session.messages > 0 && session.updated_at >= since.0 / 1_000 - DATABASE_MARGIN
        };
        let source = |session| Self { agent, path: path.clone(), session: Some(session) };
        Ok(sessions?.into_iter().filter(is_new).map(|session| source(session.id)).collect())
    }

    /// Opens the transcript. A file may have at most `most` bytes; the sessions of a database have their own limit.
    pub(crate) async fn open(&self, most: u64) -> Result<TranscriptBytes> {
        if let Some(session) = &self.session {
            let mut db = OpencodeDb::open(&self.path).await.map_err(of_database)?;
            let lines = db.session(session).await.map_err(of_database);
            db.close().await;
            let lines = lines?;
            let total = lines.len() as u64;
            return Ok(TranscriptBytes { read: Box::new(Cursor::new(lines)), total });
        }
        let most = match self.agent.storage() {
            StorageForm::Document => most.min(MAX_DOCUMENT_BYTES as u64),
            _ => most,
        };
        let path = self.path.clone();
        blocking(move || {
            let (file, total) = open_file(&path)?;
            if total > most {
                let detail = format!(
                    "could not read {}: it has {total} bytes, and at most {most} can be imported",
                    path.display()
                );
                return Err(ServiceError::invalid("path", detail));
            }
            Ok(TranscriptBytes { read: Box::new(file), total })
        })
        .await
    }

    /// Returns a reader for the transcript; `None` if it already has the format of Claude Code's session files.
    pub(crate) fn reader(&self) -> Option<TranscriptReader> {
        TranscriptReader::new(self.agent, self.context())
    }

    /// Reads what the agent stores elsewhere about the session.
    fn context(&self) -> TranscriptContext {
        let path = self.path.clone();
        let mut context = TranscriptContext { path, ..TranscriptContext::default() };
        let beside = |name: &str| self.path.with_file_name(name);
        match self.agent {
            TranscriptAgent::Cline => {
                let name = self.path.file_name().unwrap_or_default().to_string_lossy();
                let id = name.trim_end_matches(".messages.json");
                context.compaction = json_file(&beside(&format!("{id}.compaction.json")));
                context.facts = json_file(&beside(&format!("{id}.json")));
                if context.facts.is_null() {
                    // A subagent has its parent's directory, whose name is the parent's id.
                    let parent = self.path.parent().and_then(Path::file_name).unwrap_or_default();
                    context.facts = json_file(&beside(&format!("{}.json", parent.display())));
                }
            }
            TranscriptAgent::Continue => {
                let id = self.path.file_stem().unwrap_or_default().to_string_lossy();
                let list = json_file(&beside("sessions.json"));
                let mut listed = list.as_array().into_iter().flatten();
                let found =
                    listed.find(|one| one.get("sessionId").and_then(Value::as_str) == Some(&*id));
                context.facts = found.cloned().unwrap_or_default();
            }
            TranscriptAgent::Gemini => context.cwd = gemini_project(&self.path),
            _ => {}
        }
        context
    }
}

/// Returns the agent that wrote a file; `None` for Claude Code, whose files have no mark of their own.
pub(crate) fn agent_of(path: &Path) -> Option<TranscriptAgent> {
    if TranscriptAgent::Opencode.is_session(path) {
        return Some(TranscriptAgent::Opencode);
    }
    let (file, _) = open_file(path).ok()?;
    let mut head = Vec::new();
    file.take(HEAD).read_to_end(&mut head).ok()?;
    let first = head.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty())?;
    let object = serde_json::from_slice(first).or_else(|_| serde_json::from_slice(&head));
    match object {
        Ok(first) => TranscriptAgent::of(path, &first),
        // A large document.
        Err(_) => TranscriptAgent::Cline.is_session(path).then_some(TranscriptAgent::Cline),
    }
}

/// Opens a regular file without waiting for the writer of a FIFO.
pub(crate) fn open_file(path: &Path) -> Result<(File, u64)> {
    let cannot = |error: io::Error| unreadable(path, &error);
    if !std::fs::metadata(path).map_err(cannot)?.is_file() {
        let detail = format!("could not read {}: it is not a regular file", path.display());
        return Err(ServiceError::invalid("path", detail));
    }
    let file = File::open(path).map_err(cannot)?;
    let total = file.metadata().map_err(cannot)?.len();
    Ok((file, total))
}

/// Adds the transcripts below a directory. Links are not followed.
fn walk(
    agent: TranscriptAgent,
    dir: &Path,
    depth: usize,
    found: &mut Vec<PathBuf>,
) -> io::Result<()> {
    for entry in dir.read_dir()? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if found.len() >= FILES {
            return Ok(());
        }
        if kind.is_dir() && depth < DEPTH {
            // A directory that cannot be listed has no transcripts for us.
            drop(walk(agent, &path, depth + 1, found));
        } else if kind.is_file() && agent.is_session(&path) {
            found.push(path);
        }
    }
    Ok(())
}

/// Returns the value in a small JSON file; `null` if it is missing or cannot be read.
fn json_file(path: &Path) -> Value {
    let read = || {
        let (file, length) = open_file(path).ok()?;
        (length <= BESIDE).then(|| serde_json::from_reader(io::BufReader::new(file)).ok())?
    };
    read().unwrap_or_default()
}

/// Returns the directory of the Gemini CLI project that a transcript belongs to. A file in `tmp/NAME` contains the
/// directory; if it is missing, `projects.json` lists the directory of each name.
fn gemini_project(path: &Path) -> Option<String> {
    let mut project = path.parent()?;
    while project.file_name()? != "chats" {
        project = project.parent()?;
    }
    let project = project.parent()?;
    if let Ok(root) = std::fs::read_to_string(project.join(".project_root")) {
        return Some(root.trim().to_owned()).filter(|root| root.starts_with('/'));
    }
    let projects = json_file(&project.parent()?.parent()?.join("projects.json"));
    let name = project.file_name()?.to_str()?;
    let named = projects.get("projects")?.as_object()?;
    named.iter().find(|(_, value)| value.as_str() == Some(name)).map(|(dir, _)| dir.clone())
}

#[allow(clippy::needless_pass_by_value, reason = "it is used as a function of errors")]
fn of_database(error: bethink_opencode_db::OpencodeError) -> ServiceError {
    ServiceError::invalid("path", error.to_string())
}
