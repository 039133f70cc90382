//! `bethink dream`: consolidates a project's memory, shows what a consolidation would change, or undoes the last one.

use bethink_api::{DreamPhase, DreamRequest, DreamResult, MemoryScope};
use bethink_terminal::words::plural;
use bethink_terminal::{StyledText, TerminalLook, Tone, hanging, wrapped};

use super::import::{finished, result};
use crate::app::CliApp;
use crate::failure::Done;
use bethink_render::diff;

const PHASES: [DreamPhase; 4] =
    [DreamPhase::Orient, DreamPhase::Gather, DreamPhase::Consolidate, DreamPhase::Prune];
/// Width of the column with the phases' names.
const MARGIN: usize = 13;
/// Maximum number of dropped lines that are shown; `--json` has all.
const DROPPED: usize = 12;

pub(crate) async fn dream(app: &mut CliApp, dry_run: bool, undo: bool, me: bool) -> Done {
    let client = app.client().await?;
    let scope = me.then_some(MemoryScope::Person);
    let request = DreamRequest { project_dir: app.project_dir(), scope, dry_run, undo };
    let job = client.dream(&request).await?;
    let result: DreamResult = result(finished(app, &client, job, "dream").await?, "dream")?;
    let Some(screen) = app.screen.unless_json(&result)? else { return Ok(()) };
    let look = screen.look;
    if screen.quiet {
        return Ok(screen.lines(result.applied.iter().map(|file| file.as_str().into()))?);
    }
    screen.line(StyledText::new().dim(result.dir.clone()))?;
    screen.gap()?;
    if !result.undo {
        screen.lines(phases(&result, look))?;
        screen.gap()?;
    }
    if !result.diff.is_empty() {
        screen.lines(diff(&result.diff))?;
        screen.gap()?;
    }
    screen.lines(dropped(&result, look))?;
    Ok(screen.lines(outcome(&result, look))?)
}

/// Shows, for each phase, what was found, what changes and why, and what the user must decide.
fn phases(result: &DreamResult, look: TerminalLook) -> Vec<StyledText> {
    PHASES.into_iter().flat_map(|phase| self::phase(result, phase, look)).collect()
}

fn phase(result: &DreamResult, phase: DreamPhase, look: TerminalLook) -> Vec<StyledText> {
    let width = look.width - MARGIN;
    let mut lines = Vec::new();
    for step in result.steps.iter().filter(|step| step.phase == phase) {
        let said = wrapped(&format!("{}: {}", step.file, step.what), width);
        lines.extend(said.into_iter().map(StyledText::from));
        lines.extend(hanging(&"  ".into(), Tone::Dim, &step.why, width));
    }
    let tone = if phase == DreamPhase::Orient { Tone::Plain } else { Tone::Warn };
    for note in result.notes.iter().filter(|note| note.phase == phase) {
        lines.extend(hanging(&StyledText::new(), tone, &note.text, width));
    }
    if lines.is_empty() {
        lines.push(StyledText::new().dim("nothing to do"));
    }
    let phase = phase.to_string();
    let name =
        |at: usize| StyledText::new().strong(if at == 0 { &*phase } else { "" }).padded(MARGIN);
    lines.into_iter().enumerate().map(|(at, line)| name(at).then(line)).collect()
}

/// Shows the lines that are no longer in any file, and the reasons.
fn dropped(result: &DreamResult, look: TerminalLook) -> Vec<StyledText> {
    let mut lines: Vec<StyledText> = Vec::new();
    for dropped in result.dropped.iter().take(DROPPED) {
        let text =
            StyledText::new().put(Tone::Warn, "dropped ").plain(format!("{}: ", dropped.file));
        lines.push(text.plain(dropped.text.clone()).fitted(look.width));
        lines.push(StyledText::new().dim(format!("        {}", dropped.why)).fitted(look.width));
    }
    if let Some(more) = result.dropped.len().checked_sub(DROPPED).filter(|more| *more > 0) {
        lines.push(
            StyledText::new().dim(format!("        and {more} more; --json shows all of them")),
        );
    }
    lines
}

fn outcome(result: &DreamResult, look: TerminalLook) -> Vec<StyledText> {
    let left = result.left_alone.iter();
    let left = left.map(|left| format!("{} was left unchanged: {}", left.file, left.why));
    let refused = result.refused.iter().map(|why| format!("rejected an edit by the model: {why}"));
    let warn = |said: String| hanging(&StyledText::new(), Tone::Warn, &said, look.width);
    let mut lines: Vec<StyledText> = left.chain(refused).flat_map(warn).collect();
    let files = |n: usize| plural(n as u64, "file", "files");
    let end = match (result.applied.len(), result.diff.is_empty()) {
        (0, _) if result.undo => StyledText::new().put(Tone::Warn, "nothing was restored"),
        (n, _) if result.undo => StyledText::new().put(
            Tone::Good,
            format!("restored {} to the state before the last consolidation", files(n)),
        ),
        (_, true) if result.notes.iter().any(|note| note.phase != DreamPhase::Orient) => {
            StyledText::new()
                .put(Tone::Warn, "nothing was changed; the notes above say what to check yourself")
        }
        (_, true) if lines.is_empty() => {
            StyledText::new().put(Tone::Good, "the memory is tidy; nothing to do")
        }
        (_, true) => StyledText::new().put(Tone::Warn, "nothing was changed"),
        (_, false) if result.dry_run => StyledText::new()
            .plain("nothing was changed")
            .dim("; run `bethink dream` to make these changes"),
        (0, false) => StyledText::new().put(Tone::Warn, "nothing was changed"),
        (n, false) => StyledText::new()
            .put(Tone::Good, format!("{} changed", files(n)))
            .dim("; run `bethink dream --undo` to restore them"),
    };
    lines.push(end);
    lines
}

#[cfg(test)]
mod tests {
    use bethink_api::{DreamLeft, DreamNote, DreamStep};

    use bethink_terminal::LineMode;

    use super::*;

    const LOOK: TerminalLook = TerminalLook::plain(60);

    fn shown(lines: &[StyledText]) -> String {
        lines.iter().map(|line| line.render(LineMode::One, false) + "\n").collect()
    }

    fn result() -> DreamResult {
        DreamResult {
            steps: vec![DreamStep {
                phase: DreamPhase::Consolidate,
                file: "one.md".into(),
                what: "takes over two.md".into(),
                why: "both topics say the same thing".into(),
            }],
            notes: vec![DreamNote {
                phase: DreamPhase::Orient,
                text: "2 topics, 812 bytes".into(),
            }],
            diff: "--- a/one.md\n+++ b/one.md\n@@ -1 +1 @@\n-old\n+new\n".into(),
            ..DreamResult::default()
        }
    }

    #[test]
    fn each_phase_is_shown_even_without_a_step() {
        let expect = "orient       2 topics, 812 bytes\ngather       nothing to do\nconsolidate  one.md: takes over \
                      two.md\n               both topics say the same thing\nprune        nothing to do\n";
        assert_eq!(shown(&phases(&result(), LOOK)), expect);
    }

    #[test]
    fn the_last_line_says_what_was_done() {
        let look = DreamResult { dry_run: true, ..result() };
        assert!(
            shown(&outcome(&look, LOOK)).starts_with("nothing was changed; run `bethink dream`")
        );
        let made = DreamResult { applied: vec!["one.md".into()], ..result() };
        assert!(
            shown(&outcome(&made, LOOK)).starts_with("1 file changed; run `bethink dream --undo`")
        );
        let none = DreamResult::default();
        assert_eq!(shown(&outcome(&none, LOOK)), "the memory is tidy; nothing to do\n");
        let text = "one.md and two.md say nearly the same thing".into();
        let noted = vec![DreamNote { phase: DreamPhase::Consolidate, text }];
        let noted = DreamResult { notes: noted, ..DreamResult::default() };
        assert_eq!(
            shown(&outcome(&noted, LOOK)),
            "nothing was changed; the notes above say what to check yourself\n"
        );
        let left = DreamLeft { file: "one.md".into(), why: "it was edited".into() };
        let left = DreamResult { left_alone: vec![left], ..result() };
        assert_eq!(
            shown(&outcome(&left, LOOK)),
            "one.md was left unchanged: it was edited\nnothing was changed\n"
        );
        let undone =
            DreamResult { undo: true, applied: vec!["one.md".into()], ..DreamResult::default() };
        assert_eq!(
            shown(&outcome(&undone, LOOK)),
            "restored 1 file to the state before the last consolidation\n"
        );
    }

    #[test]
    fn only_the_first_dropped_lines_are_shown() {
        let one = bethink_api::DreamDropped {
            file: "MEMORY.md".into(),
            text: "- [x](x.md)".into(),
            why: "gone".into(),
        };
        let many = DreamResult { dropped: vec![one; DROPPED + 2], ..DreamResult::default() };
        let lines = dropped(&many, LOOK);
        assert_eq!(lines.len(), 2 * DROPPED + 1);
        assert!(shown(&lines).ends_with("and 2 more; --json shows all of them\n"));
    }
}
