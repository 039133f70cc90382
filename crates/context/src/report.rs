//! The report on a prompt: tokens by part, thresholds, stages, and how it differs from the last prompt.

use bethink_api as api;
use bethink_api::{PromptChange, PromptStage, StageReport, TodoStatus};
use bethink_transcript::ValidPrompt;
use bethink_transcript::arrange::Repair;

use crate::assemble;
use crate::decision::Decisions;
use crate::measure::{Measure, PromptDifference, PromptShape};
use crate::session::SessionState;
use crate::system_tools::SystemAndTools;
use crate::thresholds::fill_level;
use crate::view::View;

const LISTED_REPAIRS: usize = 20;

/// A prompt and everything else that its report needs.
pub(crate) struct ReportInput<'a> {
    pub(crate) state: &'a SessionState,
    pub(crate) decisions: &'a Decisions,
    pub(crate) around: &'a SystemAndTools,
    pub(crate) stages: &'a [StageReport],
    /// The view; its messages have moved into `prompt`.
    pub(crate) shown: &'a View,
    pub(crate) prompt: &'a ValidPrompt,
    pub(crate) shape: &'a PromptShape,
    pub(crate) size: Measure,
    /// Number of tokens at which a compaction is due.
    pub(crate) compacts_at: u64,
    pub(crate) cache: api::CacheReport,
}

pub(crate) fn write(input: ReportInput<'_>) -> api::ContextReport {
    let ReportInput { state, decisions, stages, shown, prompt, size, .. } = input;
    let fixed = input.around.tokens;
    let thresholds = state.thresholds;
    let messages = prompt.tokens();
    let memory = memory_tokens(decisions);
    let difference = state.shape.as_ref().map(|before| input.shape.difference(before));
    let end = state.shape.as_ref().and_then(PromptShape::end);
    let is_found = end.is_none_or(|end| assemble::is_found(prompt, end));
    let cached = difference.map_or(0, |d| {
        let messages = if is_found { d.stable_tokens } else { 0 };
        messages + if d.system_changed || d.tools_changed { 0 } else { fixed.total() }
    });
    let estimated = (messages + fixed.total()).max(1);
    // Each part is corrected like the total.
    let counted = |tokens| size.calibration.apply(tokens);
    let changed_by = difference.and_then(|d| match d {
        PromptDifference { system_changed: true, .. } => Some(PromptChange::System),
        PromptDifference { tools_changed: true, .. } => Some(PromptChange::Tools),
        PromptDifference { first_changed: Some(_), boundary_changed: true, .. } => {
            Some(PromptChange::Compaction)
        }
        _ => d.first_changed.map(|_| changed_by(stages)),
    });
    api::ContextReport {
        tokens: size.tokens,
        parts: api::PartTokens {
            system: counted(fixed.system),
            instructions: counted(fixed.instructions),
            memory: counted(fixed.memory + memory),
            tools: counted(fixed.tools),
            summary: counted(shown.summary_tokens),
            attachments: counted(shown.attachment_tokens.saturating_sub(memory)),
            tail: counted(messages.saturating_sub(shown.summary_tokens + shown.attachment_tokens)),
        },
        thresholds,
        remaining: input.compacts_at.saturating_sub(size.tokens),
        percent: round(size.tokens as f64 * 100.0 / thresholds.effective as f64, 10.0),
        messages: prompt.messages().len() as u64,
        level: fill_level(&thresholds, size.tokens),
        stages: stages.to_vec(),
        first_changed: difference.and_then(|d| d.first_changed).map(|at| at as u64),
        changed_by,
        first_edited: shown.first_edited.map(|at| at as u64),
        predicted_cache_hit: round((cached as f64 / estimated as f64).min(1.0), 10_000.0),
        cache: input.cache,
        tokens_from: size.source(),
        estimate: estimate_out(&size),
        repairs: repairs(&shown.repairs),
        last_compaction: state.last_compaction.clone(),
        compacted: None,
        notices: notices(state),
    }
}

/// Returns the number of tokens in attached memories.
fn memory_tokens(decisions: &Decisions) -> u64 {
    let memory =
        decisions.attachments().iter().filter(|a| a.what == "memory" && decisions.shows(a));
    memory.map(|a| u64::from(a.tokens)).sum()
}

fn estimate_out(size: &Measure) -> api::TokenEstimate {
    let calibration = &size.calibration;
    api::TokenEstimate {
        reported: size.reported,
        scale: round(calibration.scale(), 1_000.0),
        turns: u64::from(calibration.turns()),
        error: calibration.error().map(|error| round(error, 1_000.0)),
    }
}

/// Returns the first stage that changed an earlier part of the prompt.
fn changed_by(stages: &[StageReport]) -> PromptChange {
    let by_stage = stages.iter().find_map(|stage| match stage.stage {
        // It only changes results that no prompt has shown.
        PromptStage::ToolResultBudget => None,
        PromptStage::Snip => Some(PromptChange::Snip),
        PromptStage::Microcompact => Some(PromptChange::Microcompact),
        PromptStage::Collapse => Some(PromptChange::Collapse),
        PromptStage::Compaction => Some(PromptChange::Compaction),
    });
    // Some parts of a message arrived after a prompt had shown the others.
    by_stage.unwrap_or(PromptChange::History)
}

fn notices(state: &SessionState) -> Vec<String> {
    let busy = state.todos.items.iter().filter(|t| t.status == TodoStatus::InProgress).count();
    let busy = (busy > 1).then(|| format!("{busy} todos are in progress at the same time"));
    let (reported, configured) = (state.thresholds.window, state.model.context_window);
    let smaller = (reported < configured).then(|| {
        format!("the provider accepts only {reported} tokens, but the context_window of the session's model is set to {configured}; lower this setting")
    });
    busy.into_iter().chain(smaller).collect()
}

fn repairs(repairs: &[Repair]) -> Vec<String> {
    let listed = repairs.iter().take(LISTED_REPAIRS).map(Repair::to_string);
    let more = repairs.len().saturating_sub(LISTED_REPAIRS);
    listed.chain((more > 0).then(|| format!("and {more} more"))).collect()
}

pub fn empty_report(state: &SessionState, cache: api::CacheReport) -> api::ContextReport {
    api::ContextReport {
        thresholds: state.thresholds,
        remaining: state.thresholds.auto,
        level: fill_level(&state.thresholds, 0),
        cache,
        tokens_from: api::TokenSource::Estimate,
        ..api::ContextReport::default()
    }
}

fn round(value: f64, steps: f64) -> f64 {
    (value * steps).round() / steps
}
