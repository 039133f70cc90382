//! Imports the transcripts of agents.
//!
//! An agent's session is imported once. Later imports add what is new, because messages have ids. A session that hooks
//! or the gateway record is skipped.

use std::path::PathBuf;

use bethink_agent_transcript::{ParentTranscript, TranscriptAgent, TranscriptHeader};
use bethink_api as api;
use bethink_service::{JobRunner, Result, ServiceError, blocking, next_batch};
use bethink_session_file::SessionFileReader;
use bethink_sessions::sidechain_session;
use bethink_store::{ClientSession, JobRecord, TranscriptPosition};
use bethink_transcript::{Seq, SessionId};
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::TransferService;
use crate::import::{AHEAD, hash_of};
use crate::reading::{ReadFile, read_bytes};
use crate::source::TranscriptSource;

/// Names under which the gateway records the sessions of clients, besides the agent's own name.
const ENTRANCES: [&str; 3] = ["openai", "anthropic", "gemini"];
/// Number of bytes from which a transcript's id and parent are read.
const HEAD: usize = 4 << 20;

/// The beginning of a transcript.
struct TranscriptHead {
    header: TranscriptHeader,
    /// Whether the whole transcript was read.
    is_whole: bool,
}

/// Where a new session belongs.
struct NewPlace {
    session: SessionId,
    parent: Option<SessionId>,
    project_dir: Option<String>,
    /// Identifies what was imported.
    hash: String,
}

impl TransferService {
    /// Imports all sessions at a path, or only counts them.
    pub(crate) async fn import_agent(
        &self,
        job: &JobRecord,
        runner: &JobRunner,
        agent: TranscriptAgent,
        path: PathBuf,
        project_dir: Option<String>,
        dry_run: bool,
    ) -> Result<api::AgentTranscripts> {
        let mut report = api::AgentTranscripts {
            agent: agent.as_str().to_owned(),
            path: path.display().to_string(),
            ..api::AgentTranscripts::default()
        };
        for source in TranscriptSource::all(agent, path).await? {
            let done = match dry_run {
                true => self.count(&source).await.map(|header| (header, None)),
                false => self.import_source(job, runner, &source, project_dir.clone()).await,
            };
            let (header, file) = match done {
                Ok(done) => done,
                Err(error) if error.kind.is_of_the_disk() => return Err(error),
                Err(error) => {
                    let (file, reason) = (source.name(), error.detail);
                    report.unread.push(api::UnreadTranscript { file, reason });
                    continue;
                }
            };
            report.files.extend(file);
            report.sessions += u64::from(header.messages > 0);
            report.messages += header.messages;
            report.newest = report.newest.max(header.newest);
        }
        Ok(report)
    }

    /// Imports one session, and returns what its transcript says about it. The report is `None` if the transcript has no
    /// messages.
    pub(crate) async fn import_source(
        &self,
        job: &JobRecord,
        runner: &JobRunner,
        source: &TranscriptSource,
        project_dir: Option<String>,
    ) -> Result<(TranscriptHeader, Option<api::ImportFile>)> {
        let TranscriptHead { header, is_whole } = self.head(source).await?;
        let Some(id) = header.id.clone() else {
            let detail = format!("could not read {}: it has no session id", source.name());
            return Err(ServiceError::invalid("path", detail));
        };
        if is_whole && header.messages == 0 {
            return Ok((header, None));
        }
        let _one = self.reading.lock().await;
        let is_known = self.session_of_agent(source.agent, &id).await?.is_some();
        if is_known || header.is_fork() {
            let Some((session, added)) = self.read_once(source).await? else {
                return Ok((header, None));
            };
            let known = self.imported_before(source.name(), session, added == 0).await?;
            return Ok((header, Some(known)));
        }
        let hash = match source.agent {
            TranscriptAgent::ClaudeCode => hash_of(source.path.clone()).await?,
            agent => format!("{agent} {id}"),
        };
        if let Some(same) = self.cx.store().imported(&hash).await? {
            self.know(source.agent, id, same).await?;
            let known = self.imported_before(source.name(), same, true).await?;
            return Ok((header, Some(known)));
        }
        let parent = self.parent_of(source.agent, &id, &header).await?;
        let session = session_id(source.agent, &id);
        let project_dir = project_dir.or(header.cwd);
        self.import_new(job, runner, source, NewPlace { session, parent, project_dir, hash }).await
    }

    /// Imports a session for the first time.
    async fn import_new(
        &self,
        job: &JobRecord,
        runner: &JobRunner,
        source: &TranscriptSource,
        place: NewPlace,
    ) -> Result<(TranscriptHeader, Option<api::ImportFile>)> {
        let NewPlace { session, parent, project_dir, hash } = place;
        // Left by an import that was interrupted.
        self.remove_leftovers(session).await?;
        let bytes = source.open(self.cx.settings().daemon.max_import_bytes).await?;
        let (send, receive) = mpsc::channel(AHEAD);
        let (of, reader) = (source.path.clone(), source.reader());
        let reading =
            tokio::task::spawn_blocking(move || read_bytes(&of, bytes, reader, session, &send));
        let written = self.write_chunks(job, session, parent, project_dir, hash, receive).await;
        let read = reading.await.map_err(ServiceError::internal)?;
        if let Err(error) = written.and(read.as_ref().map(drop).map_err(Clone::clone)) {
            if !error.kind.is_of_the_disk() {
                self.remove_leftovers(session).await?;
            }
            return Err(error);
        }
        let read = read?;
        let header = read.header_of(&source.path);
        if !read.has_messages() {
            self.remove_leftovers(session).await?;
            return Ok((header, None));
        }
        self.settle(session, &read).await?;
        let position = TranscriptPosition {
            bytes: read.settled,
            hash: read.hash.clone(),
            through: Seq(read.messages),
            elsewhere: false,
        };
        let path = source.path.to_string_lossy().into_owned();
        self.cx.store().put_transcript_position(session, path, position).await?;
        let key = header.id.clone().unwrap_or_default();
        self.know(source.agent, key, session).await?;
        runner.heartbeat(job.id, job.progress.clone()).await?;
        metrics::counter!("bethink_sessions_imported_total").increment(1);
        let report = api::ImportFile {
            file: source.name(),
            session_id: session.0,
            messages: read.messages,
            children: read.children.iter().map(|child| child.0).collect(),
            skipped: read.skipped,
            already_imported: false,
        };
        Ok((header, Some(report)))
    }

    /// Returns what a transcript says, without importing it.
    async fn count(&self, source: &TranscriptSource) -> Result<TranscriptHeader> {
        let bytes = source.open(self.cx.settings().daemon.max_import_bytes).await?;
        let (source, reader) = (source.clone(), source.reader());
        blocking(move || {
            let (mut reader, mut read, mut lines) =
                (reader, bytes.read, SessionFileReader::default());
            let mut chunk = vec![0; 1 << 20];
            loop {
                let length = read
                    .read(&mut chunk)
                    .map_err(|error| crate::reading::unreadable(&source.path, &error))?;
                if length == 0 {
                    break;
                }
                match &mut reader {
                    Some(reader) => reader.feed(&chunk[..length], |_, _| {}),
                    None => lines.feed(Bytes::copy_from_slice(&chunk[..length]), |_| {}),
                }
            }
            let facts = match reader {
                Some(mut reader) => {
                    drop(reader.finish());
                    return Ok(reader.header().clone());
                }
                None => lines.finish(|_| {}),
            };
            Ok(ReadFile { messages: facts.messages, facts, ..ReadFile::default() }
                .header_of(&source.path))
        })
        .await
    }

    async fn head(&self, source: &TranscriptSource) -> Result<TranscriptHead> {
        let Some(mut reader) = source.reader() else {
            let id = source.path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            let header = TranscriptHeader { id, ..TranscriptHeader::default() };
            return Ok(TranscriptHead { header, is_whole: false });
        };
        let bytes = source.open(self.cx.settings().daemon.max_import_bytes).await?;
        let path = source.path.clone();
        blocking(move || {
            let (mut read, total) = (bytes.read, bytes.total);
            let mut chunk = vec![0; HEAD];
            let mut at = 0;
            while at < total && (at < HEAD as u64 || reader.is_document()) {
                let length = read
                    .read(&mut chunk)
                    .map_err(|error| crate::reading::unreadable(&path, &error))?;
                if length == 0 {
                    break;
                }
                at += length as u64;
                reader.feed(&chunk[..length], |_, _| {});
            }
            let is_whole = at >= total;
            if is_whole {
                drop(reader.finish());
            }
            Ok(TranscriptHead { header: reader.header().clone(), is_whole })
        })
        .await
    }

    /// Returns the session that has this id at the agent, if hooks, the gateway or an import recorded it.
    pub(crate) async fn session_of_agent(
        &self,
        agent: TranscriptAgent,
        id: &str,
    ) -> Result<Option<SessionId>> {
        for client in std::iter::once(agent.as_str()).chain(ENTRANCES) {
            let known = self.cx.store().client_session(client.to_owned(), id.to_owned()).await?;
            if known.is_some() {
                return Ok(known);
            }
        }
        Ok(None)
    }

    pub(crate) async fn know(
        &self,
        agent: TranscriptAgent,
        key: String,
        session: SessionId,
    ) -> Result<()> {
        let known = ClientSession { client: agent.as_str().to_owned(), key, session };
        Ok(self.cx.store().put_client_session(known).await?)
    }

    /// Returns the parent of a subagent's session. A parent that has not been imported yet is created without
    /// messages.
    pub(crate) async fn parent_of(
        &self,
        agent: TranscriptAgent,
        id: &str,
        header: &TranscriptHeader,
    ) -> Result<Option<SessionId>> {
        let parent = header.parent.as_ref().filter(|parent| parent.id != id);
        let Some(ParentTranscript { id: parent, fork_before: None }) = parent else {
            return Ok(None);
        };
        if let Some(known) = self.session_of_agent(agent, parent).await? {
            return Ok(Some(known));
        }
        let made = session_id(agent, parent);
        self.remove_leftovers(made).await?;
        let dir = header.cwd.clone().unwrap_or_else(|| "/".to_owned());
        let new = self.sessions.new_session(made, dir).await?;
        self.cx.store().create_session(new, None).await?;
        self.know(agent, parent.clone(), made).await?;
        Ok(Some(made))
    }

    /// Creates the fork that a transcript continues; `None` if the transcript is not a fork, or if its parent is not
    /// known.
    pub(crate) async fn fork_of(
        &self,
        source: &TranscriptSource,
        id: &str,
        header: &TranscriptHeader,
    ) -> Result<Option<SessionId>> {
        let Some(ParentTranscript { id: parent, fork_before: Some(before) }) = &header.parent
        else {
            return Ok(None);
        };
        let Some(parent) = self.session_of_agent(source.agent, parent).await? else {
            return Ok(None);
        };
        let Some(at) = self.last_before(parent, *before).await? else { return Ok(None) };
        let request = api::ForkRequest { at_seq: Some(at.0), title: None };
        let fork = SessionId(self.sessions.fork(parent, request, None).await?.id);
        let position = TranscriptPosition { through: at, ..TranscriptPosition::default() };
        let path = source.path.to_string_lossy().into_owned();
        self.cx.store().put_transcript_position(fork, path, position).await?;
        self.know(source.agent, id.to_owned(), fork).await?;
        Ok(Some(fork))
    }

    /// Returns the last message whose record has a smaller number.
    async fn last_before(&self, session: SessionId, number: u64) -> Result<Option<Seq>> {
        let (mut after, mut last) = (Seq::ZERO, None);
        loop {
            let batch = self.cx.store().messages(session, next_batch(after)).await?;
            let Some(newest) = batch.last() else { return Ok(last) };
            after = newest.seq;
            for message in &batch {
                let digits = message.id.as_str().strip_prefix("ordinal-").unwrap_or_default();
                let digits = digits.split('-').next().unwrap_or_default();
                if digits.parse().is_ok_and(|own: u64| own < number) {
                    last = Some(message.seq);
                }
            }
        }
    }
}

/// Returns the id of an agent's session. Every attempt to import the session gives the same id.
pub(crate) fn session_id(agent: TranscriptAgent, id: &str) -> SessionId {
    sidechain_session(SessionId(uuid::Uuid::nil()), &format!("{agent} {id}"))
}
