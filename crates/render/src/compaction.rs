//! A compaction: sizes before and after, what was kept, restored and summarized, and its fidelity.

use bethink_api::Compaction;
use bethink_terminal::words::{count, percent, plural};
use bethink_terminal::{StyledText, TerminalLook, Tone, hanging};

/// Width of the column with the rows' names.
const NAMES: usize = 12;
/// Maximum number of lost names and restored items that are listed.
const NAMED: usize = 5;

/// Returns the lines that describe a compaction. `window` is the scale of the two bars; `newest` is the number of the
/// session's last message, if it is known.
pub fn panel(
    compaction: &Compaction,
    window: u64,
    newest: Option<u64>,
    look: TerminalLook,
) -> Vec<StyledText> {
    let c = compaction;
    let mut lines = vec![
        size("before", c.tokens_before, window, look, Tone::Warn),
        size("after", c.tokens_after, window, look, Tone::Good).dim(format!(
            "  −{}",
            percent(c.tokens_before.saturating_sub(c.tokens_after), c.tokens_before)
        )),
        name("summarized").plain(format!(
            "messages {}–{} in {} tokens",
            count(c.covers.first_seq),
            count(c.covers.last_seq),
            count(c.summary_tokens)
        )),
        name("kept").plain(match newest {
            Some(newest) if newest < c.kept_from_seq => "no messages, only the summary".to_owned(),
            _ => format!("all messages from {} on, unchanged", count(c.kept_from_seq)),
        }),
        restored(c),
        fidelity(c),
    ];
    lines.extend(lost(c));
    lines.extend(proved(c));
    lines.extend(c.warning.iter().map(|said| name("warning").put(Tone::Warn, said.clone())));
    // An attempt at the final level is not shown: it only tried other sizes.
    let own = format!("{}: ", c.level);
    let others = c.attempts.iter().filter(|reason| !reason.starts_with(&own));
    // A reason says what to do, so it is not cut off.
    lines.extend(
        others
            .take(NAMED)
            .flat_map(|reason| hanging(&name("not used"), Tone::Dim, reason, look.width)),
    );
    if c.undone_at.is_some() {
        lines.push(
            name("undone").plain("the prompt shows the messages again instead of the summary"),
        );
    }
    lines.into_iter().map(|line| line.fitted(look.width)).collect()
}

fn name(name: &str) -> StyledText {
    StyledText::from("  ").dim(format!("{name:<NAMES$}"))
}

fn size(label: &str, tokens: u64, window: u64, look: TerminalLook, tone: Tone) -> StyledText {
    let room = look.width.saturating_sub(NAMES + 22).clamp(10, 60) as u64;
    let cells = (tokens.saturating_mul(room) / window.max(1)).clamp(1, room);
    let block = if look.colour { "█" } else { "#" };
    let bar = block.repeat(usize::try_from(cells).unwrap_or(1));
    name(label).plain(format!("{:>9} ", count(tokens))).put(tone, bar)
}

fn restored(c: &Compaction) -> StyledText {
    if c.restored.is_empty() {
        return name("restored").dim("nothing");
    }
    let shown = c.restored.iter().take(NAMED).map(|item| {
        let size = match (item.truncated, item.tokens) {
            (true, 0) => "name only".to_owned(),
            (true, tokens) => format!("{}, shortened", count(tokens)),
            (false, tokens) => count(tokens),
        };
        format!("{} {} ({size})", item.kind, item.name)
    });
    let mut list = shown.collect::<Vec<_>>().join(", ");
    if c.restored.len() > NAMED {
        list.push_str(&format!(" and {} more", c.restored.len() - NAMED));
    }
    name("restored").plain(list)
}

fn fidelity(c: &Compaction) -> StyledText {
    let tone = fidelity_tone(c.fidelity);
    let detail = &c.fidelity_detail;
    let told = match detail.names {
        0 => ", no names were in use".to_owned(),
        names => format!(
            ", kept {} of the {} names in use (files, errors, …)",
            count(detail.kept),
            count(names)
        ),
    };
    name("fidelity").put(tone, format!("{:.2}", c.fidelity)).dim(told)
}

/// Lists the first few names that were in use but that the prompt no longer contains.
fn lost(c: &Compaction) -> Option<StyledText> {
    let lost = named("", &c.fidelity_detail.lost);
    (!lost.is_empty()).then(|| name("lost").dim(lost))
}

pub fn fidelity_tone(fidelity: f64) -> Tone {
    match fidelity {
        f if f >= 0.95 => Tone::Good,
        f if f >= 0.8 => Tone::Warn,
        _ => Tone::Bad,
    }
}

/// Describes how many of the names that were used later were still in the prompt.
fn proved(c: &Compaction) -> Option<StyledText> {
    let hindsight = c.fidelity_detail.hindsight.as_ref()?;
    let lost = named("; lost ", &hindsight.lost);
    let told = format!(
        "{} names were used later; the prompt had {} of them{lost}",
        count(hindsight.names),
        count(hindsight.kept)
    );
    Some(name("used later").plain(told))
}

/// Returns `word` followed by the first lost names, or an empty string if none were lost.
fn named(word: &str, lost: &[String]) -> String {
    match lost.get(..NAMED).unwrap_or(lost) {
        [] => String::new(),
        lost => format!("{word}{}", lost.join(", ")),
    }
}

/// Returns the first lines of the summary, without blank lines and the template's hints.
pub fn summary(compaction: &Compaction, lines: usize, look: TerminalLook) -> Vec<StyledText> {
    let hint = |line: &str| line.starts_with('_') && line.ends_with('_');
    let said = compaction.summary.lines().map(str::trim_end);
    let said = said.filter(|line| !line.trim().is_empty() && !hint(line));
    let all = said.clone().count();
    let line = |line| StyledText::new().dim("  │ ").plain(line).fitted(look.width);
    let mut out: Vec<StyledText> = said.take(lines).map(line).collect();
    if all > lines {
        let more = plural((all - lines) as u64, "line", "lines");
        out.push(StyledText::new().dim(format!("  │ … and {more}")));
    }
    out
}

#[cfg(test)]
mod tests {
    use bethink_api::{
        CompactionLevel, CompactionTrigger, Covers, FidelityDetail, Hindsight, RestoredItem,
        RestoredKind,
    };
    use uuid::Uuid;

    use super::*;
    use bethink_terminal::LineMode;

    fn compaction() -> Compaction {
        Compaction {
            id: Uuid::nil(),
            trigger: CompactionTrigger::Auto,
            level: CompactionLevel::Embedded,
            covers: Covers { first_seq: 1, last_seq: 92 },
            kept_from_seq: 93,
            tokens_before: 16_904,
            tokens_after: 7_210,
            summary: "# One\n_what it is about_\n\ntwo\n\nthree\n".into(),
            summary_tokens: 2_400,
            fidelity: 0.97,
            fidelity_detail: FidelityDetail {
                names: 145,
                kept: 141,
                lost: vec!["a_b".into()],
                hindsight: Some(Hindsight {
                    score: 0.9,
                    names: 10,
                    kept: 9,
                    lost: vec!["c_d".into()],
                }),
            },
            warning: Some("fidelity fell".into()),
            attempts: vec![],
            restored: vec![RestoredItem {
                kind: RestoredKind::File,
                name: "src/a.rs".into(),
                tokens: 1_203,
                truncated: false,
            }],
            created_at: String::new(),
            undone_at: None,
        }
    }

    #[test]
    fn a_panel_shows_no_message_or_attempt_that_does_not_exist() {
        let attempts = vec!["embedded: only 0 tokens".into(), "full: no model".into()];
        let one = Compaction { attempts, ..compaction() };
        let lines = panel(&one, 24_000, Some(92), TerminalLook::plain(80));
        let text: String =
            lines.iter().map(|line| line.render(LineMode::One, false) + "\n").collect();
        assert!(text.contains("kept        no messages, only the summary\n"), "{text}");
        assert!(text.contains("not used    full: no model\n"), "{text}");
        let reason = "full: auth: no API key: set the environment variable that the setting names";
        let one = Compaction { attempts: vec![reason.into()], ..compaction() };
        let lines = panel(&one, 24_000, Some(92), TerminalLook::plain(40));
        let text: String =
            lines.iter().map(|line| line.render(LineMode::One, false) + " ").collect();
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(reason), "{words}");
        assert!(!text.contains("only 0 tokens"), "{text}");
    }

    #[test]
    fn a_panel_shows_all_parts() {
        let look = TerminalLook::plain(80);
        let lines: Vec<String> = panel(&compaction(), 24_000, None, look)
            .into_iter()
            .chain(summary(&compaction(), 2, look))
            .map(|line| line.render(LineMode::One, false))
            .collect();
        let expect = "  before         16,904 ################################
  after           7,210 #############  −57.3%
  summarized  messages 1–92 in 2,400 tokens
  kept        all messages from 93 on, unchanged
  restored    file src/a.rs (1,203)
  fidelity    0.97, kept 141 of the 145 names in use (files, errors, …)
  lost        a_b
  used later  10 names were used later; the prompt had 9 of them; lost c_d
  warning     fidelity fell
  │ # One
  │ two
  │ … and 1 line";
        assert_eq!(lines.join("\n"), expect);
    }
}
