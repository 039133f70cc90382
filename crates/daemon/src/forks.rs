//! Forks: a session that goes on from a message of another one.

use bethink_api as api;
use bethink_store::{
    Append, Job, NewMessage, NewSession, SeqRange, Session, SessionChange, StoreError,
};
use bethink_transcript::{Seq, SessionId};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::hot::STRETCH;
use crate::sessions::check_labels;
use crate::{Daemon, Refusal, Result, jobs};

/// Kind of the job that removes half a fork.
pub(crate) const FORK_CHECK: &str = "fork_check";

impl Daemon {
    /// A new session that shares history up to a message; the parent stays as it is.
    pub async fn fork(&self, id: SessionId, request: api::ForkRequest) -> Result<api::Session> {
        let parent = self.store().session(id).await?;
        check_labels(request.title.as_deref(), &[])?;
        let at = request.at_seq.map_or(parent.last_seq, Seq);
        if at > parent.last_seq || at == Seq::ZERO && parent.last_seq > Seq::ZERO {
            return Err(Refusal::invalid(
                "at_seq",
                format!("messages are 1 to {}", parent.last_seq),
            )
            .bounded(parent.last_seq.0, at.0));
        }
        let title = request.title.or_else(|| parent.title.as_ref().map(|t| format!("{t} (fork)")));
        let new = NewSession {
            id: SessionId(Uuid::now_v7()),
            project_dir: parent.project_dir.clone(),
            title,
            tags: parent.tags.clone(),
            parent: Some(id),
            forked_at: Some(at),
            model: parent.model.clone(),
            created_at: self.now(),
            content_hash: None,
        };
        let copying = self.forks().read().await;
        // Asked for before there is anything: if the daemon is killed on the way, the next one removes
        // what is half a fork.
        let check = json!({ "session": new.id.0 });
        self.enqueue(jobs::new_id(), FORK_CHECK, None, &check).await?;
        let fork = self.store().create_session(new, None).await?.session.id;
        let copied = match self.copy_view(id, &parent, fork, at).await {
            Ok(()) => match self.copy_notes(id, fork, at).await {
                Ok(()) => self.copy_history(id, fork, at).await,
                Err(refusal) => Err(refusal),
            },
            Err(refusal) => Err(refusal),
        };
        drop(copying);
        if let Err(refusal) = copied {
            self.remove_notes_file(fork).await?;
            self.store().delete_session(fork).await?;
            return Err(refusal);
        }
        self.tell_session(fork, "created");
        self.index_soon(fork);
        self.session(fork).await
    }

    /// Sees to it that a fork is whole or gone. Messages are copied last, so they tell which.
    pub(crate) async fn run_fork_check(&self, job: &Job) -> Result<Value> {
        let session = jobs::payload(job)?["session"].as_str().and_then(|s| s.parse().ok());
        let session =
            session.map(SessionId).ok_or_else(|| Refusal::internal("a fork without a session"))?;
        // Forks that are being made now are waited for.
        drop(self.forks().write().await);
        let whole = match self.store().session(session).await {
            Ok(found) => found.forked_at.is_none_or(|at| found.last_seq >= at),
            Err(StoreError::NotFound { .. }) => return Ok(json!({ "whole": false })),
            Err(error) => return Err(error.into()),
        };
        if !whole {
            self.remove_notes_file(session).await?;
            self.store().delete_session(session).await?;
        }
        Ok(json!({ "whole": whole }))
    }

    async fn copy_history(&self, from: SessionId, to: SessionId, through: Seq) -> Result<()> {
        let mut after = Seq::ZERO;
        while after < through {
            let range = SeqRange {
                after: Some(after),
                before: Some(through.next()),
                limit: STRETCH,
                newest: false,
            };
            let stretch = self.store().messages(from, range).await?;
            let Some(last) = stretch.last() else { break };
            after = last.seq;
            let mut messages = Vec::with_capacity(stretch.len());
            for stored in stretch {
                let (id, role, raw) = (stored.id.clone(), stored.role, stored.raw.clone());
                let created_at = stored.created_at;
                let recorded = stored.recorded;
                messages.push(NewMessage { id, role, raw, recorded, created_at });
            }
            let append = Append { session: to, messages, receipt: None, at: self.now() };
            self.store().append(append).await?;
        }
        Ok(())
    }

    /// The fork starts with the parent's compactions and decisions, as far as they lie before `at`.
    async fn copy_view(
        &self,
        from: SessionId,
        parent: &Session,
        to: SessionId,
        at: Seq,
    ) -> Result<()> {
        let change = SessionChange {
            state: Some(parent.state.clone()),
            updated_at: self.now(),
            ..SessionChange::default()
        };
        self.store().update_session(to, change).await?;
        let decisions = self.store().decisions(from).await?;
        let kept = decisions.into_iter().filter(|d| d.made_after <= at).map(|d| {
            bethink_store::NewDecision {
                kind: d.kind,
                data: d.data,
                made_after: d.made_after,
                created_at: d.created_at,
            }
        });
        self.store().add_decisions(to, kept.collect()).await?;
        // Under their own ids, which decisions name.
        let spans = self.store().collapses(from).await?.into_iter();
        let spans = spans.filter(|span| span.staged_after <= at).map(|span| {
            let committed = span.committed.filter(|(after, _)| *after <= at);
            bethink_store::Collapse { session: to, committed, ..span }
        });
        self.store().put_collapses(to, spans.collect(), Vec::new()).await?;
        for compaction in self.store().compactions(from).await? {
            if compaction.made_after <= at && compaction.undone_at.is_none() {
                let id = bethink_transcript::CompactionId(Uuid::now_v7());
                let copy = bethink_store::Compaction { id, session: to, ..compaction };
                self.store().add_compaction(copy, Vec::new()).await?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
mod tests {
    use bethink_config::Settings;
    use bytes::Bytes;

    use super::*;

    const HALF: SessionId = SessionId(Uuid::from_u128(9));

    async fn boot(home: &tempfile::TempDir) -> Daemon {
        Daemon::boot(Settings::at(home.path())).await.unwrap()
    }

    async fn parent(daemon: &Daemon) -> SessionId {
        let request = serde_json::from_value(json!({ "project_dir": "/project" })).unwrap();
        let id = SessionId(daemon.create_session(request, None).await.unwrap().id);
        let body = json!({ "messages": [
            { "role": "user", "content": "one" }, { "role": "assistant", "content": "two" },
        ] });
        daemon.append(id, Bytes::from(body.to_string()), None).await.unwrap();
        id
    }

    /// A daemon that was killed while it copied: the session is there, its messages are not.
    #[tokio::test]
    async fn half_a_fork_is_gone_when_the_next_daemon_is_up() {
        let home = tempfile::tempdir().unwrap();
        let daemon = boot(&home).await;
        let parent = parent(&daemon).await;
        let whole = SessionId(daemon.fork(parent, api::ForkRequest::default()).await.unwrap().id);
        let row = daemon.store().session(parent).await.unwrap();
        let new = NewSession {
            id: HALF,
            project_dir: row.project_dir,
            title: None,
            tags: Vec::new(),
            parent: Some(parent),
            forked_at: Some(Seq(2)),
            model: row.model,
            created_at: row.created_at,
            content_hash: None,
        };
        daemon.store().create_session(new, None).await.unwrap();
        let check = bethink_store::NewJob {
            id: jobs::new_id(),
            kind: FORK_CHECK.to_owned(),
            session: None,
            payload: json!({ "session": HALF.0 }).to_string(),
            background: false,
            created_at: row.created_at,
        };
        // Stored without waking the worker: it is the next daemon's to find.
        daemon.store().enqueue(check).await.unwrap();
        daemon.shutdown().await;
        drop(daemon);
        let daemon = boot(&home).await;
        let gone = async {
            while daemon.store().session(HALF).await.is_ok() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(30), gone).await.unwrap();
        assert_eq!(daemon.store().session(whole).await.unwrap().last_seq, Seq(2));
        daemon.shutdown().await;
    }
}
