//! Handles an event: starts its effect and makes its answer, without keeping the client waiting.

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

/// How long to wait for an effect, which mostly takes a few milliseconds; after that, the event is put into the
/// spool and answered. This leaves a hook time for its own exchange.
const PATIENCE: Duration = Duration::from_millis(20);

impl HookService {
    /// Handles an event, and returns the JSON that this client reads.
    pub async fn hook(&self, delivery: Delivery) -> Result<String> {
        let event = delivery.event;
        metrics::counter!("bethink_hook_events_total", "event" => event.as_str()).increment(1);
        self.drain_spool();
        let mut taking = self.take_beside(delivery.clone());
        if event == HookEvent::PostToolUse {
            // Nobody waits after a tool: the next event will read the same lines.
            return Ok(NOTHING.to_owned());
        }
        let (answer, taken) = tokio::join!(self.answer(&delivery), timeout(PATIENCE, &mut taking));
        // Try again later, unless it can never succeed.
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

    /// The text for the model; empty rather than late.
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

    /// Runs to its end even if nobody waits for it.
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
        // Held to the end: events of one session are handled one after the other.
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

    /// Effects of an event other than reading the transcript.
    async fn after(&self, who: &Who, tails: &mut Tails, delivery: &Delivery) -> Result<()> {
        let session = self.session_of_client(who).await?;
        match (delivery.event, session) {
            (HookEvent::SessionStart, _) if delivery.input.starts_afresh() => {
                self.forget_delivered(who).await
            }
            (HookEvent::PreCompact, Some(id)) if self.cx.settings().session_memory.enabled => {
                let hooks = self.clone();
                // A model may write them, and the client's compaction does not wait.
                self.cx.spawn(async move {
                    if let Err(error) = hooks.notes.update_notes(id).await {
                        tracing::debug!(session = %id, reason = %error.detail, "could not write notes before the client's compaction");
                    }
                });
                Ok(())
            }
            (HookEvent::SessionEnd, session) => {
                // The session is over for now, so its transcripts need not stay open.
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

    /// Records that an event was handled, for a day. If it is repeated later, its transcript has already been read.
    async fn note_taken(&self, delivery: &Delivery) -> Result<()> {
        let key = receipt_key(delivery.id);
        let receipt = Receipt { key, fingerprint: delivery.event.as_str().to_owned() };
        Ok(self.cx.store().put_receipt(receipt, String::new(), self.cx.now()).await?)
    }
}

fn receipt_key(id: Uuid) -> String {
    format!("hook {id}")
}

/// Whether the same event may succeed at another time.
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
