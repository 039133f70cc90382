//! What is said of a prompt: tokens by part, thresholds, stages, what of the last prompt still holds.

use bethink_api as api;
use bethink_context::todos::Status;
use bethink_context::{Decisions, Measure, Shape, StageReport};
use bethink_transcript::ValidPrompt;
use bethink_transcript::arrange::Repair;

use crate::clock::rfc3339;
use crate::frame::Frame;
use crate::hot::HotSession;

/// Repairs told one by one; more are counted.
const TOLD_REPAIRS: usize = 20;

/// A prompt and all that its report is made from.
pub(crate) struct Facing<'a> {
    pub(crate) hot: &'a HotSession,
    pub(crate) decisions: &'a Decisions,
    pub(crate) frame: &'a Frame,
    pub(crate) stages: &'a [StageReport],
    pub(crate) prompt: &'a ValidPrompt,
    pub(crate) shape: &'a Shape,
    pub(crate) size: Measure,
    pub(crate) summary: u64,
    pub(crate) attachments: u64,
    /// Of these the ones about memory.
    pub(crate) memory: u64,
    /// Tokens at which a compaction is due.
    pub(crate) compacts_at: u64,
    pub(crate) first_edited: Option<usize>,
    pub(crate) repairs: Vec<String>,
}

pub(crate) fn write(facing: Facing<'_>) -> api::ContextReport {
    let Facing { hot, frame, prompt, size, .. } = facing;
    let thresholds = hot.thresholds;
    let messages = prompt.tokens();
    let parting = hot.shape.as_ref().map(|before| facing.shape.parting(before));
    let cached = parting.map_or(0, |p| {
        let fixed = if p.system_changed || p.tools_changed { 0 } else { frame.tokens() };
        p.stable_tokens + fixed
    });
    let estimated = (messages + frame.tokens()).max(1);
    // The parts in the unit of the whole.
    let counted = |tokens| size.calibration.apply(tokens);
    let mut report = api::ContextReport {
        tokens: size.tokens,
        parts: api::PartTokens {
            system: counted(frame.system_tokens),
            instructions: counted(frame.instruction_tokens),
            memory: counted(frame.memory_tokens + facing.memory),
            tools: counted(frame.tool_tokens),
            summary: counted(facing.summary),
            attachments: counted(facing.attachments.saturating_sub(facing.memory)),
            tail: counted(messages.saturating_sub(facing.summary + facing.attachments)),
        },
        thresholds: thresholds_out(hot),
        remaining: facing.compacts_at.saturating_sub(size.tokens),
        percent: round(size.tokens as f64 * 100.0 / thresholds.effective as f64, 10.0),
        messages: prompt.messages().len() as u64,
        level: thresholds.level(size.tokens).as_str().to_owned(),
        stages: stages_out(facing.stages),
        first_changed: parting.and_then(|p| p.first_changed).map(|at| at as u64),
        changed_by: None,
        first_edited: facing.first_edited.map(|at| at as u64),
        predicted_cache_hit: round((cached as f64 / estimated as f64).min(1.0), 10_000.0),
        cache: hot.cache.report(),
        tokens_from: size.source.as_str().to_owned(),
        estimate: estimate_out(&size),
        repairs: facing.repairs,
        last_compaction: last_compaction(hot),
        compacted: None,
        notices: notices(hot),
    };
    report.changed_by = parting.and_then(|p| {
        if p.system_changed {
            Some("system".to_owned())
        } else if p.tools_changed {
            Some("tools".to_owned())
        } else {
            p.first_changed.map(|_| changed_by(&report.stages, hot, facing.decisions))
        }
    });
    report
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

fn changed_by(stages: &[api::StageReport], hot: &HotSession, decisions: &Decisions) -> String {
    let boundary = decisions.boundary.as_ref().map(|b| b.id.as_str());
    let compacted =
        hot.last_compaction.as_ref().is_some_and(|c| Some(c.id.to_string().as_str()) == boundary);
    match stages.iter().find(|s| s.stage != "tool_result_budget") {
        Some(stage) => stage.stage.clone(),
        None if compacted && hot.decisions.boundary != decisions.boundary => {
            "compaction".to_owned()
        }
        // Parts of one message that arrived after a prompt had shown the others.
        None => "history".to_owned(),
    }
}

pub(crate) fn stages_out(stages: &[StageReport]) -> Vec<api::StageReport> {
    stages
        .iter()
        .map(|s| api::StageReport {
            stage: s.stage.to_owned(),
            tokens_before: s.tokens_before,
            tokens_after: s.tokens_after,
            touched: s.touched.clone(),
            why: s.why.clone(),
        })
        .collect()
}

pub(crate) fn compaction_stage(before: u64, hot: &HotSession, done: bool) -> StageReport {
    let last = hot.last_compaction.as_ref().filter(|_| done);
    StageReport {
        stage: "compaction",
        tokens_before: before,
        tokens_after: last.map_or(before, |c| c.tokens_after),
        touched: last
            .map(|c| format!("messages {} to {}", c.first_seq, c.last_seq))
            .into_iter()
            .collect(),
        why: format!("the prompt reached {} tokens", hot.thresholds.auto),
    }
}

fn thresholds_out(hot: &HotSession) -> api::Thresholds {
    let t = hot.thresholds;
    api::Thresholds {
        window: t.window,
        effective: t.effective,
        warning: t.warning,
        auto: t.auto,
        blocking: t.blocking,
    }
}

fn last_compaction(hot: &HotSession) -> Option<api::LastCompaction> {
    hot.last_compaction.as_ref().map(|c| api::LastCompaction {
        id: c.id.to_string(),
        level: c.level.clone(),
        fidelity: c.fidelity,
        warning: crate::compactions::detail_of(c).warning,
        at: rfc3339(c.created_at),
    })
}

fn notices(hot: &HotSession) -> Vec<String> {
    let busy = hot.todos.list.iter().filter(|t| t.status == Status::InProgress).count();
    let busy = (busy > 1).then(|| format!("{busy} todos are in progress at once"));
    let (told, believed) = (hot.thresholds.window, hot.model.context_window);
    let smaller = (told < believed).then(|| {
        format!("the provider takes {told} tokens, not the {believed} of the session's model; set its context_window")
    });
    busy.into_iter().chain(smaller).collect()
}

pub(crate) fn repairs(repairs: &[Repair]) -> Vec<String> {
    let mut told: Vec<String> = repairs.iter().take(TOLD_REPAIRS).map(repair).collect();
    if repairs.len() > TOLD_REPAIRS {
        told.push(format!("and {} more", repairs.len() - TOLD_REPAIRS));
    }
    told
}

fn repair(repair: &Repair) -> String {
    match repair {
        Repair::ResultSynthesised { tool_use_id, seq } => {
            format!(
                "call {tool_use_id} in message {seq} has no result; an error result stands for it"
            )
        }
        Repair::OrphanResultDropped { tool_use_id, seq } => {
            format!("result of {tool_use_id} in message {seq} left out: its call is not in view")
        }
        Repair::DuplicateResultDropped { tool_use_id, seq } => {
            format!("second result of {tool_use_id} in message {seq} left out")
        }
        Repair::DuplicateCallDropped { tool_use_id, seq } => {
            format!("call in message {seq} left out: its id {tool_use_id} was used before")
        }
        Repair::LateResultMoved { tool_use_id, seq } => {
            format!("late result of {tool_use_id} in message {seq} moved up to its call")
        }
        Repair::MisplacedBlockDropped { seq } => {
            format!("block in message {seq} left out: its role may not have it")
        }
        Repair::EmptyTextDropped { seq } => format!("empty text in message {seq} left out"),
        Repair::HeadAdded { seq } => {
            format!(
                "the view begins with the assistant's message {seq}; a user message was put before it"
            )
        }
        Repair::MediaDropped { count } => {
            format!("{count} images or documents left out, oldest first")
        }
    }
}

/// The report of a session without messages.
pub(crate) fn empty(hot: &HotSession) -> api::ContextReport {
    api::ContextReport {
        tokens: 0,
        parts: api::PartTokens::default(),
        thresholds: thresholds_out(hot),
        remaining: hot.thresholds.auto,
        percent: 0.0,
        messages: 0,
        level: hot.thresholds.level(0).as_str().to_owned(),
        stages: Vec::new(),
        first_changed: None,
        changed_by: None,
        first_edited: None,
        predicted_cache_hit: 0.0,
        cache: hot.cache.report(),
        tokens_from: "estimate".to_owned(),
        estimate: api::TokenEstimate::default(),
        repairs: Vec::new(),
        last_compaction: None,
        compacted: None,
        notices: Vec::new(),
    }
}

fn round(value: f64, steps: f64) -> f64 {
    (value * steps).round() / steps
}
