//! Replays a recording through the daemon, as its agent did: appends every message, and requests and checks the prompt before
//! each of the assistant's turns.

use std::time::{Duration, Instant};

use bethink_api::{
    AppendRequest, Compaction, CompactionLevel, ContextReport, ContextRequest, CreateSession,
    ModelSpec, Session,
};
use bethink_client::{Client, ClientError};
use serde::Serialize;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::recording::Recording;
use crate::structure::faults;

/// The model that is assumed if the recording names none.
const SOME_MODEL: &str = "claude-sonnet-4-5";
/// Assumed number of bytes per token, for checking independently whether a prompt fits its window. Tokenizers usually
/// count more tokens than this, so a prompt that is too large by this measure very probably is too large.
const BYTES_PER_TOKEN: u64 = 4;

/// How long to wait for the event that reports a finished update.
const EVENT_PATIENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
pub struct ReplayPlan {
    pub project_dir: String,
    pub title: String,
    pub tags: Vec<String>,
    pub window: u64,
    pub max_output: u64,
    /// Number of turns per prompt request: the prompts of the turns in between are not requested.
    pub every: u64,
}

#[derive(Debug)]
pub struct Player<'a> {
    client: &'a Client,
    recording: &'a Recording,
    pub session: Session,
    plan: ReplayPlan,
    next: usize,
    asked: u64,
    outcome: ReplayOutcome,
    notes: Notes,
    began: Instant,
}

/// The result of playing one message.
#[derive(Debug)]
pub struct ReplayStep {
    /// Number of messages that were played so far, including this one.
    pub done: usize,
    /// The prompt's report, if it was the assistant's turn.
    pub report: Option<ContextReport>,
}

/// The reason why a replay could not continue.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("could not read message {}: {}", .0 + 1, .1)]
    Message(usize, #[source] serde_json::Error),
}

/// The figures of a whole replay.
#[derive(Debug, Default, Serialize)]
pub struct ReplayOutcome {
    pub session_id: Uuid,
    pub messages: u64,
    pub turns: u64,
    pub compactions: Vec<CompactionFigures>,
    pub invalid_prompts: u64,
    pub max_prompt_tokens: u64,
    pub overruns: u64,
    pub notes_updates: u64,
    pub wall_ms: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub first_faults: Vec<String>,
    /// Lines of the file that could not be read.
    pub damaged_lines: u64,
}

#[derive(Debug, Serialize)]
pub struct CompactionFigures {
    pub level: CompactionLevel,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub fidelity: f64,
}

impl<'a> Player<'a> {
    /// Creates the session into which the recording is replayed.
    pub async fn begin(
        client: &'a Client,
        recording: &'a Recording,
        plan: ReplayPlan,
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
                tags: plan.tags.clone(),
                parent: None,
                model: Some(model),
            })
            .await?;
        let notes = Notes::watch(client.clone(), session.id);
        let outcome = ReplayOutcome {
            session_id: session.id,
            messages: recording.messages.len() as u64,
            damaged_lines: recording.damaged,
            ..ReplayOutcome::default()
        };
        Ok(Self { client, recording, session, plan, next: 0, asked: 0, outcome, notes, began })
    }

    /// Plays the next message. Returns `None` after the last one.
    pub async fn step(&mut self) -> Result<Option<ReplayStep>, ReplayError> {
        let i = self.next;
        let Some(recorded) = self.recording.messages.get(i) else { return Ok(None) };
        let message = recorded.message().map_err(|cause| ReplayError::Message(i, cause))?;
        self.client.append(self.session.id, &AppendRequest { messages: vec![message] }).await?;
        self.next += 1;
        let report = self.turn(i).await?;
        Ok(Some(ReplayStep { done: self.next, report }))
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
        self.outcome.take(&prompt.report, size, faults(prompt.messages.get()));
        Ok(Some(prompt.report))
    }

    /// Updates the notes with everything played so far, and returns them.
    pub async fn note(&mut self) -> Result<String, ClientError> {
        let update = self.client.update_notes(self.session.id).await?;
        self.notes.reach(update.through_seq).await;
        Ok(self.client.notes(self.session.id).await?.text)
    }

    pub async fn end(self) -> Result<(ReplayOutcome, Vec<Compaction>), ClientError> {
        let wall_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let compactions = self.client.compactions(self.session.id).await?.compactions;
        let outcome = ReplayOutcome {
            compactions: compactions.iter().map(CompactionFigures::of).collect(),
            notes_updates: self.notes.count(),
            wall_ms,
            ..self.outcome
        };
        Ok((outcome, compactions))
    }
}

impl ReplayOutcome {
    /// Adds a turn. `size` is the number of tokens in the prompt, according to `BYTES_PER_TOKEN`.
    fn take(&mut self, report: &ContextReport, size: u64, faults: Vec<String>) {
        const SHOWN: usize = 3;
        let window = report.thresholds.window;
        self.turns += 1;
        self.max_prompt_tokens = self.max_prompt_tokens.max(report.tokens);
        self.overruns += u64::from(report.tokens > window || size > window);
        self.invalid_prompts += u64::from(!faults.is_empty());
        let room = SHOWN.saturating_sub(self.first_faults.len());
        self.first_faults.extend(faults.into_iter().take(room));
    }
}

impl CompactionFigures {
    fn of(compaction: &Compaction) -> Self {
        Self {
            level: compaction.level,
            tokens_before: compaction.tokens_before,
            tokens_after: compaction.tokens_after,
            fidelity: compaction.fidelity,
        }
    }
}

/// Counts the session's `notes` events while it is played.
#[derive(Debug)]
struct Notes {
    /// The newest message that each update covered.
    covered: UnboundedReceiver<u64>,
    updates: u64,
    /// Aborted on drop, so that no open stream delays the daemon's shutdown.
    _listener: JoinSet<()>,
}

impl Notes {
    fn watch(client: Client, session: Uuid) -> Self {
        let (tell, covered) = unbounded_channel();
        let mut listener = JoinSet::new();
        listener.spawn(async move {
            let Ok(mut events) = client.events(session, None).await else { return };
            while let Ok(Some(event)) = events.next().await {
                if event.kind == "notes" && tell.send(through(&event.data)).is_err() {
                    return;
                }
            }
        });
        Self { covered, updates: 0, _listener: listener }
    }

    fn count(mut self) -> u64 {
        while self.covered.try_recv().is_ok() {
            self.updates += 1;
        }
        self.updates
    }

    /// Waits for the event of an update that covers message `seq`. The wait is limited, because the stream may have
    /// ended.
    async fn reach(&mut self, seq: u64) {
        let reached = async {
            while let Some(through_seq) = self.covered.recv().await {
                self.updates += 1;
                if through_seq >= seq {
                    return;
                }
            }
        };
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
