//! Imports session files, in a job that reads on one thread while the store writes on another.
//!
//! A file becomes one session, and its sidechains become child sessions. A job that was interrupted starts again with
//! an empty session, so that nothing is imported twice. If a job's watermark says that the session was complete, the
//! job only reports the session.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bethink_agent_transcript::TranscriptAgent;
use bethink_api as api;
use bethink_service::{
    ErrorKind, JobHandler, JobOutput, JobRunner, Result, ServiceError, blocking, if_found,
    job_payload, new_job_id, next_batch,
};
use bethink_sessions::CarriedView;
use bethink_store::{
    ImportBatch, JobRecord, NewSession, PageRequest, Progress, SessionChange, SessionFilter,
};
use bethink_transcript::{Seq, SessionId};
use bytes::Bytes;
use futures_util::future::{FutureExt, OptionFuture, try_join, try_join_all, try_join3};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::TransferService;
use crate::reading::{ImportChunk, ReadFile, read_file, unreadable};
use crate::source::agent_of;

const IMPORT: &str = "import";

/// Maximum number of chunks that are waiting to be written. All waiting chunks are written in one transaction, so that
/// a slow disk gets few commits of some megabytes each.
pub(crate) const AHEAD: usize = 8;

/// Watermark of a job whose session is complete, as JSON.
const SETTLED: &str = "\"settled\"";

#[derive(Serialize, Deserialize)]
struct ImportPayload {
    path: PathBuf,
    /// The file's name in the report.
    file: String,
    project_dir: Option<String>,
    /// Whether `path` is the name of a file in the spool: a copy of a request's body, removed after the import.
    #[serde(default)]
    spooled: bool,
    /// The agent that wrote the file, if not Claude Code.
    agent: Option<String>,
    /// Whether to import all sessions of the agent, or only count them with `dry_run`.
    #[serde(default)]
    all: bool,
    #[serde(default)]
    dry_run: bool,
    /// Chosen in advance, so that a retry finds what the first attempt has written.
    session: SessionId,
}

impl TransferService {
    /// Imports a file that the daemon's user can read.
    pub async fn import_path(&self, request: api::ImportRequest) -> Result<api::Job> {
        let path = PathBuf::from(&request.path);
        if !path.is_absolute() {
            return Err(ServiceError::invalid("path", "must be an absolute path"));
        }
        if request.agent.is_none() && request.dry_run {
            return Err(ServiceError::invalid("dry_run", "needs `agent`"));
        }
        let agent = request.agent.as_deref().map(agent_named).transpose()?;
        let meta = tokio::fs::metadata(&path).await.map_err(|e| {
            ServiceError::invalid("path", format!("could not open {}: {e}", request.path))
        })?;
        let all = agent.is_some();
        if !(meta.is_file() || all && meta.is_dir()) {
            return Err(ServiceError::invalid(
                "path",
                "must be a file; if `agent` is set, it may also be a directory",
            ));
        }
        let found = blocking({
            let path = path.clone();
            move || Ok(agent.or_else(|| agent_of(&path)))
        });
        let agent = found.await?;
        if !all && agent != Some(TranscriptAgent::Opencode) {
            self.check_size(meta.len(), "path")?;
        }
        let payload = ImportPayload {
            path,
            file: request.path,
            project_dir: request.project_dir,
            spooled: false,
            agent: agent.map(|agent| agent.as_str().to_owned()),
            all,
            dry_run: request.dry_run,
            session: SessionId(Uuid::now_v7()),
        };
        self.cx.jobs().enqueue(new_job_id(), IMPORT, None, &json!(payload)).await
    }

    /// Imports the body of a request. The body is on disk before the request is answered.
    pub async fn import_body(&self, body: Bytes) -> Result<api::Job> {
        self.check_size(body.len() as u64, "body")?;
        if body.is_empty() {
            let detail = "must not be empty; send the lines of a session file, or {\"path\": …}";
            return Err(ServiceError::invalid("body", detail));
        }
        let id = new_job_id();
        let name = PathBuf::from(format!("{id}.jsonl"));
        let kept = write_durably(self.spool().join(&name), body).await;
        kept.inspect_err(|error| self.cx.storage().suspect(error))?;
        let payload = ImportPayload {
            path: name,
            file: "request body".to_owned(),
            project_dir: None,
            spooled: true,
            agent: None,
            all: false,
            dry_run: false,
            session: SessionId(Uuid::now_v7()),
        };
        self.cx.jobs().enqueue(id, IMPORT, None, &json!(payload)).await
    }

    fn check_size(&self, bytes: u64, field: &str) -> Result<()> {
        let most = self.cx.settings().daemon.max_import_bytes;
        if bytes <= most {
            return Ok(());
        }
        let refusal = ServiceError::new(
            ErrorKind::TooLarge,
            format!("the file is too large: at most {most} bytes can be imported"),
        );
        Err(ServiceError { field: Some(field.to_owned()), ..refusal }.bounded(most, bytes))
    }

    pub(crate) async fn run_import(&self, job: &JobRecord, runner: &JobRunner) -> Result<Value> {
        let mut payload: ImportPayload = job_payload(job)?;
        if let Some(agent) = &payload.agent {
            let agent = agent_named(agent)?;
            return self.run_agent_import(job, runner, agent, payload).await;
        }
        let (session, spooled) = (payload.session, payload.spooled);
        if spooled {
            // Jobs of older versions have the whole path, and the home may have been moved since.
            payload.path = self.spool().join(payload.path.file_name().unwrap_or_default());
        }
        let path = payload.path.clone();
        if !spooled && job.progress.watermark.is_none() && self.is_known(&path).await? {
            let agent = TranscriptAgent::ClaudeCode;
            return self.run_agent_import(job, runner, agent, payload).await;
        }
        let result = if job.progress.watermark.as_deref() == Some(SETTLED) {
            self.imported_before(payload.file, session, false).await
        } else {
            let result = self.import_file(job, runner, payload).await;
            if result.as_ref().is_err_and(|error| !error.kind.is_of_the_disk()) {
                // If this fails too, the file stays for the next attempt.
                self.remove_leftovers(session).await?;
            }
            result
        };
        // After a fault of the disk the job runs again.
        if spooled && !result.as_ref().is_err_and(|error| error.kind.is_of_the_disk()) {
            drop(tokio::fs::remove_file(&path).await);
        }
        serde_json::to_value([result?]).map_err(ServiceError::internal)
    }

    /// Returns whether hooks recorded the session of Claude Code's file at this path, so that it can be read on. A session that
    /// another source recorded may lack a part of the file, and one that was damaged lacks messages: then the file becomes a
    /// session of its own.
    async fn is_known(&self, path: &Path) -> Result<bool> {
        let id = path.file_stem().unwrap_or_default().to_string_lossy();
        let known = self.session_of_agent(TranscriptAgent::ClaudeCode, &id).await?;
        let Some(session) = known else { return Ok(false) };
        let file = path.to_string_lossy().into_owned();
        let position = self.cx.store().transcript_position(session, file).await?;
        Ok(position.is_some_and(|position| !position.elsewhere) && self.is_whole(session).await?)
    }

    /// Returns whether no message of a session was lost with a damaged database.
    async fn is_whole(&self, session: SessionId) -> Result<bool> {
        let last = self.cx.store().session(session).await?.last_seq;
        let mut seq = Seq::ZERO;
        while seq < last {
            for message in self.cx.store().messages(session, next_batch(seq)).await? {
                if message.seq != seq.next() {
                    return Ok(false);
                }
                seq = message.seq;
            }
        }
        Ok(true)
    }

    async fn run_agent_import(
        &self,
        job: &JobRecord,
        runner: &JobRunner,
        agent: TranscriptAgent,
        payload: ImportPayload,
    ) -> Result<Value> {
        let ImportPayload { path, project_dir, all, dry_run, .. } = payload;
        let place = path.clone();
        let report = self.import_agent(job, runner, agent, path, project_dir, dry_run).await?;
        if all && !dry_run {
            self.add_place(agent, &place).await?;
        }
        if all {
            return serde_json::to_value(report).map_err(ServiceError::internal);
        }
        match report.unread.into_iter().next() {
            Some(unread) if report.files.is_empty() => {
                Err(ServiceError::invalid("path", unread.reason))
            }
            None if report.files.is_empty() && report.messages == 0 => {
                Err(without_messages(&ReadFile::default()))
            }
            _ => serde_json::to_value(report.files).map_err(ServiceError::internal),
        }
    }

    /// Returns the directory of request bodies that are waiting to be imported.
    fn spool(&self) -> PathBuf {
        self.cx.settings().home.join("spool")
    }

    /// Returns the report about a file whose session is complete.
    pub(crate) async fn imported_before(
        &self,
        file: String,
        session: SessionId,
        already_imported: bool,
    ) -> Result<api::ImportFile> {
        let row = self.cx.store().session(session).await?;
        Ok(api::ImportFile {
            file,
            session_id: session.0,
            messages: row.last_seq.0,
            children: self.children(session).await?,
            skipped: Vec::new(),
            already_imported,
        })
    }

    async fn import_file(
        &self,
        job: &JobRecord,
        runner: &JobRunner,
        payload: ImportPayload,
    ) -> Result<api::ImportFile> {
        let ImportPayload { path, file, project_dir, session, spooled, .. } = payload;
        if spooled && !path.exists() {
            let detail = "the copy of the file is missing from the spool directory; send the file again \
                          (a file that is already imported is not imported twice)";
            return Err(ServiceError::invalid("body", detail));
        }
        if job.attempts > 1 {
            self.remove_leftovers(session).await?;
        }
        // Reading starts before it is known whether the file is new, because nearly every file is.
        let (send, receive) = mpsc::channel(AHEAD);
        let reading = tokio::task::spawn_blocking({
            let path = path.to_owned();
            move || read_file(&path, session, &send)
        });
        let hash = hash_of(path.to_owned()).await?;
        if let Some(known) = self.cx.store().imported(&hash).await? {
            return self.imported_before(file, known, true).await;
        }
        let written = self.write_chunks(job, session, None, project_dir, hash, receive).await;
        let read = reading.await.map_err(ServiceError::internal)?;
        written?;
        let read = read?;
        if !read.has_messages() {
            return Err(without_messages(&read));
        }
        self.settle(session, &read).await?;
        let settled = Progress {
            done: read.bytes,
            total: read.bytes,
            unit: "bytes".to_owned(),
            watermark: Some(SETTLED.to_owned()),
        };
        runner.heartbeat(job.id, settled).await?;
        metrics::counter!("bethink_sessions_imported_total").increment(1);
        Ok(api::ImportFile {
            file,
            session_id: session.0,
            messages: read.messages,
            children: read.children.iter().map(|c| c.0).collect(),
            skipped: read.skipped,
            already_imported: false,
        })
    }

    pub(crate) async fn write_chunks(
        &self,
        job: &JobRecord,
        session: SessionId,
        parent: Option<SessionId>,
        mut project_dir: Option<String>,
        hash: String,
        mut receive: mpsc::Receiver<ImportChunk>,
    ) -> Result<()> {
        let mut hash = Some(hash);
        let mut here = Vec::new();
        while let Some(chunk) = receive.recv().await {
            let chunk = with_waiting(chunk, &mut receive);
            // A session is as old as its first message.
            let begun = |session| {
                let messages = chunk.records.iter().filter_map(|record| record.message.as_ref());
                let own = messages.filter(|(of, _)| *of == session);
                own.map(|(_, message)| message.created_at).filter(|at| at.0 > 0).min()
            };
            let mut new = Vec::new();
            if hash.is_some() {
                let dir = project_dir.take().or(chunk.cwd).filter(|dir| dir.starts_with('/'));
                let dir = project_dir.insert(dir.unwrap_or_else(|| "/".to_owned())).clone();
                if let Some(why) = self.cx.recording().excluded(&dir) {
                    return Err(why.into());
                }
                let own = self.sessions.new_session(session, dir).await?;
                let created_at = begun(session).unwrap_or(own.created_at);
                new.push(NewSession { content_hash: hash.take(), created_at, parent, ..own });
            }
            for child in chunk.new_children {
                let dir = project_dir.clone().unwrap_or_else(|| "/".to_owned());
                let made = self.sessions.new_session(child, dir).await?;
                let created_at = begun(child).unwrap_or(made.created_at);
                new.push(NewSession { parent: Some(session), created_at, ..made });
            }
            let (done, total) = (chunk.read, chunk.total);
            let progress = Progress { done, total, unit: "bytes".to_owned(), watermark: None };
            let batch =
                ImportBatch { session, records: chunk.records, progress: Some((job.id, progress)) };
            // Concurrent writes share a commit, and are made in the order in which they were requested.
            let store = self.cx.store();
            if store.is_shared() {
                for new in new {
                    let created = store.create_session(new, None).await?.session.id;
                    here.push(self.sessions.hold_session(created).await?);
                }
                let write = || store.import(batch.clone());
                self.sessions.retry_after_take(session, write).await?;
                continue;
            }
            let last = new.pop().map(|last| store.create_session(last, None));
            try_join_all(new.into_iter().map(|new| store.create_session(new, None))).await?;
            try_join(OptionFuture::from(last).map(Option::transpose), store.import(batch)).await?;
        }
        Ok(())
    }

    /// Stores what is known only after the whole file has been read: title, tags, model and recorded compactions. Also
    /// enqueues the indexing; only then is the import complete.
    pub(crate) async fn settle(&self, session: SessionId, read: &ReadFile) -> Result<()> {
        let facts = &read.facts;
        let mut view =
            facts.view.as_deref().and_then(|view| CarriedView::read(view, read.messages));
        let carried = view.as_mut().and_then(|view| view.model.take());
        let carried = carried.and_then(|model| self.sessions.model_or_default(Some(model)).ok());
        let model = match carried {
            Some(model) => model,
            None => {
                let default = self.sessions.model_or_default(None)?;
                let name = facts.model.clone().unwrap_or_else(|| default.name.clone());
                api::ModelSpec { name, ..default }
            }
        };
        let change = SessionChange {
            title: facts.title.clone(),
            titled: None,
            tags: Some(facts.tags.clone()),
            model: Some(serde_json::to_string(&model).map_err(ServiceError::internal)?),
            state: view.as_mut().and_then(CarriedView::take_state),
            updated_at: facts.last_at.unwrap_or_default(),
        };
        let is_carried = view.is_some();
        let recorded = facts.compactions.iter().filter(|c| !c.is_apart || !is_carried);
        let recorded = recorded.filter_map(|compaction| {
            let (kept_from, made_after) = match compaction.is_apart {
                true => {
                    let made_after = Seq(compaction.messages);
                    let kept = read.kept.get(&compaction.boundary_line).copied();
                    (kept.unwrap_or(made_after.next()), made_after)
                }
                false => {
                    let summary = *read.summaries.get(&compaction.summary_id)?;
                    (summary.next(), summary)
                }
            };
            let add =
                self.sessions.add_recorded_compaction(session, compaction, kept_from, made_after);
            Some(add)
        });
        let sessions: Vec<_> =
            std::iter::once(session).chain(read.children.iter().copied()).collect();
        let settled = async { Ok(self.cx.store().update_session(session, change).await?) };
        let compacted = async {
            try_join_all(recorded).await?;
            match view {
                Some(view) => self.sessions.add_carried_view(session, view).await,
                None => Ok(()),
            }
        };
        try_join3(settled, compacted, self.search.index_later(&sessions)).await?;
        self.sessions.announce_import(session);
        Ok(())
    }

    pub(crate) async fn remove_leftovers(&self, session: SessionId) -> Result<()> {
        for child in self.children(session).await? {
            self.cx.store().delete_session(SessionId(child)).await?;
        }
        if_found(self.cx.store().delete_session(session).await).map(drop)
    }

    async fn children(&self, session: SessionId) -> Result<Vec<Uuid>> {
        let filter = SessionFilter { parent: Some(session), ..Default::default() };
        let page = PageRequest { limit: 1_000, cursor: None };
        let (children, _) = self.cx.store().sessions(filter, page).await?;
        Ok(children.into_iter().map(|c| c.id.0).collect())
    }
}

/// Imports files.
impl JobHandler for TransferService {
    fn kind(&self) -> &'static str {
        IMPORT
    }

    fn run<'a>(&'a self, job: &'a JobRecord, runner: &'a JobRunner) -> JobOutput<'a> {
        Box::pin(self.run_import(job, runner))
    }
}

/// Adds the chunks that arrived while the previous one was being written.
fn with_waiting(mut chunk: ImportChunk, receive: &mut mpsc::Receiver<ImportChunk>) -> ImportChunk {
    while let Ok(next) = receive.try_recv() {
        chunk.records.extend(next.records);
        chunk.new_children.extend(next.new_children);
        chunk.cwd = chunk.cwd.or(next.cwd);
        chunk.read = next.read;
    }
    chunk
}

pub(crate) async fn hash_of(path: PathBuf) -> Result<String> {
    blocking(move || {
        let cannot = |error| unreadable(&path, &error);
        let mut file = File::open(&path).map_err(cannot)?;
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(&mut file).map_err(cannot)?;
        Ok(hasher.finalize().to_hex().to_string())
    })
    .await
}

/// Returns the error for a file that makes no session. The first line that could not be read says what the file is instead.
fn without_messages(read: &ReadFile) -> ServiceError {
    let skipped = read.skipped.first();
    let why = skipped.map(|skipped| format!("; line {}: {}", skipped.line, skipped.reason));
    let detail = format!("the file contains no messages{}", why.unwrap_or_default());
    ServiceError::invalid("path", detail)
}

fn agent_named(name: &str) -> Result<TranscriptAgent> {
    TranscriptAgent::named(name).ok_or_else(|| {
        let known = TranscriptAgent::ALL.map(TranscriptAgent::as_str).join(", ");
        ServiceError::invalid("agent", format!("{name:?} is not an agent: use one of {known}"))
    })
}

async fn write_durably(path: PathBuf, body: Bytes) -> Result<()> {
    let write = move || {
        let dir = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(dir)?;
        let mut file = File::create_new(&path)?;
        file.write_all(&body)?;
        file.sync_all()?;
        File::open(dir)?.sync_all()
    };
    let unwritten =
        |error: io::Error| ServiceError::of_file("could not store the file to import", &error);
    blocking(move || write().map_err(unwritten)).await
}
