//! The turn: all stages in order, from a session's state to the prompt of its next call.
//!
//! [`turn`] is pure. It decides on a copy, makes the view, measures it, and returns what it decided. A prompt, a
//! report, a token count and the gateway's preview all use it. The caller keeps the [`Turn`] (stores its records
//! first, then calls [`Turn::apply`]) or drops it, and a dropped turn has changed nothing.

use bethink_api as api;
use bethink_tokens::text_tokens;
use bethink_transcript::{Role, Seq, StructureFault, UnixMicros, ValidPrompt};

use crate::budget::{self, BudgetLimits};
use crate::collapse_stage::{CollapsePlan, CollapsePolicy, Fill, plan_collapse};
use crate::decision::{Attachment, Decision, Decisions};
use crate::measure::{Measure, PromptShape, measure};
use crate::microcompact::{self, MicrocompactLimits};
use crate::placeholder::Hints;
use crate::report::{self, ReportInput};
use crate::session::SessionState;
use crate::snip;
use crate::system_tools::SystemAndTools;
use crate::thresholds::Thresholds;
use crate::todos::{self, TodoList};
use crate::view::view;

/// Number of tool rounds after which an unchanged todo list is shown in full again: models pay less attention to older
/// text.
const TODOS_WHOLE_EVERY: u32 = 20;

/// The rows of a todo list take at most this part of the window: a longer list leaves too little room for the work. The second
/// number is for the reminders of an unchanged list, which come after each tool round.
const TODO_DIVISORS: [u64; 2] = [20, 200];
/// Size of a token in a todo list, in bytes.
const TODO_TOKEN_BYTES: u64 = 3;

#[derive(Clone, Debug)]
pub struct StageLimits {
    pub budget: BudgetLimits,
    pub snip: bool,
    pub microcompact: MicrocompactLimits,
}

#[derive(Debug)]
pub struct TurnInputs<'a> {
    pub around: &'a SystemAndTools,
    /// Texts that services add at the end.
    pub reminders: Vec<Attachment>,
    /// Whether to remind the model of its todo list.
    pub todos: bool,
    pub limits: &'a StageLimits,
    /// Whether the messages are sent unchanged while the prompt is below the threshold `auto`.
    pub reduce_only_when_full: bool,
    pub collapses: bool,
    /// The spans that this prompt may use; none if collapse is off or already done.
    pub collapse: Option<CollapsePolicy<'a>>,
    pub cache: api::CacheReport,
    /// Stages of this prompt that ran before its compaction.
    pub before: Vec<api::StageReport>,
    /// The compaction of this prompt, as a stage.
    pub compaction: Option<api::StageReport>,
}

/// A prompt with its report, and the decisions it is made with.
#[derive(Debug)]
pub struct Turn {
    pub prompt: ValidPrompt,
    pub shape: PromptShape,
    pub decisions: Decisions,
    pub records: Vec<Decision>,
    /// Spans that are collapsed from now on.
    pub collapsed: Option<CollapsePlan>,
    pub report: api::ContextReport,
    pub estimated: u64,
    pub size: Measure,
    todos: TodoList,
}

/// Why there is no prompt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPrompt {
    #[error("no message has content that a provider accepts")]
    Empty,
    /// A bug in bethink.
    #[error("the prompt breaks a rule of the Messages API: {0}")]
    Broken(String),
}

/// The decisions of the stages so far.
struct StageDecisions {
    decisions: Decisions,
    records: Vec<Decision>,
    stages: Vec<api::StageReport>,
}

impl StageDecisions {
    fn of(state: &SessionState) -> Self {
        let decisions = state.decisions.clone();
        Self { decisions, records: Vec::new(), stages: Vec::new() }
    }

    fn take(&mut self, state: &SessionState, new: Vec<Decision>, stage: Option<api::StageReport>) {
        for record in &new {
            self.decisions.apply(record, &state.history);
        }
        self.records.extend(new);
        self.stages.extend(stage);
    }
}

/// Runs all stages, makes the view and measures it. Changes nothing.
pub fn turn(
    state: &SessionState,
    inputs: TurnInputs<'_>,
    now: UnixMicros,
) -> Result<Turn, NoPrompt> {
    let TurnInputs { around, reminders, todos, limits, collapses, collapse, cache, .. } = inputs;
    let is_compacted = inputs.compaction.is_some();
    let (reminder, mut todos) = match todos {
        true => todo_reminder(state),
        false => (None, state.todos.clone()),
    };
    let make = |decided: &StageDecisions| make_prompt(state, decided, around, &cache, collapses);
    let attachments: Vec<Attachment> = reminders.into_iter().chain(reminder).collect();
    let finish = |mut decided: StageDecisions| {
        decided.stages.splice(0..0, inputs.before.iter().cloned());
        decided.stages.extend(inputs.compaction.clone());
        for attachment in &attachments {
            let record = decided.decisions.attaching(attachment.clone());
            decided.take(state, vec![record], None);
        }
        freeze_shown(state, &mut decided);
        make(&decided).map(|made| (decided, made))
    };
    let whole = match inputs.reduce_only_when_full {
        true => Some(finish(StageDecisions::of(state))?),
        false => None,
    };
    let whole = whole.filter(|(_, made)| made.report.tokens < state.thresholds.auto);
    let (mut decided, mut made) = match whole {
        Some(whole) => whole,
        None => finish(reduce(state, limits, now))?,
    };
    let fill = Fill { tokens: made.report.tokens, estimated: made.estimated };
    let collapsed = collapse.and_then(|policy| {
        plan_collapse(&state.history, &decided.decisions, &state.thresholds, fill, &policy)
    });
    if let Some(plan) = &collapsed {
        decided.take(state, plan.records(state.last_seq), Some(plan.stage.clone()));
        made = make(&decided)?;
        // The calls that showed the todo list may have left the view, so the list is shown in full again.
        todos.changed = !todos.items.is_empty();
    }
    let MeasuredPrompt { prompt, shape, mut report, estimated, size } = made;
    if let Some(compaction) = report.stages.last_mut().filter(|_| is_compacted) {
        // The compaction could only count the messages; the total is known now.
        compaction.tokens_after = report.tokens;
    }
    of_whole_prompt(&mut report);
    let StageDecisions { decisions, records, .. } = decided;
    Ok(Turn { prompt, shape, decisions, records, collapsed, report, estimated, size, todos })
}

/// Replaces the figures of each stage, which only count what the stage touched, with the size of the whole prompt
/// before and after the stage.
fn of_whole_prompt(report: &mut api::ContextReport) {
    let mut after = report.tokens;
    for stage in report.stages.iter_mut().rev() {
        if stage.stage != api::PromptStage::Compaction {
            let freed = stage.tokens_before.saturating_sub(stage.tokens_after);
            (stage.tokens_before, stage.tokens_after) = (after + freed, after);
        }
        after = stage.tokens_before;
    }
}

/// Returns the decisions with which the next prompt would reduce the view. A manual compaction starts from them,
/// because its prompt could otherwise be larger than the one in the report.
pub fn reductions(
    state: &SessionState,
    limits: &StageLimits,
    now: UnixMicros,
) -> (Decisions, Vec<Decision>) {
    let StageDecisions { decisions, records, .. } = reduce(state, limits, now);
    (decisions, records)
}

impl Turn {
    /// Moves the turn's decisions into `state`, after its records were stored.
    pub fn apply(&mut self, state: &mut SessionState) {
        state.decisions = std::mem::take(&mut self.decisions);
        state.todos = std::mem::take(&mut self.todos);
    }
}

/// Runs the stages that reduce the view.
fn reduce(state: &SessionState, limits: &StageLimits, now: UnixMicros) -> StageDecisions {
    let hints = Hints { session: state.id.to_string() };
    let (mut decided, history) = (StageDecisions::of(state), &state.history);
    let (new, stage) = budget::decide(history, &decided.decisions, &limits.budget, &hints);
    decided.take(state, new, stage);
    if limits.snip {
        let (new, stage) = snip::decide(history, &decided.decisions, &hints);
        decided.take(state, new, stage);
    }
    let (active, limits) = (state.last_activity(), &limits.microcompact);
    let (new, stage) =
        microcompact::decide(history, &decided.decisions, limits, active, now, &hints);
    decided.take(state, new, stage);
    decided
}

/// Returns the reminder after a tool round, once per round, and the updated list.
fn todo_reminder(state: &SessionState) -> (Option<Attachment>, TodoList) {
    let mut list = state.todos.clone();
    let reminder = due_reminder(state).and_then(|after| {
        let whole = list.changed || list.short >= TODOS_WHOLE_EVERY;
        let [divisor, short_divisor] = TODO_DIVISORS;
        let room = state.thresholds.effective / if whole { divisor } else { short_divisor };
        let bytes = usize::try_from(room * TODO_TOKEN_BYTES).unwrap_or(usize::MAX);
        let text = todos::reminder(&list.items, whole, bytes)?;
        list.short = if whole { 0 } else { list.short + 1 };
        list.changed = false;
        let tokens = text_tokens(&text);
        Some(Attachment { after, what: "todos".to_owned(), name: String::new(), text, tokens })
    });
    (reminder, list)
}

/// Returns the tool result after which a reminder is due.
fn due_reminder(state: &SessionState) -> Option<Seq> {
    let entries = state.history.entries();
    let last = entries.last()?;
    last.message.tool_results().next()?;
    let after = last.message.seq;
    let round_starts = entries.iter().rposition(|e| e.message.role == Role::Assistant)?;
    // A round that set the whole list already shows it.
    let own_call = entries.get(round_starts).is_some_and(|e| {
        todos::apply(&mut Vec::new(), &e.message) == Some(todos::TodoChange::Whole)
    });
    let already =
        state.decisions.attachments().iter().any(|a| a.after == after && a.what == "todos");
    (!own_call && !already).then_some(after)
}

/// Freezes the results that this prompt shows for the first time.
fn freeze_shown(state: &SessionState, decided: &mut StageDecisions) {
    let (last, shown) = (state.last_seq, decided.decisions.shown_through());
    let newest_first = state.history.entries().iter().rev();
    let mut new = newest_first.take_while(|e| e.message.seq > shown);
    if shown < last && new.any(|e| e.message.tool_results().next().is_some()) {
        decided.take(state, vec![Decision::Shown { through: last }], None);
    }
}

struct MeasuredPrompt {
    prompt: ValidPrompt,
    shape: PromptShape,
    report: api::ContextReport,
    estimated: u64,
    size: Measure,
}

fn make_prompt(
    state: &SessionState,
    decided: &StageDecisions,
    around: &SystemAndTools,
    cache: &api::CacheReport,
    collapses: bool,
) -> Result<MeasuredPrompt, NoPrompt> {
    let decisions = &decided.decisions;
    let mut shown = view(&state.history, decisions, state.view_options());
    let prompt = ValidPrompt::check(std::mem::take(&mut shown.messages)).map_err(|faults| {
        match faults[..] {
            [StructureFault::NoMessages] => NoPrompt::Empty,
            _ => NoPrompt::Broken(format!("{faults:?}")),
        }
    })?;
    let estimated = prompt.tokens() + around.tokens.total();
    let name = &state.model.name;
    let size = measure(&state.history, decisions, name, estimated, &state.learner);
    let boundary = decisions.boundary.as_ref().map(|boundary| boundary.id.clone());
    let shape = PromptShape::new(prompt.messages(), around.hashes(), boundary);
    let report = report::write(ReportInput {
        state,
        decisions,
        around,
        stages: &decided.stages,
        shown: &shown,
        prompt: &prompt,
        shape: &shape,
        size,
        compacts_at: compacts_at(&state.thresholds, collapses).auto,
        cache: cache.clone(),
    });
    Ok(MeasuredPrompt { prompt, shape, report, estimated, size })
}

/// Returns the thresholds for compaction. If collapse is on, a compaction is due only at the end of the window.
pub fn compacts_at(thresholds: &Thresholds, collapses: bool) -> Thresholds {
    match collapses {
        true => Thresholds { auto: thresholds.blocking, ..*thresholds },
        false => *thresholds,
    }
}
