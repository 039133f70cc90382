//! Copies the messages of shared sessions to the team's tables, in the background.
//!
//! The database knows how far each session is copied, so an interrupted copy goes on where it ended, on any machine.

use std::collections::HashSet;

use bethink_service::{
    ErrorKind, JobHandler, JobOutput, JobRunner, JobStart, Result, ServiceError, blocking,
    job_payload, locked, parse_stored,
};
use bethink_store::{
    CopiedBatch, CopiedExtent, CopiedMessage, IndexBatch, JobRecord, Progress, SeqRange,
    SharedProject, StoredMessage, TeamTables,
};
use bethink_transcript::{Message, SessionId, ToolUseId};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::TeamHistoryService;
use crate::form::{SecretHandling, add_hidden_calls, redacted_title, shared_form};

const COPY: &str = "share_history";

/// Number of messages that are copied in one transaction.
const BATCH: usize = 128;
/// Maximum total size, in bytes, of the messages that are copied in one transaction. A single message may be larger.
const BATCH_BYTES: usize = 8 << 20;
/// Maximum number of sessions that are enqueued at once. The job enqueues the others when it is done.
const MOST_SESSIONS: usize = 1_000;
/// Number of messages before a batch that are searched for calls whose results must not be copied. Results of calls that were made
/// together may come in several messages.
const RECENT: usize = 16;
/// How often a batch is tried again because another daemon has copied messages of the same session.
const TRIES: usize = 3;

#[derive(Deserialize)]
struct CopyPayload {
    sessions: Vec<SessionId>,
    /// There may be more.
    #[serde(default)]
    is_full: bool,
}

enum CopyOutcome {
    Messages(u64),
    Nothing,
    /// Another daemon has copied messages of the session, or the person has stopped sharing it.
    Changed,
}

impl TeamHistoryService {
    /// Enqueues a session, unless it is enqueued already or nothing is shared. The caller does not wait.
    pub(crate) fn copy_soon(&self, session: SessionId) {
        if !self.is_sharing() || !locked(&self.state.queue).insert(session) {
            return;
        }
        let service = self.clone();
        self.cx.spawn(async move {
            if let Err(refusal) = service.enqueue_if_shared(session).await {
                tracing::debug!(%session, reason = %refusal.detail, "could not share new messages yet");
                locked(&service.state.queue).remove(&session);
            }
        });
    }

    async fn enqueue_if_shared(&self, session: SessionId) -> Result<()> {
        if self.cx.store().shared_sessions(vec![session]).await?.is_empty() {
            locked(&self.state.queue).remove(&session);
            return Ok(());
        }
        self.enqueue(&[session], false).await
    }

    /// Enqueues the sessions of these directories that are not copied yet.
    pub(crate) async fn copy_later(&self, shared: Vec<SharedProject>) -> Result<()> {
        let store = self.cx.store();
        if shared.is_empty() || !matches!(store.team_tables().await?, TeamTables::Usable { .. }) {
            return Ok(());
        }
        let recorded =
            |shared: &SharedProject| self.cx.recording().excluded(&shared.project_dir).is_none();
        for SharedProject { project_dir, .. } in shared.into_iter().filter(recorded) {
            let mut sessions = store.uncopied(Some(project_dir), MOST_SESSIONS).await?;
            let is_full = sessions.len() == MOST_SESSIONS;
            sessions.retain(|session| locked(&self.state.queue).insert(*session));
            if !sessions.is_empty()
                && let Err(refusal) = self.enqueue(&sessions, is_full).await
            {
                locked(&self.state.queue).retain(|session| !sessions.contains(session));
                return Err(refusal);
            }
        }
        Ok(())
    }

    async fn enqueue(&self, sessions: &[SessionId], is_full: bool) -> Result<()> {
        let payload = json!({ "sessions": sessions, "is_full": is_full });
        // If a session moves to another daemon, its job does.
        let session = Some(sessions).filter(|sessions| sessions.len() == 1).map(|one| one[0]);
        self.cx.jobs().enqueue_background(COPY, session, &payload).await?;
        self.cx.jobs().wake();
        Ok(())
    }

    async fn run_copy(&self, job: &JobRecord, runner: &JobRunner) -> Result<Value> {
        let CopyPayload { sessions, is_full } = job_payload(job)?;
        let mut progress = Progress { unit: "messages".to_owned(), ..Progress::default() };
        let mut failed = Ok(());
        for session in sessions {
            // Messages that come from now on enqueue it again.
            locked(&self.state.queue).remove(&session);
            let mut tries = TRIES;
            while tries > 0 {
                runner.run_foreground_jobs().await;
                match self.copy_batch(session).await {
                    Ok(CopyOutcome::Messages(count)) => progress.done += count,
                    Ok(CopyOutcome::Nothing) => break,
                    Ok(CopyOutcome::Changed) => tries -= 1,
                    // A fault of one session does not keep others from being copied. The job is tried again.
                    Err(refusal) => {
                        failed = Err(refusal);
                        break;
                    }
                }
                progress.total = progress.done;
                runner.heartbeat(job.id, progress.clone()).await?;
            }
        }
        failed?;
        if is_full && progress.done > 0 {
            self.copy_later(self.cx.store().shared_projects().await?).await?;
        }
        Ok(json!({ "messages": progress.done }))
    }

    /// Copies the next messages of a session.
    async fn copy_batch(&self, session: SessionId) -> Result<CopyOutcome> {
        let store = self.cx.store();
        let extent = match store.copied(session).await {
            Ok(Some(extent)) if extent.copied < extent.last => extent,
            Ok(_) => return Ok(CopyOutcome::Nothing),
            Err(error) => return ignore_deleted(error.into()),
        };
        let project = extent.project.clone();
        let copied = self.copy_after(session, extent).await;
        let mut problems = locked(&self.state.problems);
        match copied {
            Err(refusal) if refusal.kind == ErrorKind::Conflict => {
                tracing::warn!(project, reason = %refusal.detail, "could not share history with the team");
                problems.insert(session, refusal.detail);
                Ok(CopyOutcome::Nothing)
            }
            Err(refusal) => ignore_deleted(refusal),
            Ok(copied) => {
                problems.remove(&session);
                Ok(copied)
            }
        }
    }

    async fn copy_after(&self, session: SessionId, extent: CopiedExtent) -> Result<CopyOutcome> {
        let store = self.cx.store();
        let after = extent.copied;
        let record = store.session(session).await?;
        if self.cx.recording().excluded(&record.project_dir).is_some() {
            return Ok(CopyOutcome::Nothing);
        }
        let range =
            SeqRange { after: Some(after), limit: BATCH, bytes: BATCH_BYTES, ..SeqRange::all() };
        let stored = store.messages(session, range).await?;
        if stored.is_empty() {
            return Ok(CopyOutcome::Nothing);
        }
        let count = stored.len() as u64;
        let recent = SeqRange {
            before: Some(after.next()),
            limit: RECENT,
            bytes: BATCH_BYTES,
            newest: true,
            ..SeqRange::all()
        };
        let recent = store.messages(session, recent).await?;
        let secrets = SecretHandling::of(&self.cx.settings().team.history_secrets);
        let work = move || Ok(batch(session, extent, &recent, stored, secrets));
        match store.copy_to_team(blocking(work).await?).await? {
            true => Ok(CopyOutcome::Messages(count)),
            false => Ok(CopyOutcome::Changed),
        }
    }
}

/// A session that was deleted meanwhile needs no copy.
fn ignore_deleted(refusal: ServiceError) -> Result<CopyOutcome> {
    match refusal.kind {
        ErrorKind::NotFound => Ok(CopyOutcome::Nothing),
        _ => Err(refusal),
    }
}

/// Makes the copies of these messages, which follow the `recent` ones, and analyzes them: the index has no terms of what was removed.
fn batch(
    session: SessionId,
    extent: CopiedExtent,
    recent: &[StoredMessage],
    stored: Vec<StoredMessage>,
    secrets: SecretHandling,
) -> CopiedBatch {
    let CopiedExtent { project, title, created_at, copied, .. } = extent;
    let mut hidden = HashSet::new();
    for message in recent.iter().cloned().filter_map(|stored| parse_stored(stored).ok()) {
        add_hidden_calls(&message, &mut hidden);
    }
    let mut before = recent.last().and_then(|stored| copy_of(stored, secrets, &mut hidden).1);
    let (mut messages, mut entries) = (Vec::new(), Vec::new());
    for stored in stored {
        let (message, read) = copy_of(&stored, secrets, &mut hidden);
        let terms = read.as_ref().map(|read| bethink_search::terms_of(read, before.as_ref()));
        entries.push((stored.seq, terms.unwrap_or_default()));
        messages.push(message);
        before = read;
    }
    let through = messages.last().map_or(copied, |last| last.seq);
    let title = title.map(|title| redacted_title(title, secrets));
    let index = IndexBatch { session, entries, through };
    CopiedBatch { project, title, created_at, after: copied, messages, index }
}

/// Returns the copy of a message, and its content; an unreadable message has none.
/// `hidden` are the calls so far whose results are not copied.
fn copy_of(
    stored: &StoredMessage,
    secrets: SecretHandling,
    hidden: &mut HashSet<ToolUseId>,
) -> (CopiedMessage, Option<Message>) {
    let StoredMessage { seq, id, role, created_at, .. } = stored.clone();
    let (raw, is_redacted) = match parse_stored(stored.clone()) {
        Ok(message) => {
            add_hidden_calls(&message, hidden);
            shared_form(&message, secrets, hidden)
        }
        Err(_) => (json!({ "role": role, "content": "[unreadable]" }).to_string(), false),
    };
    let copy = CopiedMessage { seq, id, role, created_at, raw: raw.into(), is_redacted };
    let read = StoredMessage { raw: copy.raw.clone(), recorded: false, ..stored.clone() };
    (copy, parse_stored(read).ok())
}

/// Copies history in the background.
impl JobHandler for TeamHistoryService {
    fn kind(&self) -> &'static str {
        COPY
    }

    fn start(&self) -> JobStart {
        JobStart::WhenIdle
    }

    fn run<'a>(&'a self, job: &'a JobRecord, runner: &'a JobRunner) -> JobOutput<'a> {
        Box::pin(self.run_copy(job, runner))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

    use bethink_transcript::{MessageId, Role, Seq, UnixMicros};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn the_index_has_no_terms_of_what_was_removed() {
        let raw = json!({ "role": "user", "content": "deploy with ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8 please" });
        let stored = StoredMessage {
            seq: Seq(1),
            id: MessageId::new("one").unwrap(),
            role: Role::User,
            raw: raw.to_string().into(),
            recorded: false,
            created_at: UnixMicros(0),
        };
        let extent = CopiedExtent {
            project: "mill".into(),
            title: Some("token ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8".into()),
            created_at: UnixMicros(0),
            copied: Seq(0),
            last: Seq(1),
        };
        let session = SessionId(Uuid::nil());
        let batch = super::batch(session, extent, &[], vec![stored], SecretHandling::Redact);
        assert!(batch.messages[0].is_redacted);
        let told = format!("{batch:?}").to_lowercase();
        assert!(told.contains("deploy") && !told.contains("ghp_"), "{told}");
        assert_eq!((batch.after, batch.index.through), (Seq(0), Seq(1)));
    }

    #[test]
    fn results_of_a_search_are_left_out_however_late_they_come() {
        let stored = |seq: u64, role, content| StoredMessage {
            seq: Seq(seq),
            id: MessageId::new(&seq.to_string()).unwrap(),
            role,
            raw: json!({ "role": role, "content": [content] }).to_string().into(),
            recorded: false,
            created_at: UnixMicros(0),
        };
        let call = json!({ "type": "tool_use", "id": "a", "name": "mcp__bethink__search_team", "input": {} });
        let result =
            |id| json!({ "type": "tool_result", "tool_use_id": id, "content": "what ben shares" });
        let recent = vec![
            stored(1, Role::Assistant, call),
            stored(2, Role::User, json!({ "type": "text", "text": "and" })),
        ];
        let extent = CopiedExtent {
            project: "mill".into(),
            title: None,
            created_at: UnixMicros(0),
            copied: Seq(2),
            last: Seq(4),
        };
        let new = vec![stored(3, Role::User, result("a")), stored(4, Role::User, result("b"))];
        let session = SessionId(Uuid::nil());
        // Even if the call itself is not shared.
        let batch = batch(session, extent, &recent, new, SecretHandling::Hold);
        let told: Vec<_> =
            batch.messages.iter().map(|copy| String::from_utf8_lossy(&copy.raw)).collect();
        assert_eq!(
            [0, 1].map(|at| told[at].contains("what ben shares")),
            [false, true],
            "{told:?}"
        );
    }
}
