//! Handles an event: starts its effects and writes its answer, without making the client wait.

use std::time::Duration;

use bethink_agent_transcript::TranscriptAgent;
use bethink_hook_events::answer::NOTHING;
use bethink_hook_events::{Delivery, HookAnswer, HookEvent, HookInput};
use bethink_service::{ErrorKind, Result, ServiceError};
use bethink_store::Receipt;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use uuid::Uuid;

use crate::ready::{Tails, Who, who};
use crate::service::HookService;

/// How long to wait for the effects of an event, which usually take a few milliseconds. After that, the event is put
/// into the spool, and the hook gets its answer. The hook needs the rest of its time for the connection.
const PATIENCE: Duration = Duration::from_millis(20);
/// How long after the end of a turn its transcript is read once more. Qwen Code, called for a single prompt, writes its
/// answer only after its hooks have ended, and sends no event after that.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(2);

impl HookService {
    /// Handles an event, and returns the JSON that this client reads.
    pub async fn hook(&self, delivery: Delivery) -> Result<String> {
        let event = delivery.event;
        metrics::counter!("bethink_hook_events_total", "event" => event.as_str()).increment(1);
        self.drain_spool();
        let mut taking = self.spawn_take(delivery.clone());
        if event == HookEvent::PostToolUse {
            // There is no need to wait: the next event will read the same lines.
            return Ok(NOTHING.to_owned());
        }
        let (answer, taken) = tokio::join!(self.answer(&delivery), timeout(PATIENCE, &mut taking));
        // An event that may succeed later is put into the spool.
        match taken {
            Ok(taken) => {
                let taken = taken.map_err(ServiceError::internal)?;
                if taken.is_err_and(|error| may_succeed_later(&error)) {
                    self.put_into_spool(&delivery).await?;
                }
            }
            Err(_) => {
                self.put_into_spool(&delivery).await?;
                // If the event has been handled in the meantime, this removes it again.
                self.drain_spool();
            }
        }
        Ok(answer.to_json(delivery.client, event))
    }

    /// Returns the texts for the model and the user. If this takes too long, the answer is empty.
    async fn answer(&self, delivery: &Delivery) -> HookAnswer {
        if !delivery.event.is_answered() {
            return HookAnswer::default();
        }
        let words = async {
            let greeting = match delivery.event {
                HookEvent::SessionStart => self.greeting(delivery).await.unwrap_or_else(|error| {
                    tracing::warn!(reason = %error.detail, "could not greet the user");
                    None
                }),
                _ => None,
            };
            Ok::<_, ServiceError>(HookAnswer {
                greeting,
                ..HookAnswer::of(self.words(delivery).await?)
            })
        };
        match timeout(delivery.event.budget(), words).await {
            Ok(Ok(answer)) => return answer,
            Ok(Err(error)) => {
                tracing::warn!(event = %delivery.event, reason = %error.detail, "could not answer a hook");
            }
            Err(_) => {
                tracing::warn!(event = %delivery.event, "could not answer a hook in time");
            }
        }
        HookAnswer::default()
    }

    /// Handles the event in a task, which finishes even if nobody waits for it.
    fn spawn_take(&self, delivery: Delivery) -> JoinHandle<Result<()>> {
        let hooks = self.clone();
        self.cx.spawn(async move {
            let taken = hooks.take(&delivery).await;
            match &taken {
                Ok(()) => {
                    hooks.take_out_of_spool(&delivery).await;
                    if delivery.event == HookEvent::Stop {
                        hooks.read_again_later(delivery);
                    }
                }
                Err(error) => {
                    tracing::warn!(event = %delivery.event, reason = %error.detail, "could not process a hook event");
                }
            }
            taken
        })
    }

    fn read_again_later(&self, delivery: Delivery) {
        let (hooks, stop) = (self.clone(), self.cx.stopping().clone());
        self.cx.spawn(async move {
            if timeout(READ_AGAIN_AFTER, stop.cancelled()).await.is_ok() {
                return;
            }
            let Some(who) = who(&delivery) else { return };
            let tails = hooks.inner.ready.tails(&who);
            let mut tails = tails.lock().await;
            if let Err(error) = hooks.read_transcripts(&who, &mut tails, &delivery).await {
                // The next event reads the same lines.
                tracing::debug!(reason = %error.detail, "could not read a transcript again");
            }
        });
    }

    /// Applies the effects of an event, unless it was handled before.
    pub(crate) async fn take(&self, delivery: &Delivery) -> Result<()> {
        let Some(who) = who(delivery) else { return Ok(()) };
        let tails = self.inner.ready.tails(&who);
        // The lock is held to the end, so that the events of one session are handled one after the other.
        let mut tails = tails.lock().await;
        if self.cx.store().receipt(receipt_key(delivery.id)).await?.is_some() {
            return Ok(());
        }
        self.read_transcripts(&who, &mut tails, delivery).await?;
        self.apply(&who, &mut tails, delivery).await?;
        self.note_taken(delivery).await
    }

    /// Stores what is new in the transcripts that an event names, unless they are excluded from recording.
    async fn read_transcripts(
        &self,
        who: &Who,
        tails: &mut Tails,
        delivery: &Delivery,
    ) -> Result<()> {
        let input = &delivery.input;
        if self.is_excluded(input) {
            return Ok(());
        }
        if delivery.client.has_session_files() {
            return self.follow_transcripts(who, tails, delivery).await;
        }
        if let Some(agent) = TranscriptAgent::named(delivery.client.as_str()) {
            let paths = [&input.transcript_path, &input.agent_transcript_path];
            for path in paths.into_iter().flatten() {
                self.transfer.follow(agent, path.into()).await?;
            }
        }
        Ok(())
    }

    /// Returns whether the project or a transcript is excluded from recording.
    fn is_excluded(&self, input: &HookInput) -> bool {
        let places = [&input.cwd, &input.transcript_path, &input.agent_transcript_path];
        let rules = self.cx.recording();
        places.into_iter().flatten().any(|place| rules.excluded(place).is_some())
    }

    /// Applies the effects of an event other than reading the transcript.
    async fn apply(&self, who: &Who, tails: &mut Tails, delivery: &Delivery) -> Result<()> {
        let session = self.session_of_client(who).await?;
        match (delivery.event, session) {
            (HookEvent::SessionStart, _) if delivery.input.starts_over() => {
                self.forget_delivered(who).await
            }
            (HookEvent::PreCompact, Some(id)) if self.cx.settings().session_memory.enabled => {
                let hooks = self.clone();
                // A model may write the notes, but the client's compaction does not wait for them.
                self.cx.spawn(async move {
                    if let Err(error) = hooks.notes.update_notes(id).await {
                        tracing::debug!(session = %id, reason = %error.detail, "could not write notes before the client's compaction");
                    }
                });
                Ok(())
            }
            (HookEvent::SessionEnd, session) => {
                // The session has ended, so its transcripts are no longer needed in memory.
                tails.clear();
                if let Some(id) = session {
                    let handle = self.sessions.handle(id).await?;
                    self.memories.ask_for_extraction(&handle);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Records that an event was handled. The record is kept for a day. If the event is repeated after that, it does no
    /// harm, because the transcript has already been read.
    async fn note_taken(&self, delivery: &Delivery) -> Result<()> {
        let key = receipt_key(delivery.id);
        let receipt = Receipt { key, fingerprint: delivery.event.as_str().to_owned() };
        Ok(self.cx.store().put_receipt(receipt, String::new(), self.cx.now()).await?)
    }
}

fn receipt_key(id: Uuid) -> String {
    format!("hook {id}")
}

/// Returns whether the same event may succeed later.
pub(crate) fn may_succeed_later(error: &ServiceError) -> bool {
    let may_change = matches!(
        error.kind,
        ErrorKind::ShuttingDown
            | ErrorKind::Conflict
            | ErrorKind::StorageDamaged
            | ErrorKind::Internal
    );
    may_change || error.kind.is_of_the_disk()
}
