//! What a played session shows at its end: its notes, something found again, its figures.

use bethink_api::{Compaction, SearchHit};

use crate::drive::Outcome;
use crate::screen::text::wrapped;
use crate::screen::words::{count, percent, plural, span};
use crate::screen::{Align, Look, Table, Text, Tone};

/// Columns of a section's name.
const NAMES: usize = 26;
/// Lines of a hit.
const HIT: usize = 3;
/// More compactions than this are shown by their first and last ones.
const COMPACTIONS: usize = 12;

/// A heading of its own, with what it is about.
pub(crate) fn heading(title: &str, about: &str) -> Text {
    let heading = Text::from(" ").strong(title.to_owned());
    if about.is_empty() { heading } else { heading.dim(format!("  {about}")) }
}

/// The first line of each section that says something.
pub(crate) fn notes(text: &str, look: Look) -> Vec<Text> {
    let mut lines = Vec::new();
    for (name, body) in sections(text) {
        let Some(first) = body.first() else { continue };
        let more = match body.len() - 1 {
            0 => String::new(),
            more => format!("+{more}"),
        };
        let room = look.width.saturating_sub(more.len() + 1);
        let line = Text::from("  ").dim(format!("{name:<NAMES$}")).plain(*first).fitted(room);
        let line = if more.is_empty() { line } else { line.padded(room).dim(format!(" {more}")) };
        lines.push(line);
    }
    lines
}

/// Headings with the lines below them that are no hint of the template.
fn sections(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut sections: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text.lines().map(str::trim) {
        let hint = line.starts_with('_') && line.ends_with('_');
        let bare = line.trim_start_matches('#');
        if line.starts_with('#') && bare.starts_with(' ') {
            sections.push((bare.trim(), Vec::new()));
        } else if let (Some((_, body)), false) = (sections.last_mut(), line.is_empty() || hint) {
            body.push(line.strip_prefix("- ").unwrap_or(line));
        }
    }
    sections
}

/// The best hit from before the boundary, or that there is none.
pub(crate) fn found(
    question: &str,
    hit: Option<&SearchHit>,
    boundary: u64,
    look: Look,
) -> Vec<Text> {
    let mut lines = vec![Text::new().dim("  $ ").plain(format!("bethink search \"{question}\""))];
    let Some(hit) = hit else {
        lines.push(Text::from("  ").put(Tone::Warn, "found nothing from before the boundary"));
        return fitted(lines, look);
    };
    let place = match boundary {
        0 => String::new(),
        boundary => format!("  summarised: the prompt begins at message {}", count(boundary)),
    };
    lines.push(
        Text::from("  ")
            .strong(format!("#{}", hit.seq))
            .plain(" ")
            .put(Tone::Accent, hit.role.clone())
            .dim(place),
    );
    let said = hit.snippet.lines().flat_map(|line| wrapped(line, look.width.saturating_sub(4)));
    lines.extend(said.take(HIT).map(|line| Text::from(format!("    {line}"))));
    fitted(lines, look)
}

/// A row for each compaction; of many the first and the last ones.
pub(crate) fn compactions(all: &[Compaction], look: Look) -> Vec<Text> {
    let mut table = Table::new(&[
        ("", Align::Left),
        ("level", Align::Left),
        ("before", Align::Right),
        ("after", Align::Right),
        ("freed", Align::Right),
        ("fidelity", Align::Right),
        ("summarised", Align::Left),
    ]);
    let left_out = match all.len() {
        n if n > COMPACTIONS => COMPACTIONS / 2..n - COMPACTIONS / 2,
        _ => 0..0,
    };
    for (at, one) in all.iter().enumerate().filter(|(at, _)| !left_out.contains(at)) {
        table.row(row(at + 1, one));
        if at + 1 == left_out.start {
            let more = plural(left_out.len() as u64, "more", "more");
            table.row(vec![" …".into(), Text::new().dim(more)]);
        }
    }
    fitted(table.lines(look.width), look)
}

fn row(number: usize, one: &Compaction) -> Vec<Text> {
    let freed = one.tokens_before.saturating_sub(one.tokens_after);
    vec![
        Text::new().dim(format!(" {number}")),
        one.level.clone().into(),
        count(one.tokens_before).into(),
        count(one.tokens_after).into(),
        percent(freed, one.tokens_before).into(),
        Text::new().put(fidelity(one.fidelity), format!("{:.2}", one.fidelity)),
        Text::new().dim(format!("messages 1–{}", count(one.covers.last_seq))),
    ]
}

/// Good, worth a look, bad.
pub(crate) fn fidelity(fidelity: f64) -> Tone {
    match fidelity {
        f if f >= 0.95 => Tone::Good,
        f if f >= 0.8 => Tone::Warn,
        _ => Tone::Bad,
    }
}

/// The figures of the whole.
pub(crate) fn figures(outcome: &Outcome, window: u64, look: Look) -> Vec<Text> {
    let mut table = Table::new(&[("", Align::Left), ("", Align::Right), ("", Align::Left)]);
    let mut row = |name: &str, n: u64, tone: Tone, detail: String| {
        let (name, n) = (Text::new().dim(format!(" {name}")), Text::new().put(tone, count(n)));
        table.row(vec![name, n, Text::new().dim(detail)]);
    };
    let good = |n: u64| if n == 0 { Tone::Good } else { Tone::Bad };
    let o = outcome;
    let damaged = match o.damaged_lines {
        0 => String::new(),
        n => format!("{} could not be read", plural(n, "line", "lines")),
    };
    row("messages", o.messages, Tone::Plain, damaged);
    row("prompts", o.turns, Tone::Plain, format!("in {}", took(o.wall_ms)));
    row("largest prompt", o.max_prompt_tokens, Tone::Plain, format!("tokens of {}", count(window)));
    row("over the window", o.overruns, good(o.overruns), String::new());
    row("invalid prompts", o.invalid_prompts, good(o.invalid_prompts), o.first_faults.join("; "));
    row("notes updates", o.notes_updates, Tone::Plain, String::new());
    if o.compactions.is_empty() {
        row("compactions", 0, Tone::Plain, "it all fits".to_owned());
    }
    // The table has no head worth a line.
    fitted(table.lines(look.width).into_iter().skip(1).collect(), look)
}

fn took(ms: u64) -> String {
    match ms {
        0..10_000 => format!("{:.1} s", ms as f64 / 1000.0),
        _ => span(ms / 1000),
    }
}

fn fitted(lines: Vec<Text>, look: Look) -> Vec<Text> {
    lines.into_iter().map(|line| line.fitted(look.width)).collect()
}

#[cfg(test)]
mod tests {
    use bethink_api::{Covers, FidelityDetail};
    use uuid::Uuid;

    use super::*;
    use crate::screen::escape::Lines;
    use crate::screen::text::columns;

    fn look(width: usize) -> Look {
        Look { colour: false, width, live: false, progress: false }
    }

    fn shown(lines: &[Text]) -> String {
        let lines: Vec<String> = lines.iter().map(|line| line.render(Lines::One, false)).collect();
        lines.join("\n")
    }

    fn compaction(n: u64) -> Compaction {
        Compaction {
            id: Uuid::nil(),
            trigger: "auto".into(),
            level: "embedded".into(),
            covers: Covers { first_seq: 1, last_seq: n * 10 },
            kept_from_seq: n * 10 + 1,
            tokens_before: 40_000,
            tokens_after: 10_000,
            summary: String::new(),
            summary_tokens: 0,
            fidelity: 0.97,
            fidelity_detail: FidelityDetail::default(),
            warning: None,
            restored: vec![],
            attempts: vec![],
            created_at: String::new(),
            undone_at: None,
        }
    }

    const NOTES: &str = "# Session Title\n_five to ten words_\n\nTide jobs\n# Current State\n\n- one\n- two\n# Workflow\n_how_\n";

    #[test]
    fn filled_sections_show_their_first_line() {
        let expect =
            "  Session Title             Tide jobs\n  Current State             one          +1";
        assert_eq!(shown(&notes(NOTES, look(43))), expect);
        assert!(notes("", look(80)).is_empty());
        assert!(notes("no heading\n# Empty\n_hint_", look(80)).is_empty());
    }

    #[test]
    fn many_compactions_are_told_by_their_ends() {
        let told = |n: u64| {
            let all: Vec<Compaction> = (1..=n).map(compaction).collect();
            compactions(&all, look(80)).len() as u64 - 1
        };
        assert_eq!([0, 1, 12, 13, 400].map(told), [0, 1, 12, 13, 13]);
        let all: Vec<Compaction> = (1..=40).map(compaction).collect();
        let shown = shown(&compactions(&all, look(80)));
        for line in [" 6   embedded", " …   28 more", " 35  embedded", " 40  embedded"] {
            assert!(shown.contains(line), "{line}:\n{shown}");
        }
    }

    #[test]
    fn every_width_is_kept() {
        let hit = SearchHit {
            session_id: uuid::Uuid::nil(),
            title: None,
            highlights: Vec::new(),
            answers: None,
            seq: 7,
            message_id: String::new(),
            role: "user".into(),
            score: 1.0,
            snippet: "long ".repeat(80),
            created_at: String::new(),
        };
        let long = format!("# A heading\n{}\nmore", "word ".repeat(60));
        for width in 40..=160 {
            let look = look(width);
            let all = [
                notes(&long, look),
                found("why", Some(&hit), 1_000, look),
                found(&"why ".repeat(60), None, 0, look),
                compactions(&[compaction(1)], look),
            ];
            for line in all.concat() {
                let line = line.render(Lines::One, false);
                assert!(columns(&line) <= width, "{width}: {line}");
            }
        }
    }
}
