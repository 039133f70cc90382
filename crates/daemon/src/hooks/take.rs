//! An event comes in: its effect is begun, its answer is made, and neither keeps the client waiting.

use std::time::Duration;

use bethink_hooks::answer::NOTHING;
use bethink_hooks::{Answer, Delivery, Event};
use bethink_store::Receipt;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use uuid::Uuid;

use super::follow::Followed;
use crate::{Daemon, Kind, Refusal, Result};

/// An effect is waited for so long, since it mostly takes a few milliseconds; beyond that the event goes into the
/// spool and is answered. It leaves a hook time for its own exchange.
const PATIENCE: Duration = Duration::from_millis(20);

impl Daemon {
    /// Takes in what a client tells, and answers what the client reads: JSON in its own shape.
    pub async fn hook(&self, delivery: Delivery) -> Result<String> {
        let event = delivery.event;
        metrics::counter!("bethink_hooks_total", "event" => event.as_str()).increment(1);
        self.deliver_what_waits();
        let mut taking = self.take_beside(delivery.clone());
        if event == Event::PostToolUse {
            // Nobody waits after a tool: what this one brings, the next event brings too.
            return Ok(NOTHING.to_owned());
        }
        let (answer, taken) = tokio::join!(self.answer(&delivery), timeout(PATIENCE, &mut taking));
        match taken {
            Ok(taken) => {
                self.take_again_later(&delivery, taken.map_err(Refusal::internal)?).await?;
            }
            Err(_) => self.put_into_spool(&delivery).await?,
        }
        Ok(answer.to_json(delivery.client, event))
    }

    /// What the model is told; nothing rather than late.
    async fn answer(&self, delivery: &Delivery) -> Answer {
        if !delivery.event.is_answered() {
            return Answer::default();
        }
        let words = timeout(delivery.event.budget(), self.words(delivery)).await;
        match words {
            Ok(Ok(words)) => Answer::of(words),
            Ok(Err(refusal)) => {
                tracing::warn!(event = %delivery.event, reason = %refusal.detail, "a hook is answered with nothing");
                Answer::default()
            }
            Err(_) => {
                tracing::warn!(event = %delivery.event, "a hook is answered with nothing: it took too long");
                Answer::default()
            }
        }
    }

    /// Runs to its end, whoever waits for it.
    fn take_beside(&self, delivery: Delivery) -> JoinHandle<Result<()>> {
        let daemon = self.clone();
        self.inner.tracker.spawn(async move {
            let taken = daemon.take(&delivery).await;
            match &taken {
                Ok(()) => daemon.take_out_of_spool(&delivery).await,
                Err(refusal) => {
                    tracing::warn!(event = %delivery.event, reason = %refusal.detail, "a hook had no effect");
                }
            }
            taken
        })
    }

    /// What could not be done now may be done later, unless it never can be.
    async fn take_again_later(&self, delivery: &Delivery, taken: Result<()>) -> Result<()> {
        match taken {
            Err(refusal) if may_pass(&refusal) => self.put_into_spool(delivery).await,
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// The effect of an event, once.
    pub(super) async fn take(&self, delivery: &Delivery) -> Result<()> {
        let Some(key) = delivery.input.session_id.clone() else { return Ok(()) };
        let who = (delivery.client, key);
        let followed = self.hook_desk().followed(&who);
        // Held to the end: events of one session are taken one after the other.
        let mut followed = followed.lock().await;
        if self.is_taken(delivery.id).await? {
            return Ok(());
        }
        if delivery.client.has_session_files() {
            self.follow_transcripts(&who, &mut followed, delivery).await?;
        }
        self.after(&who, &mut followed, delivery).await?;
        self.note_taken(delivery).await
    }

    /// What an event means beside the transcript.
    async fn after(
        &self,
        who: &super::Who,
        followed: &mut Followed,
        delivery: &Delivery,
    ) -> Result<()> {
        let session = self.session_of_client(who).await?;
        match (delivery.event, session) {
            (Event::SessionStart, _) if delivery.input.starts_afresh() => {
                self.forget_told(who).await
            }
            (Event::PreCompact, Some(id)) if self.settings().session_memory.enabled => {
                let daemon = self.clone();
                // A model may write them; the client's compaction waits for nobody.
                self.spawn(async move {
                    if let Err(refusal) = daemon.update_notes(id).await {
                        tracing::debug!(session = %id, reason = %refusal.detail, "no notes before the client's compaction");
                    }
                });
                Ok(())
            }
            (Event::SessionEnd, session) => {
                followed.rest();
                if let Some(id) = session {
                    let slot = self.hot(id).await?;
                    self.ask_for_extraction(&slot);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn is_taken(&self, id: Uuid) -> Result<bool> {
        Ok(self.store().receipt(receipt_key(id)).await?.is_some())
    }

    /// Receipts go after a day. An event that comes again later finds its transcript read already.
    async fn note_taken(&self, delivery: &Delivery) -> Result<()> {
        let key = receipt_key(delivery.id);
        let receipt = Receipt { key, fingerprint: delivery.event.as_str().to_owned() };
        Ok(self.store().put_receipt(receipt, String::new(), self.now()).await?)
    }
}

fn receipt_key(id: Uuid) -> String {
    format!("hook {id}")
}

/// Whether the same event may be taken at another time.
pub(super) fn may_pass(refusal: &Refusal) -> bool {
    matches!(
        refusal.kind,
        Kind::StorageFull | Kind::ReadOnly | Kind::ShuttingDown | Kind::Conflict | Kind::Internal
    )
}
