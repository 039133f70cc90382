//! The stage that commits staged spans, and writes more of them at once if the window is nearly full.

use bethink_api::{PromptStage, StageReport};
use bethink_transcript::{CollapseId, Seq};

use crate::collapse::{
    BLOCK_PERCENT, COMMIT_PERCENT, CollapseExtent, OpenSpan, UNTIL_PERCENT, WORTH_PERCENT, choose,
    spans_without_text,
};
use crate::decision::{Collapsed, Decision, Decisions};
use crate::history::History;
use crate::thresholds::Thresholds;

/// The size of a prompt in tokens: as counted by the provider, and as estimated.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    pub tokens: u64,
    pub estimated: u64,
}

impl Fill {
    /// Converts a counted number of tokens to an estimated one.
    pub fn estimate(&self, counted: u64) -> u64 {
        let wide = u128::from(counted) * u128::from(self.estimated.max(1))
            / u128::from(self.tokens.max(1));
        u64::try_from(wide).unwrap_or(u64::MAX)
    }
}

/// A span that has a text but is not collapsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedSpan {
    pub span: Collapsed,
    /// Number of tokens that its messages take up in the prompt if they are not collapsed.
    pub tokens_before: u64,
}

/// The staged spans of a session, and how to write more.
pub struct CollapsePolicy<'a> {
    pub staged: Vec<StagedSpan>,
    /// Writes a text for a span; `None` if it would not be shorter.
    pub write: &'a dyn Fn(OpenSpan) -> Option<StagedSpan>,
}

impl std::fmt::Debug for CollapsePolicy<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CollapsePolicy").field("staged", &self.staged.len()).finish_non_exhaustive()
    }
}

/// Spans to collapse from now on.
#[derive(Clone, Debug)]
pub struct CollapsePlan {
    /// All staged spans, including those that were just written.
    pub spans: Vec<StagedSpan>,
    pub chosen: Vec<CollapseId>,
    pub stage: StageReport,
    freed: u64,
}

impl CollapsePlan {
    pub fn is_chosen(&self, staged: &StagedSpan) -> bool {
        self.chosen.contains(&staged.span.id)
    }

    /// Returns the decisions that collapse the chosen spans; `last` is the newest message.
    pub fn records(&self, last: Seq) -> Vec<Decision> {
        let of = |id: &CollapseId| self.spans.iter().find(|staged| staged.span.id == *id);
        let chosen = self.chosen.iter().filter_map(of).map(|staged| staged.span.clone());
        chosen.map(|span| Decision::Collapsed(Collapsed { made_after: last, ..span })).collect()
    }
}

/// Plans the stage. Returns `None` if it is not due or would free too little.
pub fn plan_collapse(
    history: &History,
    decisions: &Decisions,
    thresholds: &Thresholds,
    fill: Fill,
    policy: &CollapsePolicy<'_>,
) -> Option<CollapsePlan> {
    let effective = thresholds.effective;
    let is_over = |tokens: u64, percent: u64| tokens * 100 >= effective * percent;
    if !is_over(fill.tokens, COMMIT_PERCENT) {
        return None;
    }
    let window = fill.estimate(effective);
    let wanted = fill.estimate(fill.tokens.saturating_sub(effective * UNTIL_PERCENT / 100));
    let mut spans = policy.staged.clone();
    let (_, freed) = choose(history, decisions, spans.iter().map(|s| &s.span), window, wanted);
    let enough = fill.estimate(fill.tokens * 100 - effective * COMMIT_PERCENT) / 100;
    if is_over(fill.tokens, BLOCK_PERCENT) && freed < enough {
        // There is no time to wait for the background job.
        let known: Vec<(Seq, Seq)> = spans.iter().map(|s| (s.span.first, s.span.last)).collect();
        let missing = spans_without_text(history, decisions, &known, window, CollapseExtent::Any);
        spans.extend(missing.into_iter().filter_map(|span| (policy.write)(span)));
    }
    let why = format!("the prompt reached {COMMIT_PERCENT}% of the effective window");
    plan_of(history, decisions, spans, window, wanted, why)
        .filter(|plan| plan.freed * 100 >= window * WORTH_PERCENT)
}

/// Plans to commit all staged spans that can be committed, because the provider rejected the prompt as too long; returns `None`
/// if there are none.
pub fn drain_collapses(
    history: &History,
    decisions: &Decisions,
    thresholds: &Thresholds,
    fill: Fill,
    staged: Vec<StagedSpan>,
) -> Option<CollapsePlan> {
    let window = fill.estimate(thresholds.effective);
    let why = "the provider rejected the prompt as too long".to_owned();
    plan_of(history, decisions, staged, window, u64::MAX, why)
}

fn plan_of(
    history: &History,
    decisions: &Decisions,
    spans: Vec<StagedSpan>,
    window: u64,
    wanted: u64,
    why: String,
) -> Option<CollapsePlan> {
    let offered = spans.iter().map(|staged| &staged.span);
    let (chosen, freed) = choose(history, decisions, offered, window, wanted);
    if chosen.is_empty() {
        return None;
    }
    let after: u64 = chosen.iter().map(|span| u64::from(span.tokens)).sum();
    let stage = StageReport {
        stage: PromptStage::Collapse,
        tokens_before: after + freed,
        tokens_after: after,
        touched: chosen.iter().map(|s| format!("messages {} to {}", s.first, s.last)).collect(),
        why,
    };
    let chosen = chosen.iter().map(|span| span.id).collect();
    Some(CollapsePlan { spans, chosen, stage, freed })
}
