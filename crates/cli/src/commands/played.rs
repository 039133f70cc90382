//! Shows what `demo` and `replay` print after replaying a session: its notes, an answer from its history, and its figures.

use bethink_api::{Compaction, SearchHit};
use bethink_client::{Client, ClientError, SearchQuery};
use bethink_replay::{Player, ReplayOutcome};
use bethink_terminal::words::{count, percent, plural, span};
use bethink_terminal::{Screen, StyledText, TerminalLook, TextTable, Tone, wrapped};

use crate::failure::Done;
use bethink_render::compaction;

/// Number of hits to request, so that one of them is probably from before the boundary.
const HITS: usize = 10;
const SUMMARY: usize = 12;
const NAMES: usize = 26;
const HIT: usize = 3;
/// Maximum number of compactions that are listed. If there are more, only the first and last ones are listed.
const COMPACTIONS: usize = 12;

#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) outcome: ReplayOutcome,
    pub(crate) compactions: Vec<Compaction>,
    pub(crate) found: Option<FoundHit>,
    /// The session's notes, which cover all of it.
    pub(crate) notes: String,
}

/// A question about the session's history, and its answer.
#[derive(Debug)]
pub(crate) struct FoundHit {
    pub(crate) question: String,
    /// The best hit from before the newest boundary.
    pub(crate) hit: Option<SearchHit>,
}

impl Played {
    /// Updates the notes of a replayed session, and searches its history for the answer to `question` from before the newest
    /// boundary.
    pub(crate) async fn look(
        client: &Client,
        mut drive: Player<'_>,
        question: Option<String>,
    ) -> Result<Self, ClientError> {
        let id = drive.session.id;
        let notes = drive.note().await?;
        let (outcome, compactions) = drive.end().await?;
        let mut played = Self { outcome, compactions, found: None, notes };
        if let Some(question) = question {
            let query =
                SearchQuery { q: question.clone(), limit: Some(HITS), ..SearchQuery::default() };
            let hits = client.search(id, &query).await?.hits;
            let boundary = played.boundary();
            let hit = hits.into_iter().find(|hit| boundary == 0 || hit.seq < boundary);
            played.found = Some(FoundHit { question, hit });
        }
        Ok(played)
    }

    /// Returns the number of the first message that the prompt shows word for word; 0 if it shows all messages.
    pub(crate) fn boundary(&self) -> u64 {
        self.compactions.last().map_or(0, |last| last.kept_from_seq)
    }

    pub(crate) fn show_notes(&self, screen: &mut Screen) -> Done {
        let look = screen.look;
        let lines = notes(&self.notes, look);
        if lines.is_empty() {
            return Ok(());
        }
        let about = "updated in the background; `bethink notes show` prints them";
        screen.line(heading("Notes", about).fitted(look.width))?;
        screen.lines(lines)?;
        Ok(screen.gap()?)
    }

    /// Shows the first lines of the newest summary.
    pub(crate) fn show_summary(&self, screen: &mut Screen) -> Done {
        let Some(last) = self.compactions.last() else { return Ok(()) };
        let covers = format!("replaces messages 1 to {}", last.covers.last_seq);
        screen.line(heading("Summary", &covers).fitted(screen.look.width))?;
        screen.lines(compaction::summary(last, SUMMARY, screen.look))?;
        Ok(screen.gap()?)
    }

    pub(crate) fn show_found(&self, screen: &mut Screen) -> Done {
        let Some(FoundHit { question, hit }) = &self.found else { return Ok(()) };
        let about = "history is never edited, and all of it can be searched";
        screen.line(heading("Nothing is lost", about).fitted(screen.look.width))?;
        let (boundary, look) = (self.boundary(), screen.look);
        screen.lines(found(question, hit.as_ref(), boundary, look))?;
        Ok(screen.gap()?)
    }

    pub(crate) fn show_figures(&self, screen: &mut Screen, window: u64) -> Done {
        let look = screen.look;
        if !self.compactions.is_empty() {
            let many = plural(self.compactions.len() as u64, "Compaction", "Compactions");
            screen.line(heading(&many, "tokens before and after"))?;
            screen.lines(compactions(&self.compactions, look))?;
            screen.gap()?;
        }
        screen.line(heading("Figures", ""))?;
        Ok(screen.lines(figures(&self.outcome, window, look))?)
    }
}

/// Returns a heading with a short explanation.
fn heading(title: &str, about: &str) -> StyledText {
    let heading = StyledText::from(" ").strong(title.to_owned());
    if about.is_empty() { heading } else { heading.dim(format!("  {about}")) }
}

/// Returns the first line of each section that is not empty.
fn notes(text: &str, look: TerminalLook) -> Vec<StyledText> {
    let mut lines = Vec::new();
    for (name, body) in sections(text) {
        let Some(first) = body.first() else { continue };
        let more = match body.len() - 1 {
            0 => String::new(),
            more => format!("+{more}"),
        };
        let room = look.width.saturating_sub(more.len() + 1);
        let line = StyledText::from("  ").dim(format!("{name:<NAMES$}")).plain(*first).fitted(room);
        let line = if more.is_empty() { line } else { line.padded(room).dim(format!(" {more}")) };
        lines.push(line);
    }
    lines
}

/// Returns the headings with the lines below them, without the template's hints.
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

/// Shows the best hit from before the boundary.
fn found(
    question: &str,
    hit: Option<&SearchHit>,
    boundary: u64,
    look: TerminalLook,
) -> Vec<StyledText> {
    let mut lines =
        vec![StyledText::new().dim("  $ ").plain(format!("bethink search \"{question}\""))];
    let Some(hit) = hit else {
        lines.push(
            StyledText::from("  ").put(Tone::Warn, "found no messages from before the boundary"),
        );
        return fitted(lines, look);
    };
    let place = match boundary {
        0 => String::new(),
        boundary => format!("  the prompt now begins at message {}", count(boundary)),
    };
    lines.push(
        StyledText::from("  ")
            .strong(format!("#{}", hit.seq))
            .plain(" ")
            .put(Tone::Accent, hit.role.as_str())
            .dim(place),
    );
    let said = hit.snippet.lines().flat_map(|line| wrapped(line, look.width.saturating_sub(4)));
    lines.extend(said.take(HIT).map(|line| StyledText::from(format!("    {line}"))));
    fitted(lines, look)
}

/// Shows one row per compaction; if there are many, only the first and last ones.
fn compactions(all: &[Compaction], look: TerminalLook) -> Vec<StyledText> {
    let mut table =
        TextTable::new(&["", "level", ">before", ">after", ">freed", ">fidelity", "summarized"]);
    let left_out = match all.len() {
        n if n > COMPACTIONS => COMPACTIONS / 2..n - COMPACTIONS / 2,
        _ => 0..0,
    };
    for (at, one) in all.iter().enumerate().filter(|(at, _)| !left_out.contains(at)) {
        table.row(row(at + 1, one));
        if at + 1 == left_out.start {
            let more = plural(left_out.len() as u64, "more", "more");
            table.row(vec![" …".into(), StyledText::new().dim(more)]);
        }
    }
    fitted(table.lines(look.width), look)
}

fn row(number: usize, one: &Compaction) -> Vec<StyledText> {
    let freed = one.tokens_before.saturating_sub(one.tokens_after);
    vec![
        StyledText::new().dim(format!(" {number}")),
        one.level.to_string().into(),
        count(one.tokens_before).into(),
        count(one.tokens_after).into(),
        percent(freed, one.tokens_before).into(),
        StyledText::new()
            .put(compaction::fidelity_tone(one.fidelity), format!("{:.2}", one.fidelity)),
        StyledText::new().dim(format!("messages 1–{}", count(one.covers.last_seq))),
    ]
}

fn figures(outcome: &ReplayOutcome, window: u64, look: TerminalLook) -> Vec<StyledText> {
    let mut table = TextTable::new(&["", ">", ""]);
    let mut row = |name: &str, n: u64, tone: Tone, detail: String| {
        let (name, n) =
            (StyledText::new().dim(format!(" {name}")), StyledText::new().put(tone, count(n)));
        table.row(vec![name, n, StyledText::new().dim(detail)]);
    };
    let good = |n: u64| if n == 0 { Tone::Good } else { Tone::Bad };
    let o = outcome;
    let damaged = match o.damaged_lines {
        0 => String::new(),
        n => format!("{} could not be read", plural(n, "line", "lines")),
    };
    row("messages", o.messages, Tone::Plain, damaged);
    row("prompts", o.turns, Tone::Plain, format!("in {}", took(o.wall_ms)));
    row(
        "largest prompt",
        o.max_prompt_tokens,
        Tone::Plain,
        format!("of {} tokens in the window", count(window)),
    );
    row("oversized prompts", o.overruns, good(o.overruns), String::new());
    row("invalid prompts", o.invalid_prompts, good(o.invalid_prompts), o.first_faults.join("; "));
    row("notes updates", o.notes_updates, Tone::Plain, String::new());
    if o.compactions.is_empty() {
        row("compactions", 0, Tone::Plain, "everything fits".to_owned());
    }
    // The first line has the column headings, which are empty.
    fitted(table.lines(look.width).into_iter().skip(1).collect(), look)
}

fn took(ms: u64) -> String {
    match ms {
        0..10_000 => format!("{:.1} s", ms as f64 / 1000.0),
        _ => span(ms / 1000),
    }
}

fn fitted(lines: Vec<StyledText>, look: TerminalLook) -> Vec<StyledText> {
    lines.into_iter().map(|line| line.fitted(look.width)).collect()
}

#[cfg(test)]
mod tests {
    use bethink_api::{CompactionLevel, CompactionTrigger, Covers, FidelityDetail};
    use uuid::Uuid;

    use super::*;
    use bethink_terminal::LineMode;
    use bethink_terminal::columns;

    fn look(width: usize) -> TerminalLook {
        TerminalLook::plain(width)
    }

    fn shown(lines: &[StyledText]) -> String {
        let lines: Vec<String> =
            lines.iter().map(|line| line.render(LineMode::One, false)).collect();
        lines.join("\n")
    }

    fn compaction(n: u64) -> Compaction {
        Compaction {
            id: Uuid::nil(),
            trigger: CompactionTrigger::Auto,
            level: CompactionLevel::Embedded,
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
            role: bethink_api::Role::User,
            score: 1.0,
            snippet: "long ".repeat(80),
            created_at: String::new(),
            person: None,
            project: None,
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
                let line = line.render(LineMode::One, false);
                assert!(columns(&line) <= width, "{width}: {line}");
            }
        }
    }
}
