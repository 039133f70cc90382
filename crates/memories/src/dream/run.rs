//! Runs a dream, from the request to the result.

use std::sync::Arc;

use bethink_api as api;
use bethink_dream::{DreamPlan, TaughtTopic, diff};
use bethink_memdir::{Name, Scope};
use bethink_memdir_fs::MemoryRoot;
use bethink_service::{
    JobHandler, JobOutput, JobRunner, Result, ServiceError, at_low_priority, blocking, job_payload,
    locked, new_job_id,
};
use bethink_store::{JobRecord, LastDream};
use bethink_transcript::SessionId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::gate::DREAM;
use super::model::STRATEGY;
use crate::memory_write::Author;
use crate::project::MemoryProject;
use crate::service::MemoryService;

/// Maximum size of the diff in a result, in bytes.
const DIFF_BYTES: usize = 1 << 20;

/// Maximum number of sessions in which a dream looks for unwritten memories, newest first.
const MOST_SESSIONS: usize = 50;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct DreamRequest {
    project_dir: String,
    /// `private` or `person`.
    #[serde(default)]
    scope: Scope,
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    undo: bool,
    session: Option<SessionId>,
    /// The last dream that had been recorded when this dream was enqueued; `None` if a person requested this dream.
    before: Option<LastDream>,
}

impl MemoryService {
    pub async fn dream(&self, request: api::DreamRequest) -> Result<api::Job> {
        if request.dry_run && request.undo {
            let detail =
                "`undo` has no dry run; `bethink memory history NAME` shows the versions of a file";
            return Err(ServiceError::invalid("dry_run", detail));
        }
        if request.scope == Some(Scope::Team) {
            let why =
                "a team's memory is not consolidated, because others change it at the same time";
            return Err(ServiceError::invalid("scope", why).hint("use `private` or `person`"));
        }
        // Reject an invalid directory before a job is created.
        self.project(&request.project_dir).await?;
        let api::DreamRequest { project_dir, scope, dry_run, undo } = request;
        let scope = scope.unwrap_or_default();
        let payload =
            json!({ "project_dir": project_dir, "scope": scope, "dry_run": dry_run, "undo": undo });
        self.cx.jobs().enqueue(new_job_id(), DREAM, None, &payload).await
    }

    async fn run_dream(&self, job: &JobRecord) -> Result<Value> {
        let request: DreamRequest = job_payload(job)?;
        let project = self.project(&request.project_dir).await?;
        let done = self.dream_of(&project, &request, &job.id.to_string()).await;
        let outcome = if done.is_ok() { "done" } else { "failed" };
        metrics::counter!("bethink_dreams_total", "outcome" => outcome).increment(1);
        match done {
            Ok(result) => serde_json::to_value(result).map_err(ServiceError::internal),
            Err(error) => {
                if let Some(before) = &request.before {
                    // Restore the state from before it was enqueued, so that the next check tries again.
                    let key = dream_key(&project, request.scope);
                    self.put_last_dream(&key, before.clone()).await?;
                    locked(&self.inner.dream_looks).remove(&request.project_dir);
                }
                Err(error)
            }
        }
    }

    async fn dream_of(
        &self,
        project: &MemoryProject,
        request: &DreamRequest,
        id: &str,
    ) -> Result<api::DreamResult> {
        let lock = match request.scope {
            Scope::Person => &self.inner.dreaming_of_person,
            _ => &project.turns.dreaming,
        };
        let _one = lock.try_lock().map_err(|_| {
            ServiceError::conflict("this memory is already being consolidated")
                .hint("try again later")
        })?;
        let directory = project.directory(request.scope);
        let mut result = api::DreamResult {
            project_dir: request.project_dir.clone(),
            dir: directory.dir.display().to_string(),
            dry_run: request.dry_run,
            undo: request.undo,
            strategy: api::Strategy::Embedded,
            ..api::DreamResult::default()
        };
        let held = Arc::clone(directory);
        let root = blocking(move || held.root(false)).await?;
        // A dream does not create a memory directory.
        let Some(root) = root else { return Ok(result) };
        if request.dry_run {
            let plan = self.plan_dream(project, &root, request, &mut result).await?;
            report(&plan, &mut result);
            return Ok(result);
        }
        let note = format!("dream {id}");
        let dreamer = Author { by: api::MemoryAuthor::Dream, session: request.session, note };
        let work = async {
            if request.undo {
                return self.undo_dream(project, request.scope, &mut result).await;
            }
            let plan = self.plan_dream(project, &root, request, &mut result).await?;
            report(&plan, &mut result);
            let place = (project, request.scope, &root);
            self.carry_out_dream(place, &plan, &dreamer, &mut result).await
        };
        self.alone_in(Arc::clone(&root), work).await?;
        Ok(result)
    }

    async fn plan_dream(
        &self,
        project: &MemoryProject,
        root: &Arc<MemoryRoot>,
        request: &DreamRequest,
        result: &mut api::DreamResult,
    ) -> Result<DreamPlan> {
        let directory =
            Arc::new(self.dream_directory(project.directory(request.scope), root).await?);
        let (now, texts) = (self.cx.now(), Arc::clone(&directory));
        let taught = self.new_lessons(project, request).await?;
        let plan = at_low_priority(move || bethink_dream::plan(&texts, &taught, now)).await?;
        let Some(dreamt) = self.dream_by_model(&directory, &plan, request.session).await else {
            return Ok(plan);
        };
        result.strategy = STRATEGY;
        result.refused = dreamt.refused;
        Ok(dreamt.plan)
    }

    /// Returns topics that the sessions since the last dream taught and that have not been written.
    async fn new_lessons(
        &self,
        project: &MemoryProject,
        request: &DreamRequest,
    ) -> Result<Vec<TaughtTopic>> {
        if request.scope == Scope::Person {
            // What a session teaches is written by the dream of its own project.
            return Ok(Vec::new());
        }
        let last = match &request.before {
            Some(before) => before.at,
            None => self.last_dream(&project.key).await?.at,
        };
        let since = last.unwrap_or_default();
        let sessions = self.touched_since(&project.key, None, since, MOST_SESSIONS).await?;
        let taught = self.unwritten_lessons(project, sessions).await?;
        let named = |(name, text): (String, String)| {
            Some(TaughtTopic { name: Name::parse(&name).ok()?, text })
        };
        Ok(taught.into_iter().filter_map(named).collect())
    }

    async fn carry_out_dream(
        &self,
        (project, scope, root): (&MemoryProject, Scope, &Arc<MemoryRoot>),
        plan: &DreamPlan,
        dreamer: &Author,
        result: &mut api::DreamResult,
    ) -> Result<()> {
        let key = dream_key(project, scope);
        let mut last = self.last_dream(&key).await?;
        if !plan.is_empty() {
            // Store this before the first file is changed, so that an interrupted dream can be undone too.
            last.id = Some(dreamer.note.clone());
            self.put_last_dream(&key, last.clone()).await?;
            let applied = self.apply_dream((project, scope, root), plan, dreamer).await?;
            (result.applied, result.left_alone) = (applied.files, applied.left);
        }
        last.at = Some(self.cx.now());
        self.put_last_dream(&key, last).await
    }
}

/// Returns the name under which the last dream of a directory is stored.
pub(super) fn dream_key(project: &MemoryProject, scope: Scope) -> String {
    match scope {
        Scope::Person => scope.to_string(),
        _ => project.key.clone(),
    }
}

fn report(plan: &DreamPlan, result: &mut api::DreamResult) {
    result.steps.clone_from(&plan.steps);
    result.notes.clone_from(&plan.notes);
    result.dropped.clone_from(&plan.dropped);
    result.diff = diff(plan);
    if result.diff.len() > DIFF_BYTES {
        result.diff.truncate(result.diff.floor_char_boundary(DIFF_BYTES));
        result.diff.push_str("\n(the rest of the diff is left out)\n");
    }
}

#[derive(Debug)]
pub struct DreamJob(pub MemoryService);

impl JobHandler for DreamJob {
    fn kind(&self) -> &'static str {
        DREAM
    }

    fn waits_for_model(&self) -> bool {
        self.0.models.dreams_by_model()
    }

    fn run<'a>(&'a self, job: &'a JobRecord, _: &'a JobRunner) -> JobOutput<'a> {
        Box::pin(self.0.run_dream(job))
    }
}
