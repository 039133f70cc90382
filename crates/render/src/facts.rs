//! Facts about a context window: level, room left, cache, stages, notices.

use bethink_api::{
    CacheFall, CompactionLevel, ContextReport, FillLevel, LastCompaction, PromptChange, StageReport,
};
use bethink_terminal::words::{ago, count, plural};
use bethink_terminal::{StyledText, Tone};
use jiff::Timestamp;

/// Number of columns before a fact's text: two for the margin and twelve for its name.
pub(crate) const FACT_INDENT: usize = 14;

/// Returns one line per fact, with its name on the left.
pub fn facts(report: &ContextReport, now: Timestamp) -> Vec<StyledText> {
    let fact = |name: &str| StyledText::from("  ").dim(format!("{name:<12}"));
    let t = &report.thresholds;
    let (tone, name) = level(report.level);
    let due = match report.remaining {
        0 => "due now".to_owned(),
        left => format!("in {} tokens", count(left)),
    };
    let (auto, warning, blocking) = (count(t.auto), count(t.warning), count(t.blocking));
    let at = format!(", at {auto}; warning at {warning}, blocking at {blocking}");
    let mut lines = vec![
        fact("level").put(tone, name),
        fact("compaction").plain(due).dim(at),
        cache(fact("cache"), report),
    ];
    let last = report.cache.last.iter();
    lines.extend(last.map(|last| fall(fact(""), report.cache.breaks, last, now)));
    lines.extend([fact("messages").plain(count(report.messages)), tokens(fact("tokens"), report)]);
    if let Some(last) = &report.last_compaction {
        lines.push(fact("compacted").plain(ago(&last.at, now)).dim(level_and_fidelity(last)));
        lines.extend(last.warning.iter().map(|w| fact("").put(Tone::Warn, w.clone())));
    }
    let stages = report.stages.iter().filter(|stage| did_something(stage));
    lines.extend(
        stages.map(|stage| fact("stage").plain(stage.stage.to_string()).dim(change(stage))),
    );
    lines.extend(report.repairs.iter().map(|repair| fact("repaired").plain(repair.clone())));
    lines
        .extend(report.notices.iter().map(|notice| fact("notice").put(Tone::Warn, notice.clone())));
    lines
}

fn cache(fact: StyledText, report: &ContextReport) -> StyledText {
    let share = format!("{:.1}%", report.predicted_cache_hit * 100.0);
    let Some(at) = report.first_changed else {
        return match report.predicted_cache_hit == 0.0 {
            true => fact.dim("bethink has not built a prompt for this session yet"),
            false => fact.plain(share).dim(" of the prompt is the same as last time"),
        };
    };
    let why = report.changed_by.map(|by| format!(": {}", reason(by))).unwrap_or_default();
    fact.plain(share).dim(format!(
        " of the prompt is the same as last time; changes begin at message {} of the prompt{why}",
        at + 1
    ))
}

/// Describes the last cache miss, according to the provider's figures.
fn fall(fact: StyledText, breaks: u64, last: &CacheFall, now: Timestamp) -> StyledText {
    let tone = if last.expected { Tone::Dim } else { Tone::Warn };
    let expected = if last.expected { ", expected" } else { "" };
    let told = format!(
        "last miss {}{expected}: only {} of {} cached tokens were read; {}",
        ago(&last.at, now),
        count(last.read_now),
        count(last.read_before),
        reason(last.cause)
    );
    fact.put(tone, told)
        .dim(format!(" ({})", plural(breaks, "unexpected miss", "unexpected misses")))
}

pub(crate) fn reason(change: PromptChange) -> &'static str {
    match change {
        PromptChange::System => "the system prompt changed",
        PromptChange::Tools => "the tools changed",
        PromptChange::Model => "the model changed",
        PromptChange::Compaction => "a compaction was made or undone",
        PromptChange::Collapse => "old messages were collapsed",
        PromptChange::Microcompact => "old tool results were cleared",
        PromptChange::Snip => "superseded tool results were left out",
        PromptChange::History => "parts of an earlier message arrived late",
        PromptChange::Idle => "the session was idle for longer than the cache lasts",
        PromptChange::Unknown => "the cause is unknown",
    }
}

/// Describes where the token count comes from, and the error of its estimated part.
fn tokens(fact: StyledText, report: &ContextReport) -> StyledText {
    let estimate = &report.estimate;
    let fact = fact.plain(count(report.tokens)).dim(match estimate.reported {
        0 => ", estimated".to_owned(),
        reported => format!(", {} reported; rest", count(reported)),
    });
    match estimate.error {
        Some(error) => fact.dim(format!(" ±{:.0}% per turn", error * 100.0)),
        None if estimate.reported > 0 => fact.dim(" estimated"),
        None => fact,
    }
}

fn did_something(stage: &StageReport) -> bool {
    stage.tokens_before != stage.tokens_after || !stage.touched.is_empty()
}

fn change(stage: &StageReport) -> String {
    let touched = plural(stage.touched.len() as u64, "item", "items");
    let tokens = match stage.tokens_before.checked_sub(stage.tokens_after) {
        Some(0) => String::new(),
        Some(saved) => format!("−{} tokens, ", count(saved)),
        None => format!("+{} tokens, ", count(stage.tokens_after - stage.tokens_before)),
    };
    format!(" {tokens}{touched}: {}", stage.why)
}

pub fn level(level: FillLevel) -> (Tone, String) {
    let tone = match level {
        FillLevel::Comfortable => Tone::Good,
        FillLevel::Degrading | FillLevel::Warning => Tone::Warn,
        FillLevel::Auto | FillLevel::Blocking => Tone::Bad,
    };
    (tone, level.to_string())
}

/// Describes the level and the fidelity of a compaction. A compaction by the agent itself has no fidelity.
fn level_and_fidelity(last: &LastCompaction) -> String {
    match last.level {
        CompactionLevel::Recorded => ", by the agent itself".to_owned(),
        level => format!(", {}, fidelity {:.2}", made(&level.to_string()), last.fidelity),
    }
}

/// Describes how a summary was written, given the name of its level.
pub(crate) fn made(level: &str) -> &str {
    match level {
        "session_memory" => "summarized from the notes",
        "full" => "summarized by a model",
        "embedded" => "summarized without a model",
        other => other,
    }
}
