//! Forks: sessions that continue from a message of another session.

use bethink_api::{self as api, SessionLifecycle};
use bethink_compactor::Breakers;
use bethink_service::{
    JobHandler, JobOutput, JobRunner, Receipt, Result, ServiceError, if_found, job_session,
    new_job_id, next_batch,
};
use bethink_store::{
    Append, JobRecord, NewMessage, NewSession, SeqRange, SessionChange, SessionRecord,
    StoredRequest,
};
use bethink_transcript::{Seq, SessionId};
use serde_json::json;
use uuid::Uuid;

use crate::catalog::{check_labels, id_for};
use crate::kept_state::KeptState;
use crate::service::{SessionEvent, SessionService};

/// Kind of the job that removes incomplete forks.
const FORK_CHECK: &str = "fork_check";

impl SessionService {
    /// Creates a session that shares history up to a message. The parent is not changed. A request that is repeated with
    /// its key gets the fork that it created.
    pub async fn fork(
        &self,
        id: SessionId,
        request: api::ForkRequest,
        key: Option<Receipt>,
    ) -> Result<api::Session> {
        let new_id = SessionId(id_for(key.as_ref()));
        if key.is_some() && self.is_whole_fork(new_id).await? {
            return self.session(new_id).await;
        }
        let parent = self.cx.store().session(id).await?;
        check_labels(request.title.as_deref(), &[])?;
        let at = request.at_seq.map_or(parent.last_seq, Seq);
        if at > parent.last_seq || at == Seq::ZERO && parent.last_seq > Seq::ZERO {
            let detail = match parent.last_seq {
                Seq::ZERO => "the session has no messages".to_owned(),
                last => format!("the session has messages 1 to {last}"),
            };
            let limit = if at == Seq::ZERO { 1 } else { parent.last_seq.0 };
            return Err(ServiceError::invalid("at_seq", detail).bounded(limit, at.0));
        }
        let title = request.title.or_else(|| parent.title.as_ref().map(|t| format!("{t} (fork)")));
        let (dir, model) = (parent.project_dir.clone(), parent.model.clone());
        let new = NewSession {
            project: parent.project.clone(),
            title,
            tags: parent.tags.clone(),
            parent: Some(id),
            forked_at: Some(at),
            ..NewSession::new(new_id, dir, model, self.cx.now())
        };
        let copying = self.inner.forks.read().await;
        // Enqueued first: if the daemon is killed meanwhile, the next one removes the incomplete fork.
        let check = json!({ "session": new.id.0 });
        self.cx.jobs().enqueue(new_job_id(), FORK_CHECK, None, &check).await?;
        let fork = self.cx.store().create_session(new, None).await?.session.id;
        let _hold = self.hold_session(fork).await?;
        let copied = async {
            self.copy_view(id, &parent, fork, at).await?;
            for contributor in self.contributors() {
                contributor.forked(id, fork, at).await?;
            }
            self.copy_history(id, fork, at).await
        }
        .await;
        drop(copying);
        if let Err(refusal) = copied {
            self.remove_companions(fork).await?;
            self.cx.store().delete_session(fork).await?;
            return Err(refusal);
        }
        self.cx.hub().announce_session(fork, SessionLifecycle::Created);
        self.search.index_soon(fork);
        self.tell(&SessionEvent::Forked { session: fork });
        self.session(fork).await
    }

    /// Returns whether the fork exists, and removes it if it is incomplete. Messages are copied last, so they show whether
    /// the fork is complete.
    async fn is_whole_fork(&self, session: SessionId) -> Result<bool> {
        if if_found(self.cx.store().session(session).await)?.is_none() {
            return Ok(false);
        }
        // Waits for forks that are being copied, and no other one begins meanwhile.
        let _no_copies = self.inner.forks.write().await;
        let Some(found) = if_found(self.cx.store().session(session).await)? else {
            return Ok(false);
        };
        let whole = found.forked_at.is_none_or(|at| found.last_seq >= at);
        if !whole {
            self.remove_companions(session).await?;
            self.cx.store().delete_session(session).await?;
        }
        Ok(whole)
    }

    async fn copy_history(&self, from: SessionId, to: SessionId, through: Seq) -> Result<()> {
        let mut after = Seq::ZERO;
        while after < through {
            let range = SeqRange { before: Some(through.next()), ..next_batch(after) };
            let batch = self.cx.store().messages(from, range).await?;
            let Some(last) = batch.last() else { break };
            after = last.seq;
            let copies = batch.into_iter().map(|stored| NewMessage {
                id: stored.id,
                role: stored.role,
                raw: stored.raw,
                recorded: stored.recorded,
                created_at: stored.created_at,
            });
            let messages = copies.collect();
            let append =
                Append { session: to, messages, only_new: false, receipt: None, at: self.cx.now() };
            self.cx.store().append(append).await?;
        }
        Ok(())
    }

    /// Copies the parent's compactions and decisions that were made up to message `at`.
    async fn copy_view(
        &self,
        from: SessionId,
        parent: &SessionRecord,
        to: SessionId,
        at: Seq,
    ) -> Result<()> {
        let mut state = KeptState::parse(&parent.state);
        state.todos.take_if(|set| set.after > at);
        state.breakers = Breakers::default();
        let change = SessionChange {
            state: Some(serde_json::to_string(&state).map_err(ServiceError::internal)?),
            updated_at: self.cx.now(),
            ..SessionChange::default()
        };
        self.cx.store().update_session(to, change).await?;
        if let Some(StoredRequest { frame, marks }) = self.cx.store().sent_request(from).await? {
            let (store, now) = (self.cx.store(), self.cx.now());
            store.put_sent_frame(to, frame, now).await?;
            store.put_sent_marks(to, marks.unwrap_or_else(|| "[]".to_owned()), now).await?;
        }
        let decisions = self.cx.store().decisions(from).await?;
        // Compactions are copied below, with new ids.
        let is_view =
            |d: &bethink_store::DecisionRecord| !matches!(&*d.kind, "compacted" | "undone");
        let kept = decisions.into_iter().filter(|d| d.made_after <= at && is_view(d)).map(|d| {
            bethink_store::NewDecision {
                kind: d.kind,
                data: d.data,
                made_after: d.made_after,
                created_at: d.created_at,
            }
        });
        self.cx.store().add_decisions(to, kept.collect()).await?;
        // Spans keep their ids, because decisions refer to them.
        let spans = self.cx.store().collapses(from).await?.into_iter();
        let spans = spans.filter(|span| span.staged_after <= at).map(|span| {
            let committed = span.committed.filter(|(after, _)| *after <= at);
            bethink_store::CollapseRecord { session: to, committed, ..span }
        });
        self.cx.store().put_collapses(to, spans.collect(), Vec::new()).await?;
        for compaction in self.cx.store().compactions(from).await? {
            if compaction.made_after <= at && compaction.undone_at.is_none() {
                let id = bethink_transcript::CompactionId(Uuid::now_v7());
                let copy = bethink_store::CompactionRecord { id, session: to, ..compaction };
                self.add_compaction(copy).await?;
            }
        }
        Ok(())
    }
}

/// The job that removes an incomplete fork after a daemon was killed.
#[derive(Debug)]
pub struct ForkCheckJob(pub SessionService);

impl JobHandler for ForkCheckJob {
    fn kind(&self) -> &'static str {
        FORK_CHECK
    }

    fn run<'a>(&'a self, job: &'a JobRecord, _: &'a JobRunner) -> JobOutput<'a> {
        Box::pin(async move {
            let whole = self.0.is_whole_fork(job_session(job)?).await?;
            Ok(json!({ "whole": whole }))
        })
    }
}

#[cfg(test)]
mod tests {
    use bethink_config::Settings;

    use super::*;
    use crate::tests::home::SessionsHome;

    const HALF: SessionId = SessionId(Uuid::from_u128(9));

    async fn open(directory: &tempfile::TempDir) -> SessionsHome {
        SessionsHome::open(Settings::at(directory.path())).await
    }

    /// A daemon was killed after it had made a fork, or during the copy, and before it stored its answer.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_fork_that_is_requested_again_is_made_once() {
        let directory = tempfile::tempdir().unwrap();
        let home = open(&directory).await;
        let parent = home.session(&[json!({ "role": "user", "content": "one" })]).await;
        let fork = async |key: &str, print: &str| {
            let key = Receipt { key: key.to_owned(), fingerprint: print.to_owned() };
            home.sessions.fork(parent, api::ForkRequest::default(), Some(key)).await.unwrap()
        };
        let first = fork("key", "print").await;
        let again = fork("key", "print").await;
        assert_eq!((again.id, again.last_seq), (first.id, 1));
        assert_ne!(fork("other", "print").await.id, first.id);
        assert_ne!(fork("key", "other").await.id, first.id);
        // An incomplete one is made anew.
        let row = home.cx.store().session(SessionId(first.id)).await.unwrap();
        home.cx.store().delete_session(row.id).await.unwrap();
        let new = NewSession {
            parent: row.parent,
            forked_at: row.forked_at,
            ..NewSession::new(row.id, row.project_dir, row.model, row.created_at)
        };
        home.cx.store().create_session(new, None).await.unwrap();
        let again = fork("key", "print").await;
        assert_eq!((again.id, again.last_seq), (first.id, 1));
        home.close().await;
    }

    /// A daemon was killed during a copy: the session exists, but its messages do not.
    #[tokio::test]
    async fn the_next_daemon_removes_an_incomplete_fork() {
        let directory = tempfile::tempdir().unwrap();
        let home = open(&directory).await;
        let parent = home
            .session(&[
                json!({ "role": "user", "content": "one" }),
                json!({ "role": "assistant", "content": "two" }),
            ])
            .await;
        let whole = home.sessions.fork(parent, api::ForkRequest::default(), None).await.unwrap();
        let whole = SessionId(whole.id);
        let row = home.cx.store().session(parent).await.unwrap();
        let new = NewSession {
            parent: Some(parent),
            forked_at: Some(Seq(2)),
            ..NewSession::new(HALF, row.project_dir, row.model, row.created_at)
        };
        home.cx.store().create_session(new, None).await.unwrap();
        let check = bethink_store::NewJob {
            id: new_job_id(),
            kind: FORK_CHECK.to_owned(),
            session: None,
            payload: json!({ "session": HALF.0 }).to_string(),
            background: false,
            created_at: row.created_at,
        };
        // Stored without waking this worker, so that the next daemon finds it.
        home.cx.store().enqueue(check).await.unwrap();
        home.close().await;
        let home = open(&directory).await;
        let gone = async {
            while home.cx.store().session(HALF).await.is_ok() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(30), gone).await.unwrap();
        assert_eq!(home.cx.store().session(whole).await.unwrap().last_seq, Seq(2));
        home.close().await;
    }
}
