//! Import of session files: a job that reads on one thread while the store writes on another.
//!
//! A file becomes one session, its sidechains child sessions. A job that was killed half-way starts
//! its session anew, so that nothing is there twice.

mod reading;

use std::path::{Path, PathBuf};

use bethink_api as api;
use bethink_session_file::RecordedCompaction;
use bethink_store::{
    Compaction, ImportBatch, Job, NewSession, Progress, SessionChange, StoreError,
};
use bethink_transcript::{CompactionId, Seq, SessionId};
use bytes::Bytes;
use futures_util::future::{try_join, try_join_all, try_join3};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::jobs;
use crate::{Daemon, Kind, Refusal, Result};
pub(crate) use reading::child_of;
use reading::{Chunk, ReadFile, read_file};

/// Chunks that may wait between reader and writer. All that wait are written in one transaction: on a
/// slow disk, few commits of some megabytes.
const AHEAD: usize = 8;

/// Owner of the paths below the home that imports use.
fn spool(home: &Path, job: Uuid) -> PathBuf {
    home.join("spool").join(format!("{job}.jsonl"))
}

impl Daemon {
    /// Imports a file that the daemon's user can read.
    pub async fn import_path(&self, request: api::ImportRequest) -> Result<api::Job> {
        let path = PathBuf::from(&request.path);
        if !path.is_absolute() {
            return Err(Refusal::invalid("path", "an absolute path of a .jsonl file"));
        }
        let meta = tokio::fs::metadata(&path).await.map_err(|e| {
            Refusal::invalid("path", format!("we could not open {}: {e}", request.path))
        })?;
        if !meta.is_file() {
            return Err(Refusal::invalid("path", "must be a regular file"));
        }
        self.check_size(meta.len(), "path")?;
        let payload = json!({ "path": request.path, "file": request.path, "project_dir": request.project_dir });
        self.enqueue_import(payload).await
    }

    /// Imports what the request carries; durable before it is answered.
    pub async fn import_body(&self, body: Bytes) -> Result<api::Job> {
        self.check_size(body.len() as u64, "body")?;
        if body.is_empty() {
            return Err(Refusal::invalid(
                "body",
                "empty: the lines of a session file, or {\"path\": …}",
            ));
        }
        let id = jobs::new_id();
        let path = spool(&self.settings().home, id.0);
        write_durably(path.clone(), body).await?;
        let payload = json!({ "path": path, "file": "request body", "spooled": true, "session": Uuid::now_v7() });
        self.enqueue(id, "import", None, &payload).await
    }

    async fn enqueue_import(&self, mut payload: Value) -> Result<api::Job> {
        // The session's id is chosen before the work, so that a second try finds what the first left.
        payload["session"] = json!(Uuid::now_v7());
        self.enqueue(jobs::new_id(), "import", None, &payload).await
    }

    fn check_size(&self, bytes: u64, field: &str) -> Result<()> {
        let most = self.settings().daemon.max_import_bytes;
        if bytes <= most {
            return Ok(());
        }
        let refusal = Refusal::new(Kind::TooLarge, format!("an import has at most {most} bytes"));
        Err(Refusal { field: Some(field.to_owned()), ..refusal }.bounded(most, bytes))
    }

    pub(crate) async fn run_import(&self, job: &Job) -> Result<Value> {
        let payload = jobs::payload(job)?;
        let path = PathBuf::from(payload["path"].as_str().unwrap_or_default());
        let session = payload["session"].as_str().and_then(|s| s.parse().ok()).map(SessionId);
        let session = session.ok_or_else(|| Refusal::internal("an import without a session id"))?;
        let result = self.import_file(job, &path, session, &payload).await;
        if payload["spooled"].as_bool() == Some(true)
            && !matches!(&result, Err(r) if r.kind == Kind::StorageFull)
        {
            // Already gone after a crash between here and the job's end.
            drop(tokio::fs::remove_file(&path).await);
        }
        result
    }

    async fn import_file(
        &self,
        job: &Job,
        path: &Path,
        session: SessionId,
        payload: &Value,
    ) -> Result<Value> {
        let file = payload["file"].as_str().unwrap_or_default().to_owned();
        if job.attempts > 1 {
            self.remove_leftovers(session).await?;
        }
        // Begun before it is known whether the file is new: it nearly always is.
        let (send, receive) = mpsc::channel(AHEAD);
        let reading = tokio::task::spawn_blocking({
            let path = path.to_owned();
            move || read_file(&path, session, &send)
        });
        let hash = hash_of(path.to_owned()).await?;
        if let Some(known) = self.store().imported(&hash).await? {
            let row = self.store().session(known).await?;
            let known = api::ImportFile {
                file,
                session_id: known.0,
                messages: row.last_seq.0,
                children: self.children(known).await?,
                skipped: Vec::new(),
                already_imported: true,
            };
            return serde_json::to_value([known]).map_err(Refusal::internal);
        }
        let written = self.write_chunks(job, session, payload, hash, receive).await;
        let read = reading.await.map_err(Refusal::internal)?;
        written?;
        let read = read?;
        self.settle(session, &read).await?;
        let done = api::ImportFile {
            file,
            session_id: session.0,
            messages: read.messages,
            children: read.children.iter().map(|c| c.0).collect(),
            skipped: read.skipped,
            already_imported: false,
        };
        metrics::counter!("bethink_sessions_imported_total").increment(1);
        serde_json::to_value([done]).map_err(Refusal::internal)
    }

    async fn write_chunks(
        &self,
        job: &Job,
        session: SessionId,
        payload: &Value,
        hash: String,
        mut receive: mpsc::Receiver<Chunk>,
    ) -> Result<()> {
        let mut project_dir = payload["project_dir"].as_str().map(str::to_owned);
        let mut hash = Some(hash);
        while let Some(chunk) = receive.recv().await {
            let chunk = with_what_waits(chunk, &mut receive);
            let mut new = Vec::new();
            if hash.is_some() {
                let dir = project_dir.take().or(chunk.cwd).filter(|dir| dir.starts_with('/'));
                let dir = project_dir.insert(dir.unwrap_or_else(|| "/".to_owned())).clone();
                new.push(self.new_session(session, None, dir, hash.take())?);
            }
            for child in chunk.new_children {
                let dir = project_dir.clone().unwrap_or_else(|| "/".to_owned());
                new.push(self.new_session(child, Some(session), dir, None)?);
            }
            let progress = Progress {
                done: chunk.read,
                total: chunk.total,
                unit: "bytes".to_owned(),
                watermark: None,
            };
            let batch =
                ImportBatch { session, records: chunk.records, progress: Some((job.id, progress)) };
            self.create_and_import(new, batch).await?;
        }
        if hash.is_some() {
            let dir = project_dir.unwrap_or_else(|| "/".to_owned());
            self.store().create_session(self.new_session(session, None, dir, hash)?, None).await?;
        }
        Ok(())
    }

    /// Writes that are asked for together share a commit; they are done in the order of asking.
    async fn create_and_import(&self, mut new: Vec<NewSession>, batch: ImportBatch) -> Result<()> {
        let last = new.pop();
        try_join_all(new.into_iter().map(|new| self.store().create_session(new, None))).await?;
        match last {
            None => self.store().import(batch).await?,
            Some(last) => {
                let created = self.store().create_session(last, None);
                try_join(created, self.store().import(batch)).await.map(drop)?;
            }
        }
        Ok(())
    }

    fn new_session(
        &self,
        id: SessionId,
        parent: Option<SessionId>,
        project_dir: String,
        content_hash: Option<String>,
    ) -> Result<NewSession> {
        let model = self.model_or_default(None)?;
        Ok(NewSession {
            id,
            project_dir,
            title: None,
            tags: Vec::new(),
            parent,
            forked_at: None,
            model: serde_json::to_string(&model).map_err(Refusal::internal)?,
            created_at: self.now(),
            content_hash,
        })
    }

    /// What only the whole file tells: title, tags, model, recorded compactions. What is left to do is
    /// written down with it: only then the import is done.
    async fn settle(&self, session: SessionId, read: &ReadFile) -> Result<()> {
        let facts = &read.facts;
        let mut model = self.model_or_default(None)?;
        if let Some(name) = &facts.model {
            model.name.clone_from(name);
        }
        let change = SessionChange {
            title: facts.title.clone(),
            titled: None,
            tags: Some(facts.tags.clone()),
            model: Some(serde_json::to_string(&model).map_err(Refusal::internal)?),
            state: None,
            updated_at: facts.last_at.unwrap_or_else(|| self.now()),
        };
        let boundaries = recorded_compactions(session, read)
            .into_iter()
            .map(|boundary| self.store().add_compaction(boundary, Vec::new()));
        let sessions: Vec<_> =
            std::iter::once(session).chain(read.children.iter().copied()).collect();
        let settled = async { Ok(self.store().update_session(session, change).await?) };
        let bounded = async { Ok(try_join_all(boundaries).await?) };
        try_join3(settled, bounded, self.index_later(&sessions)).await.map(drop)
    }

    async fn remove_leftovers(&self, session: SessionId) -> Result<()> {
        for child in self.children(session).await? {
            self.store().delete_session(SessionId(child)).await?;
        }
        match self.store().delete_session(session).await {
            Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn children(&self, session: SessionId) -> Result<Vec<Uuid>> {
        let filter = bethink_store::SessionFilter { parent: Some(session), ..Default::default() };
        let page = bethink_store::Page { limit: 1_000, cursor: None };
        let (children, _) = self.store().sessions(filter, page).await?;
        Ok(children.into_iter().map(|c| c.id.0).collect())
    }
}

fn recorded_compactions(session: SessionId, read: &ReadFile) -> Vec<Compaction> {
    let all = read.facts.compactions.iter().filter_map(|compaction| {
        let summary_seq = *read.summaries.get(&compaction.summary_id)?;
        Some(recorded(session, compaction, summary_seq))
    });
    all.collect()
}

/// A compaction as its recorder made it; its summary is the message at `summary_seq`.
pub(crate) fn recorded(
    session: SessionId,
    compaction: &RecordedCompaction,
    summary_seq: Seq,
) -> Compaction {
    let summary_tokens = u64::from(crate::hot::tokens(&compaction.summary));
    Compaction {
        id: CompactionId(Uuid::now_v7()),
        session,
        trigger: compaction.trigger.clone(),
        level: "recorded".to_owned(),
        first_seq: Seq(1),
        last_seq: Seq(summary_seq.0.saturating_sub(1)),
        kept_from: summary_seq.next(),
        made_after: summary_seq,
        tokens_before: compaction.pre_tokens,
        tokens_after: summary_tokens,
        summary_tokens,
        summary: compaction.summary.clone(),
        fidelity: 0.0,
        detail: "{}".to_owned(),
        created_at: compaction.created_at,
        undone_at: None,
    }
}

/// The chunk with those that came while the last one was written.
fn with_what_waits(mut chunk: Chunk, receive: &mut mpsc::Receiver<Chunk>) -> Chunk {
    while let Ok(next) = receive.try_recv() {
        chunk.records.extend(next.records);
        chunk.new_children.extend(next.new_children);
        chunk.cwd = chunk.cwd.or(next.cwd);
        chunk.read = next.read;
    }
    chunk
}

async fn hash_of(path: PathBuf) -> Result<String> {
    tokio::task::spawn_blocking(move || {
        let cannot = |e: std::io::Error| {
            Refusal::invalid("path", format!("we could not read {}: {e}", path.display()))
        };
        let mut file = std::fs::File::open(&path).map_err(cannot)?;
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(&mut file).map_err(cannot)?;
        Ok(hasher.finalize().to_hex().to_string())
    })
    .await
    .map_err(Refusal::internal)?
}

async fn write_durably(path: PathBuf, body: Bytes) -> Result<()> {
    let written = tokio::task::spawn_blocking(move || {
        use std::io::Write;
        let dir = path.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(dir)?;
        let mut file = std::fs::File::create_new(&path)?;
        file.write_all(&body)?;
        file.sync_all()?;
        std::fs::File::open(dir)?.sync_all()
    })
    .await
    .map_err(Refusal::internal)?;
    written.map_err(|e| match e.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            StoreError::Full.into()
        }
        _ => Refusal::internal(e),
    })
}
