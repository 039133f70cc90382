//! The context window as a bar with its thresholds, a legend and facts.

use anstyle::AnsiColor;
use bethink_api::{ContextReport, PartTokens, Thresholds};
use bethink_terminal::words::{count, percent};
use bethink_terminal::{StyledText, TerminalLook, Tone};
use jiff::Timestamp;

use super::facts::{FACT_INDENT, facts};

/// Minimum width, in columns, at which the legend and the facts are shown side by side.
const WIDE: usize = 120;
/// Number of empty columns on each side.
const MARGIN: usize = 1;
/// Maximum number of rows with threshold labels. The facts show the thresholds in any case.
const LABEL_ROWS: usize = 3;

/// A part of the prompt. The mark is for output without colour.
struct WindowPart {
    name: &'static str,
    mark: char,
    colour: AnsiColor,
    tokens: u64,
}

const PARTS: usize = 8;

/// Returns the parts of the prompt, and the tokens that only the provider counted: bethink does not see the system
/// prompt and tools that a client adds itself.
fn parts(report: &ContextReport) -> [WindowPart; PARTS] {
    let tokens = &report.parts;
    let other = report.tokens.saturating_sub(known(tokens));
    let part = |name, mark, colour, tokens| WindowPart { name, mark, colour, tokens };
    [
        part("added by client", '?', AnsiColor::BrightBlack, other),
        part("system", 's', AnsiColor::Blue, tokens.system),
        part("instructions", 'i', AnsiColor::Magenta, tokens.instructions),
        part("memory", 'm', AnsiColor::Cyan, tokens.memory),
        part("tools", 'o', AnsiColor::BrightBlue, tokens.tools),
        part("summary", '=', AnsiColor::Yellow, tokens.summary),
        part("tail", '#', AnsiColor::Green, tokens.tail),
        part("attachments", '+', AnsiColor::BrightMagenta, tokens.attachments),
    ]
}

fn known(tokens: &PartTokens) -> u64 {
    let PartTokens { system, instructions, memory, tools, summary, tail, attachments } = tokens;
    [system, instructions, memory, tools, summary, tail, attachments].into_iter().sum()
}

pub fn picture(report: &ContextReport, look: TerminalLook, now: Timestamp) -> Vec<StyledText> {
    let width = look.width - 2 * MARGIN;
    let mut lines = vec![bar(report, width, look.colour)];
    lines.extend(labels(&report.thresholds, width));
    lines = lines.into_iter().map(indented).collect();
    lines.push(StyledText::new());
    let (legend, facts) = (legend(report, look.colour), facts(report, now));
    let wrapped = |room| {
        let facts = facts.into_iter().map(StyledText::on_one_line);
        facts.flat_map(|fact| fact.wrapped(room, FACT_INDENT)).collect::<Vec<_>>()
    };
    match look.width >= WIDE {
        true => {
            let column = column_of_facts(&legend, look.width);
            lines.extend(side_by_side(legend, wrapped(look.width - column), column));
        }
        false => {
            lines.extend(legend);
            lines.push(StyledText::new());
            lines.extend(wrapped(look.width));
        }
    }
    lines.into_iter().map(|line| line.fitted(look.width)).collect()
}

/// Draws the window as a bar of `width` columns. Every part with tokens has at least one column.
pub fn bar(report: &ContextReport, width: usize, colour: bool) -> StyledText {
    let parts = parts(report);
    let window = report.thresholds.window.max(1);
    let cells = shares(&parts.each_ref().map(|part| part.tokens), window, width);
    let mut marks: Vec<(Tone, char)> = Vec::with_capacity(width);
    for (part, cells) in parts.iter().zip(cells) {
        let mark = if colour { '█' } else { part.mark };
        marks.extend(std::iter::repeat_n((Tone::Part(part.colour), mark), cells));
    }
    marks.resize(width, (Tone::Dim, if colour { '░' } else { '·' }));
    for (threshold, tone, _) in thresholds(&report.thresholds) {
        let at = column(threshold, window, width);
        if let Some(cell) = marks.get_mut(at) {
            *cell = (tone, '│');
        }
    }
    StyledText::of_chars(&marks)
}

fn thresholds(t: &Thresholds) -> [(u64, Tone, &'static str); 3] {
    [
        (t.warning, Tone::Warn, "warning"),
        (t.auto, Tone::Accent, "auto"),
        (t.blocking, Tone::Bad, "blocking"),
    ]
}

fn column(tokens: u64, window: u64, width: usize) -> usize {
    let at = u128::from(tokens) * width as u128 / u128::from(window.max(1));
    usize::try_from(at).unwrap_or(width).min(width.saturating_sub(1))
}

/// Returns the number of columns of each part: its share of the width, rounded so that the sum is right, and at least
/// one if the part has tokens.
fn shares(tokens: &[u64; PARTS], window: u64, width: usize) -> [usize; PARTS] {
    let (mut sum, mut start, mut cells) = (0u64, 0usize, [0usize; PARTS]);
    for (i, &part) in tokens.iter().enumerate() {
        sum = sum.saturating_add(part);
        let exact = (u128::from(sum) * width as u128 + u128::from(window) / 2) / u128::from(window);
        let end = usize::try_from(exact).unwrap_or(width).min(width);
        let least = usize::from(part > 0);
        let taken = end.saturating_sub(start).max(least).min(width - start);
        cells[i] = taken;
        start += taken;
    }
    cells
}

/// Returns rows with the names of the thresholds, each below its mark.
fn labels(t: &Thresholds, width: usize) -> Vec<StyledText> {
    let mut rows: Vec<StyledText> = Vec::new();
    for (threshold, tone, name) in thresholds(t) {
        let at = column(threshold, t.window, width);
        let label = format!("▲ {name}");
        let long = label.chars().count();
        let (start, label) = match at + long <= width {
            true => (at, label),
            false => ((at + 1).saturating_sub(long), format!("{name} ▲")),
        };
        let free =
            rows.iter().position(|row| row.width() < start || (row.width() == 0 && start == 0));
        let row = free.unwrap_or(rows.len());
        if row == LABEL_ROWS {
            continue;
        }
        if row == rows.len() {
            rows.push(StyledText::new());
        }
        if let Some(line) = rows.get_mut(row) {
            *line = std::mem::take(line).padded(start).put(tone, label);
        }
    }
    rows
}

fn indented(line: StyledText) -> StyledText {
    StyledText::from(" ".repeat(MARGIN)).then(line)
}

fn legend(report: &ContextReport, colour: bool) -> Vec<StyledText> {
    let window = report.thresholds.window;
    let row = |tone, mark: char, name: &str, tokens: u64| {
        StyledText::from("  ").put(tone, mark.to_string()).plain(format!(
            " {name:<14}{:>11}{:>8}",
            count(tokens),
            percent(tokens, window)
        ))
    };
    let parts = parts(report);
    let shown = parts.iter().filter(|part| part.tokens > 0);
    let mut lines: Vec<StyledText> = shown
        .map(|part| {
            let mark = if colour { '■' } else { part.mark };
            row(Tone::Part(part.colour), mark, part.name, part.tokens)
        })
        .collect();
    let free = window.saturating_sub(report.tokens);
    lines.push(row(Tone::Dim, if colour { '░' } else { '·' }, "free", free));
    let total = format!("    {:<14}{:>11}", "prompt", count(report.tokens));
    lines.push(StyledText::new().strong(total).dim(format!(
        "{:>8} of {}",
        percent(report.tokens, window),
        count(window)
    )));
    lines
}

fn column_of_facts(legend: &[StyledText], width: usize) -> usize {
    legend.iter().map(StyledText::width).max().unwrap_or(0).max(width / 3) + 2
}

fn side_by_side(left: Vec<StyledText>, right: Vec<StyledText>, column: usize) -> Vec<StyledText> {
    let rows = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    (0..rows)
        .map(|_| {
            let (left, right) = (left.next().unwrap_or_default(), right.next().unwrap_or_default());
            if right.is_empty() { left } else { left.padded(column).then(right) }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use bethink_api::{CacheReport, StageReport, TokenEstimate};

    use super::*;
    use bethink_terminal::LineMode;

    fn report() -> ContextReport {
        let parts = PartTokens { system: 1, summary: 2_400, tail: 12_000, ..PartTokens::default() };
        ContextReport {
            tokens: 14_401,
            parts,
            thresholds: Thresholds {
                window: 24_000,
                effective: 20_000,
                warning: 11_000,
                auto: 14_500,
                blocking: 18_000,
            },
            remaining: 99,
            percent: 72.0,
            messages: 41,
            level: bethink_api::FillLevel::Warning,
            stages: vec![StageReport {
                stage: bethink_api::PromptStage::ToolResultBudget,
                tokens_before: 9_000,
                tokens_after: 8_000,
                touched: vec!["toolu_1".into()],
                why: "over 50,000 characters".into(),
            }],
            first_changed: None,
            changed_by: None,
            first_edited: None,
            predicted_cache_hit: 0.987,
            cache: CacheReport::default(),
            tokens_from: bethink_api::TokenSource::Estimate,
            estimate: TokenEstimate::default(),
            repairs: vec![],
            last_compaction: None,
            compacted: None,
            notices: vec!["hostile \x1b[2J".into()],
        }
    }

    fn drawn(width: usize, colour: bool) -> Vec<String> {
        let look = TerminalLook { colour, ..TerminalLook::plain(width) };
        let lines = picture(&report(), look, Timestamp::UNIX_EPOCH);
        lines.iter().map(|line| line.render(LineMode::One, false)).collect()
    }

    #[test]
    fn lines_fit_every_width() {
        for width in 40..=160 {
            for colour in [false, true] {
                for line in drawn(width, colour) {
                    assert!(bethink_terminal::columns(&line) <= width, "{width}: {line}");
                }
            }
        }
    }

    #[test]
    fn sentences_are_wrapped_not_cut() {
        let notice = "the last compaction kept little: 1 earlier attempt was rejected, and the fidelity is low";
        let report = ContextReport { notices: vec![notice.to_owned()], ..report() };
        for width in [60, 80, 160] {
            let lines = picture(&report, TerminalLook::plain(width), Timestamp::UNIX_EPOCH);
            let lines = lines.iter().map(|line| line.render(LineMode::One, false));
            let text = lines.collect::<Vec<_>>().join(" ");
            let words: Vec<_> = text.split_whitespace().collect();
            assert!(words.join(" ").contains(notice) || width == 160, "{width}: {text}");
            assert!(text.contains("blocking at 18,000") || width == 60, "{width}: {text}");
            assert!(!text.contains('…'), "{width}: {text}");
        }
    }

    #[test]
    fn the_bar_shows_parts_and_thresholds() {
        let lines = drawn(80, false);
        let bar: Vec<char> = lines[0].chars().collect();
        assert_eq!(bar.len(), 79);
        // Even one token of the system prompt has a column.
        assert_eq!(bar[1], 's');
        for (threshold, name) in [(11_000, "warning"), (14_500, "auto"), (18_000, "blocking")] {
            let at = 1 + column(threshold, 24_000, 78);
            assert_eq!(bar[at], '│', "{name}");
            let label = format!("▲ {name}");
            let under = lines[1..4].iter().any(|line| {
                line.find(&label).is_some_and(|found| line[..found].chars().count() == at)
            });
            assert!(under, "{name} at {at}:\n{}", lines[..4].join("\n"));
        }
        let marks = |mark| bar.iter().filter(|&&c| c == mark).count();
        assert_eq!((marks('='), marks('·')), (7, 78 - 47 - 2));
    }

    #[test]
    fn the_source_of_the_count_is_shown() {
        let told = |estimate: TokenEstimate| {
            let report = ContextReport { estimate, ..report() };
            let lines = facts(&report, Timestamp::UNIX_EPOCH);
            let lines = lines.iter().map(|line| line.render(LineMode::One, false));
            lines.filter(|line| line.contains("tokens  ")).collect::<String>()
        };
        let estimate =
            |reported, turns, error| TokenEstimate { reported, scale: 0.98, turns, error };
        for (estimate, expect) in [
            (estimate(0, 0, None), "14,401, estimated"),
            (estimate(0, 1, Some(0.04)), "14,401, estimated ±4% per turn"),
            (estimate(14_000, 0, None), "14,401, 14,000 reported; rest estimated"),
            (estimate(14_000, 54, Some(0.04)), "14,401, 14,000 reported; rest ±4% per turn"),
        ] {
            assert_eq!(told(estimate), format!("  tokens      {expect}"));
        }
    }

    #[test]
    fn parts_never_overflow_the_bar() {
        assert_eq!(
            shares(&[0, u64::MAX, 1, 1, 1, 1, 1, u64::MAX], 10, 20).iter().sum::<usize>(),
            20
        );
        assert_eq!(shares(&[0; PARTS], 10, 20), [0; PARTS]);
        assert_eq!(shares(&[1, 1, 1, 0, 0, 0, 0, 0], 1_000_000, 20), [1, 1, 1, 0, 0, 0, 0, 0]);
    }
}
