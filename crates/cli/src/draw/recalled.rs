//! A recalled memory: its name, why it was chosen, and how it begins.

use bethink_api::{RecallTerm, RecalledMemory};

use crate::screen::text::wrapped;
use crate::screen::{Text, Tone};

const INDENT: &str = "    ";
/// Lines of a text that show what it is about.
const LINES: usize = 4;
/// Words that are named as reasons.
const TERMS: usize = 6;

/// Name, type and age; what it is about; why.
pub(crate) fn head(memory: &RecalledMemory, width: usize) -> Vec<Text> {
    let scope = if memory.scope == "team" { "team/" } else { "" };
    let kind = memory.kind.as_ref().map(|kind| format!("  {kind},")).unwrap_or_else(|| " ".into());
    let name = Text::new()
        .dim(scope)
        .put(Tone::Accent, memory.name.clone())
        .plain(format!("{kind} {}", memory.age));
    let mut lines = vec![name.fitted(width)];
    if let Some(about) = &memory.description {
        lines.push(Text::from(INDENT).strong(about.clone()).fitted(width));
    }
    lines.push(Text::from(INDENT).dim(why(memory)).fitted(width));
    lines
}

/// `score 0.82: fog (name, description), far (body)`
fn why(memory: &RecalledMemory) -> String {
    let score = match memory.why.place {
        Some(place) => format!("number {place} of the model's choice"),
        None => format!("score {:.2}", memory.score),
    };
    let term = |term: &RecallTerm| match term.fields.is_empty() {
        true => term.term.clone(),
        false => format!("{} ({})", term.term, term.fields.join(", ")),
    };
    let terms: Vec<String> = memory.why.terms.iter().take(TERMS).map(term).collect();
    match terms.is_empty() {
        true => score,
        false => format!("{score}: {}", terms.join(", ")),
    }
}

/// The first lines that hold words.
pub(crate) fn beginning(memory: &RecalledMemory, width: usize) -> Vec<Text> {
    let room = width.saturating_sub(INDENT.len());
    let lines = memory.content.lines().filter(|line| line.chars().any(char::is_alphanumeric));
    let mut shown: Vec<String> =
        lines.take(LINES + 1).flat_map(|line| wrapped(line, room)).collect();
    let more = shown.len() > LINES || memory.truncated;
    shown.truncate(LINES);
    let last = shown.len().saturating_sub(1);
    let line = |(at, line): (usize, String)| {
        let text = Text::from(INDENT).plain(line);
        let text = if more && at == last { text.dim(" …") } else { text };
        text.fitted(width)
    };
    shown.into_iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use bethink_api::RecallWhy;

    use super::*;
    use crate::screen::escape::Lines;

    fn shown(lines: &[Text]) -> Vec<String> {
        lines.iter().map(|line| line.render(Lines::One, false)).collect()
    }

    #[test]
    fn a_memory_says_why_it_came() {
        let term = |term: &str, fields: &[&str]| RecallTerm {
            term: term.into(),
            fields: fields.iter().map(|field| (*field).to_owned()).collect(),
        };
        let memory = RecalledMemory {
            scope: "team".into(),
            name: "fog".into(),
            kind: Some("project".into()),
            description: Some("how far \u{202e}it is".into()),
            age: "12 days ago".into(),
            score: 0.8251,
            content: "# Fog\n\n---\none\ntwo\nthree\nfour".into(),
            why: RecallWhy {
                terms: vec![term("fog", &["name", "body"]), term("far", &[])],
                ..RecallWhy::default()
            },
            ..RecalledMemory::default()
        };
        assert_eq!(
            shown(&head(&memory, 80)),
            [
                "team/fog  project, 12 days ago",
                "    how far \\u{202e}it is",
                "    score 0.83: fog (name, body), far",
            ]
        );
        assert_eq!(
            shown(&beginning(&memory, 80)),
            ["    # Fog", "    one", "    two", "    three …"]
        );
        assert!(shown(&beginning(&memory, 10)).iter().all(|line| line.len() <= 13));
    }
}
