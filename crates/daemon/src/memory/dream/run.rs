//! One dream, from the wish to the result.

use std::sync::Arc;

use bethink_api as api;
use bethink_dream::{Plan, Taught, diff};
use bethink_memdir::{Name, Scope};
use bethink_memdir_fs::MemoryRoot;
use bethink_store::Job;
use bethink_transcript::{SessionId, UnixMicros};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::DREAM;
use super::apply::Dreamer;
use super::gate::DreamState;
use super::model::STRATEGY;
use crate::memory::Project;
use crate::quiet::quietly;
use crate::{Daemon, Kind, Refusal, Result, jobs};

/// Bytes of a diff that a result carries; who wants more looks at the files.
const DIFF_BYTES: usize = 1 << 20;

/// Sessions that a dream looks through for what nobody wrote down yet, newest first.
const MOST_SESSIONS: usize = 50;

/// What a job is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Wish {
    project_dir: String,
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    undo: bool,
    #[serde(default)]
    session: Option<SessionId>,
    /// What was remembered before the dream was asked for; `None` where a person asked.
    #[serde(default)]
    before: Option<DreamState>,
}

impl Daemon {
    /// What a person asks for, whenever they do.
    pub async fn dream(&self, request: api::DreamRequest) -> Result<api::Job> {
        if request.dry_run && request.undo {
            let detail = "an undo is shown by the history of each file, and has no dry run";
            return Err(Refusal::invalid("dry_run", detail));
        }
        // Refuses a directory that is none before there is a job.
        self.project(&request.project_dir).await?;
        let api::DreamRequest { project_dir, dry_run, undo } = request;
        let wish = json!({ "project_dir": project_dir, "dry_run": dry_run, "undo": undo });
        self.enqueue(jobs::new_id(), DREAM, None, &wish).await
    }

    pub(crate) async fn run_dream(&self, job: &Job) -> Result<Value> {
        let wish: Wish = serde_json::from_str(&job.payload).map_err(Refusal::internal)?;
        let project = self.project(&wish.project_dir).await?;
        let done = self.dream_of(&project, &wish, &job.id.to_string()).await;
        let outcome = if done.is_ok() { "done" } else { "failed" };
        metrics::counter!("bethink_dreams_total", "outcome" => outcome).increment(1);
        match done {
            Ok(result) => serde_json::to_value(result).map_err(Refusal::internal),
            Err(refusal) => {
                if let Some(before) = &wish.before {
                    // As if it had not been asked for: the next gate tries again.
                    self.keep_dream_state(&project.key, before).await?;
                    self.dreams().next().remove(&wish.project_dir);
                }
                Err(refusal)
            }
        }
    }

    async fn dream_of(&self, project: &Project, wish: &Wish, id: &str) -> Result<api::DreamResult> {
        let _one = self.dreams().begin(&project.key).ok_or_else(|| {
            Refusal::new(Kind::Conflict, "this memory is being consolidated just now")
                .hint("try again when it is done")
        })?;
        let shelf = project.shelf(Scope::Private);
        let mut result = api::DreamResult {
            project_dir: wish.project_dir.clone(),
            dir: shelf.dir.display().to_string(),
            dry_run: wish.dry_run,
            undo: wish.undo,
            strategy: "embedded".to_owned(),
            ..api::DreamResult::default()
        };
        let held = Arc::clone(shelf);
        let root = crate::memory::refused::blocking(move || held.root(false)).await?;
        // No memory yet: nothing is made for a dream.
        let Some(root) = root else { return Ok(result) };
        if wish.dry_run {
            let plan = self.plan_dream(project, &root, wish, &mut result).await?;
            tell(&plan, &mut result);
            return Ok(result);
        }
        let dreamer = Dreamer { id: format!("dream {id}"), session: wish.session };
        let work = async {
            if wish.undo {
                return self.undo_dream(project, &mut result).await;
            }
            let plan = self.plan_dream(project, &root, wish, &mut result).await?;
            tell(&plan, &mut result);
            self.make_true(project, &root, &plan, &dreamer, &mut result).await
        };
        self.alone_in(Arc::clone(&root), work).await?;
        Ok(result)
    }

    async fn plan_dream(
        &self,
        project: &Project,
        root: &Arc<MemoryRoot>,
        wish: &Wish,
        result: &mut api::DreamResult,
    ) -> Result<Plan> {
        let directory = Arc::new(self.dream_directory(project.shelf(Scope::Private), root).await?);
        let (now, texts) = (self.now(), Arc::clone(&directory));
        let taught = self.gathered(project, wish).await?;
        let plan = quietly(move || bethink_dream::plan(&texts, &taught, now)).await?;
        let Some(dreamt) = self.dream_by_model(&directory, &plan, wish.session).await else {
            return Ok(plan);
        };
        result.strategy = STRATEGY.to_owned();
        result.refused = dreamt.refused;
        Ok(dreamt.plan)
    }

    /// What the sessions since the last dream taught and nobody wrote down yet.
    async fn gathered(&self, project: &Project, wish: &Wish) -> Result<Vec<Taught>> {
        let last = match &wish.before {
            Some(before) => before.last,
            None => self.dream_state(&project.key).await?.last,
        };
        let since = UnixMicros(last.unwrap_or_default());
        let sessions = self.touched_since(&project.key, None, since, MOST_SESSIONS).await?;
        let taught = self.unwritten_lessons(project, sessions).await?;
        let named =
            |(name, text): (String, String)| Some(Taught { name: Name::parse(&name).ok()?, text });
        Ok(taught.into_iter().filter_map(named).collect())
    }

    async fn make_true(
        &self,
        project: &Project,
        root: &Arc<MemoryRoot>,
        plan: &Plan,
        dreamer: &Dreamer,
        result: &mut api::DreamResult,
    ) -> Result<()> {
        let mut state = self.dream_state(&project.key).await?;
        if !plan.is_empty() {
            // Before the first file, so that what a killed dream did can be undone, too.
            state.id = Some(dreamer.id.clone());
            self.keep_dream_state(&project.key, &state).await?;
            let applied = self.apply_dream(project, root, plan, dreamer).await?;
            (result.applied, result.left_alone) = (applied.files, applied.left);
        }
        state.last = Some(self.now().0);
        self.keep_dream_state(&project.key, &state).await
    }
}

/// The plan, as a client sees it.
fn tell(plan: &Plan, result: &mut api::DreamResult) {
    let steps = plan.steps.iter().map(|step| api::DreamStep {
        phase: step.phase.to_string(),
        file: step.file.path(),
        what: step.what.clone(),
        why: step.why.clone(),
    });
    let notes = plan
        .notes
        .iter()
        .map(|note| api::DreamNote { phase: note.phase.to_string(), text: note.text.clone() });
    let dropped = plan.dropped.iter().map(|dropped| api::DreamDropped {
        file: dropped.file.path(),
        text: dropped.text.clone(),
        why: dropped.why.clone(),
    });
    result.steps = steps.collect();
    result.notes = notes.collect();
    result.dropped = dropped.collect();
    result.diff = diff(plan);
    if result.diff.len() > DIFF_BYTES {
        let end = (0..=DIFF_BYTES).rev().find(|at| result.diff.is_char_boundary(*at));
        result.diff.truncate(end.unwrap_or_default());
        result.diff.push_str("\n(the diff goes on)\n");
    }
}
