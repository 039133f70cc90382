//! An event comes in: its effect is begun, its answer is made, and neither keeps the client waiting.

use std::time::Duration;

use bethink_hook_events::answer::NOTHING;
use bethink_hook_events::{Delivery, HookAnswer, HookEvent};
use bethink_service::{ErrorKind, Result, ServiceError};
use bethink_store::Receipt;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use uuid::Uuid;

use crate::ready::{Tails, Who, who};
use crate::service::HookService;

/// An effect is waited for so long, since it mostly takes a few milliseconds; beyond that the event goes into the
/// spool and is answered. It leaves a hook time for its own exchange.
const PATIENCE: Duration = Duration::from_millis(20);

impl HookService {
    /// Takes in what a client tells, and answers what the client reads: JSON in its own shape.
    pub async fn hook(&self, delivery: Delivery) -> Result<String> {
        let event = delivery.event;
        metrics::counter!("bethink_hook_events_total", "event" => event.as_str()).increment(1);
        self.drain_spool();
        let mut taking = self.take_beside(delivery.clone());
        if event == HookEvent::PostToolUse {
            // Nobody waits after a tool: what this one brings, the next event brings too.
            return Ok(NOTHING.to_owned());
        }
        let (answer, taken) = tokio::join!(self.answer(&delivery), timeout(PATIENCE, &mut taking));
        // What could not be done now may be done later, unless it never can be.
        let is_unfinished = match taken {
            Ok(taken) => {
                taken.map_err(ServiceError::internal)?.is_err_and(|error| may_pass(&error))
            }
            Err(_) => true,
        };
        if is_unfinished {
            self.put_into_spool(&delivery).await?;
        }
        Ok(answer.to_json(delivery.client, event))
    }

    /// What the model is told; nothing rather than late.
    async fn answer(&self, delivery: &Delivery) -> HookAnswer {
        if !delivery.event.is_answered() {
            return HookAnswer::default();
        }
        let words = timeout(delivery.event.budget(), self.words(delivery)).await;
        match words {
            Ok(Ok(words)) => return HookAnswer::of(words),
            Ok(Err(error)) => {
                tracing::warn!(event = %delivery.event, reason = %error.detail, "a hook is answered with nothing");
            }
            Err(_) => {
                tracing::warn!(event = %delivery.event, "answered a hook with nothing: it took too long");
            }
        }
        HookAnswer::default()
    }

    /// Runs to its end, whoever waits for it.
    fn take_beside(&self, delivery: Delivery) -> JoinHandle<Result<()>> {
        let hooks = self.clone();
        self.cx.spawn(async move {
            let taken = hooks.take(&delivery).await;
            match &taken {
                Ok(()) => hooks.take_out_of_spool(&delivery).await,
                Err(error) => {
                    tracing::warn!(event = %delivery.event, reason = %error.detail, "could not process a hook event");
                }
            }
            taken
        })
    }

    /// The effect of an event, once.
    pub(crate) async fn take(&self, delivery: &Delivery) -> Result<()> {
        let Some(who) = who(delivery) else { return Ok(()) };
        let tails = self.inner.ready.tails(&who);
        // Held to the end: events of one session are taken one after the other.
        let mut tails = tails.lock().await;
        if self.cx.store().receipt(receipt_key(delivery.id)).await?.is_some() {
            return Ok(());
        }
        if delivery.client.has_session_files() {
            self.follow_transcripts(&who, &mut tails, delivery).await?;
        }
        self.after(&who, &mut tails, delivery).await?;
        self.note_taken(delivery).await
    }

    /// What an event means beside the transcript.
    async fn after(&self, who: &Who, tails: &mut Tails, delivery: &Delivery) -> Result<()> {
        let session = self.session_of_client(who).await?;
        match (delivery.event, session) {
            (HookEvent::SessionStart, _) if delivery.input.starts_afresh() => {
                self.forget_delivered(who).await
            }
            (HookEvent::PreCompact, Some(id)) if self.cx.settings().session_memory.enabled => {
                let hooks = self.clone();
                // A model may write them; the client's compaction waits for nobody.
                self.cx.spawn(async move {
                    if let Err(error) = hooks.notes.update_notes(id).await {
                        tracing::debug!(session = %id, reason = %error.detail, "could not write notes before the client's compaction");
                    }
                });
                Ok(())
            }
            (HookEvent::SessionEnd, session) => {
                // The session is over, for now: what its files said need not be at hand.
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

    /// Receipts go after a day. An event that comes again later finds its transcript read already.
    async fn note_taken(&self, delivery: &Delivery) -> Result<()> {
        let key = receipt_key(delivery.id);
        let receipt = Receipt { key, fingerprint: delivery.event.as_str().to_owned() };
        Ok(self.cx.store().put_receipt(receipt, String::new(), self.cx.now()).await?)
    }
}

fn receipt_key(id: Uuid) -> String {
    format!("hook {id}")
}

/// Whether the same event may be taken at another time.
pub(crate) fn may_pass(error: &ServiceError) -> bool {
    matches!(
        error.kind,
        ErrorKind::StorageFull
            | ErrorKind::ReadOnly
            | ErrorKind::ShuttingDown
            | ErrorKind::Conflict
            | ErrorKind::Internal
    )
}
