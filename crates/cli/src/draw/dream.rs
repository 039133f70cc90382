//! What a dream found and did: its phases, its diff, its end.

use bethink_api::{DreamLeft, DreamResult};

use crate::screen::text::wrapped;
use crate::screen::words::plural;
use crate::screen::{Look, Text, Tone};

const PHASES: [&str; 4] = ["orient", "gather", "consolidate", "prune"];
/// Columns of the phases' names, and the space after them.
const MARGIN: usize = 13;
/// Lines of files that were dropped and are shown; `--json` has all.
const DROPPED: usize = 12;

/// Phase by phase: what is seen, what is done and why, what is left to a person.
pub(crate) fn phases(result: &DreamResult, look: Look) -> Vec<Text> {
    PHASES.iter().flat_map(|phase| self::phase(result, phase, look)).collect()
}

fn phase(result: &DreamResult, phase: &str, look: Look) -> Vec<Text> {
    let width = look.width - MARGIN;
    let mut lines = Vec::new();
    for step in result.steps.iter().filter(|step| step.phase == phase) {
        let said = wrapped(&format!("{}: {}", step.file, step.what), width);
        lines.extend(said.into_iter().map(|line| Text::new().plain(line)));
        let why = wrapped(&step.why, width - 2);
        lines.extend(why.into_iter().map(|line| Text::new().dim(format!("  {line}"))));
    }
    let tone = if phase == "orient" { Tone::Plain } else { Tone::Warn };
    for note in result.notes.iter().filter(|note| note.phase == phase) {
        lines
            .extend(wrapped(&note.text, width).into_iter().map(|line| Text::new().put(tone, line)));
    }
    if lines.is_empty() {
        lines.push(Text::new().dim("nothing to do"));
    }
    let name = |at: usize| Text::new().strong(if at == 0 { phase } else { "" }).padded(MARGIN);
    lines.into_iter().enumerate().map(|(at, line)| name(at).then(line)).collect()
}

/// A unified diff in the colours that people know from theirs.
pub(crate) fn diff(text: &str) -> Vec<Text> {
    text.lines().map(|line| Text::new().put(tone(line), line)).collect()
}

fn tone(line: &str) -> Tone {
    match line.as_bytes() {
        [b'-', b'-', b'-', b' ', ..] | [b'+', b'+', b'+', b' ', ..] => Tone::Strong,
        [b'@', b'@', ..] => Tone::Accent,
        [b'-', ..] => Tone::Bad,
        [b'+', ..] => Tone::Good,
        _ => Tone::Plain,
    }
}

/// What stands in no file any more, and why.
pub(crate) fn dropped(result: &DreamResult, look: Look) -> Vec<Text> {
    let mut lines: Vec<Text> = Vec::new();
    for dropped in result.dropped.iter().take(DROPPED) {
        let text = Text::new().put(Tone::Warn, "dropped ").plain(format!("{}: ", dropped.file));
        lines.push(text.plain(dropped.text.clone()).fitted(look.width));
        lines.push(Text::new().dim(format!("        {}", dropped.why)).fitted(look.width));
    }
    if let Some(more) = result.dropped.len().checked_sub(DROPPED).filter(|more| *more > 0) {
        lines.push(Text::new().dim(format!("        and {more} more; --json has all of them")));
    }
    lines
}

/// How it ended, in a sentence or two.
pub(crate) fn outcome(result: &DreamResult, look: Look) -> Vec<Text> {
    let mut lines: Vec<Text> =
        result.left_alone.iter().flat_map(|left| alone(left, look)).collect();
    let refused = result
        .refused
        .iter()
        .flat_map(|why| wrapped(&format!("the model's edit was left out: {why}"), look.width));
    lines.extend(refused.map(|line| Text::new().put(Tone::Warn, line)));
    let files = |n: usize| plural(n as u64, "file", "files");
    let end = match (result.applied.len(), result.diff.is_empty()) {
        (0, _) if result.undo => Text::new().put(Tone::Warn, "nothing was put back"),
        (n, _) if result.undo => {
            Text::new().put(Tone::Good, format!("{} as before the last dream", files(n)))
        }
        (_, true) => Text::new().put(Tone::Good, "the memory is in order; nothing to do"),
        (_, false) if result.dry_run => {
            Text::new().plain("nothing was changed").dim("; bethink dream does all this")
        }
        (0, false) => Text::new().put(Tone::Warn, "nothing was changed"),
        (n, false) => Text::new()
            .put(Tone::Good, format!("{} changed", files(n)))
            .dim("; bethink dream --undo puts them back"),
    };
    lines.push(end);
    lines
}

fn alone(left: &DreamLeft, look: Look) -> Vec<Text> {
    let said = wrapped(&format!("{} was left alone: {}", left.file, left.why), look.width);
    said.into_iter().map(|line| Text::new().put(Tone::Warn, line)).collect()
}

#[cfg(test)]
mod tests {
    use bethink_api::{DreamNote, DreamStep};

    use super::*;
    use crate::screen::escape::Lines;

    const LOOK: Look = Look { colour: false, width: 60, live: false, progress: false };

    fn shown(lines: &[Text]) -> String {
        lines.iter().map(|line| line.render(Lines::One, false) + "\n").collect()
    }

    fn result() -> DreamResult {
        DreamResult {
            steps: vec![DreamStep {
                phase: "consolidate".into(),
                file: "one.md".into(),
                what: "takes over two.md".into(),
                why: "both say the same".into(),
            }],
            notes: vec![DreamNote { phase: "orient".into(), text: "2 topics, 812 bytes".into() }],
            diff: "--- a/one.md\n+++ b/one.md\n@@ -1 +1 @@\n-old\n+new\n".into(),
            ..DreamResult::default()
        }
    }

    #[test]
    fn each_phase_is_told_also_without_a_step() {
        let expect = "orient       2 topics, 812 bytes\ngather       nothing to do\nconsolidate  one.md: takes over \
                      two.md\n               both say the same\nprune        nothing to do\n";
        assert_eq!(shown(&phases(&result(), LOOK)), expect);
    }

    #[test]
    fn the_end_says_what_became_of_it() {
        let look = DreamResult { dry_run: true, ..result() };
        assert!(shown(&outcome(&look, LOOK)).starts_with("nothing was changed; bethink dream"));
        let made = DreamResult { applied: vec!["one.md".into()], ..result() };
        assert!(shown(&outcome(&made, LOOK)).starts_with("1 file changed; bethink dream --undo"));
        let none = DreamResult::default();
        assert_eq!(shown(&outcome(&none, LOOK)), "the memory is in order; nothing to do\n");
        let left = DreamLeft { file: "one.md".into(), why: "it was edited".into() };
        let left = DreamResult { left_alone: vec![left], ..result() };
        assert_eq!(
            shown(&outcome(&left, LOOK)),
            "one.md was left alone: it was edited\nnothing was changed\n"
        );
        let undone =
            DreamResult { undo: true, applied: vec!["one.md".into()], ..DreamResult::default() };
        assert_eq!(shown(&outcome(&undone, LOOK)), "1 file as before the last dream\n");
    }

    #[test]
    fn a_diff_has_its_tones() {
        let tones: Vec<Tone> = result().diff.lines().map(tone).collect();
        assert_eq!(tones, [Tone::Strong, Tone::Strong, Tone::Accent, Tone::Bad, Tone::Good]);
    }

    #[test]
    fn what_was_dropped_is_shown_up_to_a_number() {
        let one = bethink_api::DreamDropped {
            file: "MEMORY.md".into(),
            text: "- [x](x.md)".into(),
            why: "gone".into(),
        };
        let many = DreamResult { dropped: vec![one; DROPPED + 2], ..DreamResult::default() };
        let lines = dropped(&many, LOOK);
        assert_eq!(lines.len(), 2 * DROPPED + 1);
        assert!(shown(&lines).ends_with("and 2 more; --json has all of them\n"));
    }
}
