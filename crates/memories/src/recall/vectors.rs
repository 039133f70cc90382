//! Makes the vectors of topics in the background, and stores them.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bethink_encoder::embedding::EMBEDDING_BYTES;
use bethink_encoder::{Embedding, Encoder};
use bethink_memdir::{Hash, header};
use bethink_service::{
    JobHandler, JobOutput, JobRunner, Result, at_low_priority, job_payload, locked,
};
use bethink_store::{JobRecord, TopicVectors};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Key;
use super::meaning::{ENCODER, Missing, passages};
use super::view::{key_of, name_of};
use crate::project::MemoryProject;
use crate::service::MemoryService;

const VECTORS: &str = "vectors";
/// Number of topics whose vectors are made and stored together.
const BATCH: usize = 32;

#[derive(Debug, Serialize, Deserialize)]
struct VectorsRequest {
    project_dir: String,
}

/// Makes the vectors of a project's topics.
#[derive(Debug)]
pub struct VectorsJob(pub MemoryService);

impl JobHandler for VectorsJob {
    fn kind(&self) -> &'static str {
        VECTORS
    }

    /// The job computes for a long time, so other jobs must not wait for it.
    fn waits_for_model(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, job: &'a JobRecord, _: &'a JobRunner) -> JobOutput<'a> {
        Box::pin(self.0.make_vectors(job))
    }
}

impl MemoryService {
    /// In the background, reads the stored vectors and requests those that are missing. Never fails: without vectors, recall
    /// uses words alone.
    pub(super) fn follow_meaning(&self, project: &Arc<MemoryProject>) {
        let (memories, project) = (self.clone(), Arc::clone(project));
        self.cx.spawn(async move {
            if let Err(error) = memories.follow_meaning_now(&project).await {
                let reason = error.detail;
                tracing::warn!(%reason, "could not prepare recall by meaning; recalling by words");
            }
        });
    }

    async fn follow_meaning_now(&self, project: &Arc<MemoryProject>) -> Result<()> {
        self.read_vectors(project).await;
        let meanings = &project.library.meanings;
        if meanings.missing(&project.library).is_empty()
            || meanings.is_asked.swap(true, Ordering::Relaxed)
        {
            return Ok(());
        }
        let payload = json!({ "project_dir": project.root });
        let enqueued = self.cx.jobs().enqueue_background(VECTORS, None, &payload).await;
        match &enqueued {
            Ok(_) => self.cx.jobs().wake(),
            Err(_) => meanings.is_no_longer_asked(),
        }
        enqueued.map(drop)
    }

    /// Reads the stored vectors once. Vectors that cannot be read are made again.
    pub(super) async fn read_vectors(&self, project: &MemoryProject) {
        let mut is_read = project.library.meanings.is_read.lock().await;
        if std::mem::replace(&mut *is_read, true) {
            return;
        }
        let stored = self.cx.store().topic_vectors(project.key.clone(), Encoder::ID.to_owned());
        let stored = match stored.await {
            Ok(stored) => stored,
            Err(error) => return tracing::warn!(%error, "could not read the stored topic vectors"),
        };
        let read = stored.into_iter().filter_map(|one| {
            let (numbers, rest) = one.vectors.as_chunks::<EMBEDDING_BYTES>();
            let vectors: Option<Vec<Embedding>> =
                numbers.iter().map(|bytes| Embedding::from_bytes(bytes)).collect();
            let is_whole = rest.is_empty() && !numbers.is_empty();
            let vectors = vectors.filter(|_| is_whole)?;
            Some((key_of(&one.topic)?, (one.hash.parse().ok()?, vectors)))
        });
        locked(&project.library.meanings.vectors).extend(read);
    }

    async fn make_vectors(&self, job: &JobRecord) -> Result<Value> {
        let request: VectorsRequest = job_payload(job)?;
        let project = self.project(&request.project_dir).await?;
        let meanings = &project.library.meanings;
        self.refresh_library(&project).await.inspect_err(|_| meanings.is_no_longer_asked())?;
        self.read_vectors(&project).await;
        let mut failed = HashSet::new();
        let made = self.make_missing(&project, &mut failed).await;
        meanings.is_asked.store(false, Ordering::Relaxed);
        // A topic that changed while the job was ending did not enqueue another job.
        let missing = meanings.missing(&project.library);
        if made.is_ok() && missing.iter().any(|one| !failed.contains(&(one.key.clone(), one.hash)))
        {
            self.follow_meaning(&project);
        } else {
            meanings.pending.send_replace(0);
        }
        Ok(json!({ "topics": made? }))
    }

    /// Makes the missing vectors, batch by batch. Returns the total number of topics for which this succeeded. Texts for which
    /// this failed are added to `failed`.
    async fn make_missing(
        &self,
        project: &Arc<MemoryProject>,
        failed: &mut HashSet<(Key, Hash)>,
    ) -> Result<usize> {
        let meanings = &project.library.meanings;
        let mut made = 0;
        loop {
            // Listing them reads all topics, so it is repeated only for the next stage, or after a change.
            let revisions = project.library.revisions();
            let mut missing = meanings.missing(&project.library);
            missing.retain(|one| !failed.contains(&(one.key.clone(), one.hash)));
            let Some(stage) = missing.first().map(Missing::stage) else { break };
            missing.retain(|one| one.stage() == stage);
            let mut missing = missing.into_iter().peekable();
            while missing.peek().is_some() && project.library.revisions() == revisions {
                let batch = missing.by_ref().take(BATCH).collect();
                made += self.make_batch(project, batch, failed).await?;
            }
        }
        self.drop_vectors(project).await?;
        Ok(made)
    }

    /// Makes and stores the next vectors of these topics. Returns the number of topics for which this succeeded.
    async fn make_batch(
        &self,
        project: &Arc<MemoryProject>,
        missing: Vec<Missing>,
        failed: &mut HashSet<(Key, Hash)>,
    ) -> Result<usize> {
        let held = Arc::clone(project);
        failed.extend(missing.iter().map(|one| (one.key.clone(), one.hash)));
        let batch = at_low_priority(move || made_by_two(missing, |one| embedded(&held, one)));
        let batch: Vec<(Key, Hash, Vec<Embedding>)> = batch.await?;
        let made = batch.len();
        self.keep_vectors(project, &batch).await?;
        for (key, hash, vectors) in batch {
            failed.remove(&(key.clone(), hash));
            locked(&project.library.meanings.vectors).insert(key, (hash, vectors));
        }
        Ok(made)
    }

    async fn keep_vectors(
        &self,
        project: &MemoryProject,
        batch: &[(Key, Hash, Vec<Embedding>)],
    ) -> Result<()> {
        let rows = batch.iter().map(|(key, hash, vectors)| TopicVectors {
            topic: name_of(key),
            hash: hash.to_string(),
            vectors: Bytes::from(vectors.iter().flat_map(Embedding::to_bytes).collect::<Vec<u8>>()),
        });
        let (key, encoder) = (project.key.clone(), Encoder::ID.to_owned());
        Ok(self.cx.store().put_topic_vectors(key, encoder, rows.collect()).await?)
    }

    /// Deletes stored vectors of topics that no longer exist.
    async fn drop_vectors(&self, project: &MemoryProject) -> Result<()> {
        let stored = self.cx.store().topic_vectors(project.key.clone(), Encoder::ID.to_owned());
        let topics = project.library.hashes();
        let gone = stored.await?.into_iter().map(|one| one.topic);
        let gone: Vec<String> = gone
            .filter(|topic| !key_of(topic).is_some_and(|key| topics.contains_key(&key)))
            .collect();
        if gone.is_empty() {
            return Ok(());
        }
        Ok(self.cx.store().delete_topic_vectors(project.key.clone(), gone).await?)
    }
}

/// Calls `make` with each item. A second thread handles half of the items.
fn made_by_two<T: Send, M: Send>(
    mut items: Vec<T>,
    make: impl Fn(T) -> Option<M> + Sync,
) -> Vec<M> {
    let others = items.split_off(items.len().div_ceil(2));
    let make_all = |items: Vec<T>| items.into_iter().filter_map(&make).collect::<Vec<M>>();
    std::thread::scope(|scope| {
        let others = scope.spawn(|| make_all(others));
        let mut made = make_all(items);
        made.extend(others.join().unwrap_or_default());
        made
    })
}

/// Makes the next vectors of a topic. Returns `None` if the file has changed or no longer exists. The topic's vectors are then
/// requested again after the next change to the library.
fn embedded(project: &MemoryProject, missing: Missing) -> Option<(Key, Hash, Vec<Embedding>)> {
    let Missing { key, hash, done: mut vectors } = missing;
    let (text, read) = project.directory(key.0).text_now(&key.1).ok()??;
    let encoder = ENCODER.as_ref().filter(|_| read == hash)?;
    let topic = header::read(&text);
    if vectors.is_empty() {
        let name = key.1.as_str().replace(['-', '_', '/'], " ");
        let header = encoder.encode(&format!("{name}: {}", topic.header.described(topic.body)));
        return Some((key, hash, vec![header]));
    }
    let passages = passages(topic.body, &topic.header.questions);
    // The first passages of all topics come before the other passages of any topic.
    let next =
        if vectors.len() == 1 { passages.get(..1) } else { passages.get(vectors.len() - 1..) };
    vectors.extend(next.unwrap_or_default().iter().map(|passage| encoder.encode(passage)));
    if passages.is_empty() {
        vectors.extend(vectors.first().cloned());
    }
    Some((key, hash, vectors))
}
