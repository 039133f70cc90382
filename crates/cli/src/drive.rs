//! Plays a recording through the daemon as its agent would have: every message is appended, and
//! before every turn of the assistant the prompt is asked for and checked.

use std::time::{Duration, Instant};

use bethink_api::{
    AppendRequest, Compaction, ContextReport, ContextRequest, CreateSession, ModelSpec, Session,
};
use bethink_client::{Client, ClientError};
use serde::Serialize;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::failure::Failure;
use crate::recording::Recording;
use crate::structure::faults;

/// Who is taken to speak where the recording names no model.
const SOME_MODEL: &str = "claude-sonnet-4-5";
/// Bytes that count as a token when a prompt is held against its window from outside: fewer tokens
/// than any tokenizer makes of them, so that what is over by this measure is over by every one.
const BYTES_PER_TOKEN: u64 = 4;

/// How long the event of a finished update is waited for; it is on its way already.
const EVENT_PATIENCE: Duration = Duration::from_secs(2);

/// What to make of the recording.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) project_dir: String,
    pub(crate) title: String,
    pub(crate) window: u64,
    pub(crate) max_output: u64,
    /// Ask at every Nth turn alone.
    pub(crate) every: u64,
}

/// A recording being played.
#[derive(Debug)]
pub(crate) struct Drive<'a> {
    client: &'a Client,
    recording: &'a Recording,
    pub(crate) session: Session,
    plan: Plan,
    next: usize,
    asked: u64,
    tally: Tally,
    notes: Notes,
    began: Instant,
}

#[derive(Debug, Default)]
struct Tally {
    turns: u64,
    invalid: u64,
    max_prompt_tokens: u64,
    overruns: u64,
    first_faults: Vec<String>,
}

/// What one message led to.
#[derive(Debug)]
pub(crate) struct Step {
    /// Messages played, this one included.
    pub(crate) done: usize,
    /// The prompt's report, where the assistant's turn came.
    pub(crate) report: Option<ContextReport>,
}

/// The figures of a whole replay.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    pub(crate) session_id: Uuid,
    pub(crate) messages: u64,
    pub(crate) turns: u64,
    pub(crate) compactions: Vec<Compacted>,
    pub(crate) invalid_prompts: u64,
    pub(crate) max_prompt_tokens: u64,
    pub(crate) overruns: u64,
    pub(crate) notes_updates: u64,
    pub(crate) wall_ms: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) first_faults: Vec<String>,
    /// Lines of the file that could not be read.
    pub(crate) damaged_lines: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Compacted {
    pub(crate) level: String,
    pub(crate) tokens_before: u64,
    pub(crate) tokens_after: u64,
    pub(crate) fidelity: f64,
}

impl<'a> Drive<'a> {
    /// Begins a session to play into.
    pub(crate) async fn begin(
        client: &'a Client,
        recording: &'a Recording,
        plan: Plan,
    ) -> Result<Self, ClientError> {
        let began = Instant::now();
        let model = ModelSpec {
            name: recording.model.clone().unwrap_or_else(|| SOME_MODEL.to_owned()),
            context_window: plan.window,
            max_output_tokens: Some(plan.max_output),
            preserved_thinking: None,
        };
        let session = client
            .create_session(&CreateSession {
                project_dir: plan.project_dir.clone(),
                title: Some(plan.title.clone()),
                tags: Vec::new(),
                parent: None,
                model: Some(model),
            })
            .await?;
        let notes = Notes::watch(client.clone(), session.id);
        let tally = Tally::default();
        Ok(Self { client, recording, session, plan, next: 0, asked: 0, tally, notes, began })
    }

    /// Plays the next message; `None` after the last.
    pub(crate) async fn step(&mut self) -> Result<Option<Step>, Failure> {
        let i = self.next;
        let Some(recorded) = self.recording.messages.get(i) else { return Ok(None) };
        let message = recorded
            .message()
            .map_err(|error| Failure::new(format!("message {i} cannot be sent: {error}")))?;
        self.client.append(self.session.id, &AppendRequest { messages: vec![message] }).await?;
        self.next += 1;
        let report = self.turn(i).await?;
        Ok(Some(Step { done: self.next, report }))
    }

    async fn turn(&mut self, i: usize) -> Result<Option<ContextReport>, ClientError> {
        if !self.recording.is_turn(i) {
            return Ok(None);
        }
        self.asked += 1;
        if !self.asked.is_multiple_of(self.plan.every) {
            return Ok(None);
        }
        let prompt = self.client.context(self.session.id, &ContextRequest::default()).await?;
        let system = prompt.system.as_ref().map_or(0, |system| system.get().len());
        let size = (system + prompt.messages.get().len()) as u64 / BYTES_PER_TOKEN;
        self.tally.take(&prompt.report, size, faults(prompt.messages.get()));
        Ok(Some(prompt.report))
    }

    /// Brings the notes up to date with all that was played, and answers them.
    pub(crate) async fn note(&mut self) -> Result<String, ClientError> {
        let update = self.client.update_notes(self.session.id).await?;
        self.notes.reach(update.through_seq).await;
        Ok(self.client.notes(self.session.id).await?.text)
    }

    pub(crate) async fn end(self) -> Result<(Outcome, Vec<Compaction>), ClientError> {
        let wall_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let compactions = self.client.compactions(self.session.id).await?.compactions;
        let outcome = Outcome {
            session_id: self.session.id,
            messages: self.recording.messages.len() as u64,
            turns: self.tally.turns,
            compactions: compactions.iter().map(Compacted::of).collect(),
            invalid_prompts: self.tally.invalid,
            max_prompt_tokens: self.tally.max_prompt_tokens,
            overruns: self.tally.overruns,
            notes_updates: self.notes.count(),
            wall_ms,
            first_faults: self.tally.first_faults,
            damaged_lines: self.recording.damaged,
        };
        Ok((outcome, compactions))
    }
}

impl Tally {
    /// `size` is the prompt's size as measured from outside, in tokens.
    fn take(&mut self, report: &ContextReport, size: u64, faults: Vec<String>) {
        const SHOWN: usize = 3;
        let window = report.thresholds.window;
        self.turns += 1;
        self.max_prompt_tokens = self.max_prompt_tokens.max(report.tokens);
        self.overruns += u64::from(report.tokens > window || size > window);
        self.invalid += u64::from(!faults.is_empty());
        let room = SHOWN.saturating_sub(self.first_faults.len());
        self.first_faults.extend(faults.into_iter().take(room));
    }
}

impl Compacted {
    fn of(compaction: &Compaction) -> Self {
        Self {
            level: compaction.level.clone(),
            tokens_before: compaction.tokens_before,
            tokens_after: compaction.tokens_after,
            fidelity: compaction.fidelity,
        }
    }
}

/// Counts the session's `notes` events while it is played.
#[derive(Debug)]
struct Notes {
    seen: watch::Receiver<Seen>,
    task: JoinHandle<()>,
}

/// Updates so far, and the newest message that one covered.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    updates: u64,
    through_seq: u64,
}

impl Notes {
    fn watch(client: Client, session: Uuid) -> Self {
        let (tell, seen) = watch::channel(Seen::default());
        let task = tokio::spawn(async move {
            let Ok(mut events) = client.events(session, None).await else { return };
            while let Ok(Some(event)) = events.next().await {
                if event.kind == "notes" {
                    let through_seq = through(&event.data);
                    tell.send_modify(|seen| {
                        seen.updates += 1;
                        seen.through_seq = seen.through_seq.max(through_seq);
                    });
                }
            }
        });
        Self { seen, task }
    }

    fn count(&self) -> u64 {
        self.seen.borrow().updates
    }

    /// Until the event of an update that covers message `seq` has come; not for ever, since a stream
    /// may break off.
    async fn reach(&mut self, seq: u64) {
        let reached = self.seen.wait_for(|seen| seen.through_seq >= seq);
        let _late = tokio::time::timeout(EVENT_PATIENCE, reached).await;
    }
}

fn through(data: &str) -> u64 {
    #[derive(serde::Deserialize)]
    struct Data {
        through_seq: u64,
    }
    serde_json::from_str::<Data>(data).map_or(0, |data| data.through_seq)
}

impl Drop for Notes {
    fn drop(&mut self) {
        self.task.abort();
    }
}
