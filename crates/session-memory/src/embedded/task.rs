//! What the session is about: its title, and what the user asked for.

use bethink_facts::rows::{file_name, mark};
use bethink_facts::{RecordedStatement, SaidKind};

use super::page::{NotesContext, clip};
use crate::draft::{NotesRow, one_line};

/// Number of words in a title.
const TITLE_WORDS: std::ops::RangeInclusive<usize> = 5..=10;
/// Maximum length, in characters, of a title in a language that is written without spaces.
const TITLE_CHARS: usize = 28;
/// Maximum size of a quoted request, in bytes. The first one states the task, so it gets more room than later ones.
const FIRST_BYTES: usize = 1_400;
const LATER_BYTES: usize = 420;
/// Maximum size of a quoted plan, in bytes.
const PLAN_BYTES: usize = 1_600;
/// Number of the assistant's newest decisions that are listed.
const DECISIONS: usize = 12;
const DECISION_BYTES: usize = 260;
/// Number of later statements in which an interrupted request may be repeated.
const REPEATED_WITHIN: usize = 2;

pub(super) fn title(page: &NotesContext<'_>) -> Vec<NotesRow> {
    let named = page.title.map(one_line).filter(|title| !title.is_empty());
    let asked = || {
        let own = page.facts.user.iter().filter(|said| said.kind != SaidKind::Handover);
        // A session may begin with a greeting: the first request that is long enough names it.
        own.filter_map(|said| title_of(&said.text)).find(|title| is_long_enough(title))
    };
    let first = || page.facts.user.iter().find_map(|said| title_of(&said.text));
    let title = named.or_else(asked).or_else(first);
    title.map(|title| NotesRow::plain("title", &title, 1_000)).into_iter().collect()
}

fn is_long_enough(title: &str) -> bool {
    title.split(' ').count() >= *TITLE_WORDS.start() || title.chars().any(is_unspaced)
}

/// Makes a title from the first words of a request that describe it.
fn title_of(text: &str) -> Option<String> {
    if let Some(heading) = heading(text) {
        return finished(&heading.split_whitespace().take(*TITLE_WORDS.end()).collect::<Vec<_>>());
    }
    let prose = text.lines().map(str::trim).filter(|line| is_prose(line));
    let mut words: Vec<&str> = Vec::new();
    // The end of a clause that is long enough for a title.
    let mut clause = None;
    for line in prose {
        for word in without_opening(line).split_whitespace() {
            let plain = word.trim_matches(['#', '*', '`', '"', '_', '>']);
            // Only the file name of a path is used.
            words.push(if plain.starts_with('/') { file_name(plain) } else { plain });
            let ends = word.ends_with(['.', '?', '!', '。', '？', '！', ':']);
            if ends && words.len() >= *TITLE_WORDS.start() {
                return finished(&words);
            }
            if word.ends_with([',', ';']) && words.len() >= *TITLE_WORDS.start() {
                clause = Some(words.len());
            }
            if words.len() >= *TITLE_WORDS.end() {
                return finished(&words[..clause.unwrap_or(words.len())]);
            }
        }
        if words.len() >= *TITLE_WORDS.start() {
            break;
        }
    }
    finished(&words)
}

/// Returns the heading of a plan that the user provides, which is usually a good title.
fn heading(text: &str) -> Option<&str> {
    let heading = text.lines().take(12).find_map(|line| line.trim().strip_prefix("# "))?;
    let named = heading.split_once(": ").map_or(heading, |(_, name)| name).trim();
    (named.split_whitespace().count() >= 3).then_some(named)
}

/// Removes polite opening words from a request.
fn without_opening(line: &str) -> &str {
    const OPENINGS: [&str; 6] =
        ["can you", "could you", "would you", "please", "i want you to", "let's"];
    let mut rest = line;
    for opening in OPENINGS {
        let head = rest.get(..opening.len()).filter(|head| head.eq_ignore_ascii_case(opening));
        if head.is_some() && rest[opening.len()..].starts_with(' ') {
            rest = rest[opening.len()..].trim_start();
        }
    }
    rest
}

fn finished(words: &[&str]) -> Option<String> {
    let title = words.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(" ");
    let title = title.trim_end_matches(['.', ',', ':', ';', '。', '，']);
    let short: String = match title.chars().any(is_unspaced) {
        true => title.chars().take(TITLE_CHARS).collect(),
        false => clip(title, 120),
    };
    (short.chars().filter(|c| c.is_alphanumeric()).count() >= 4).then_some(short)
}

/// Whether this is a character of Kana, Han or Hangul, scripts in which a word may be one character.
fn is_unspaced(c: char) -> bool {
    ('\u{3040}'..='\u{d7af}').contains(&c)
}

/// Whether a line is probably prose: it does not begin like markup, a table or an `@` mention, and most of it is letters.
fn is_prose(line: &str) -> bool {
    let letters = line.chars().filter(|c| c.is_alphabetic() || c.is_whitespace()).count();
    !line.is_empty()
        && !line.starts_with(['<', '|', '{', '[', '@'])
        && !line.starts_with("---")
        && letters * 10 >= line.chars().count() * 6
}

/// Returns rows about the user's requests, oldest first, then about the plan and the assistant's decisions.
pub(super) fn specification(page: &NotesContext<'_>) -> Vec<NotesRow> {
    let mut rows: Vec<NotesRow> = Vec::new();
    let mut first = true;
    let user = &page.facts.user;
    for (at, said) in user.iter().enumerate() {
        let again = user.get(at + 1..).unwrap_or_default().iter().take(REPEATED_WITHIN);
        if said.is_interruption() || again.into_iter().any(|later| repeats(later, said)) {
            continue;
        }
        rows.push(asked(page, said, std::mem::take(&mut first)));
    }
    if let Some(plan) = &page.facts.plan {
        let text =
            format!("{} Plan shown to the user: {}", mark(plan.seq), clip(&plan.text, PLAN_BYTES));
        rows.push(NotesRow::item("plan", &text, 700));
    }
    // The user's own decisions are among the requests.
    let settled: Vec<_> = page.facts.decisions.iter().filter(|one| !one.by_user).collect();
    for decision in settled.iter().skip(settled.len().saturating_sub(DECISIONS)) {
        let text =
            format!("{} Decided: {}", mark(decision.seq), clip(&decision.text, DECISION_BYTES));
        let key = format!("decision:{}:{}", decision.seq, clip(&decision.text, 40));
        rows.push(NotesRow::item(key, &text, page.recency(decision.seq)));
    }
    rows
}

/// Whether a later statement repeats this one, possibly with more text.
fn repeats(later: &RecordedStatement, said: &RecordedStatement) -> bool {
    const SHORTEST: usize = 40;
    said.text.len() >= SHORTEST
        && later.text.starts_with(said.text.trim_end_matches(['.', '?', ' ']))
}

fn asked(page: &NotesContext<'_>, said: &RecordedStatement, first: bool) -> NotesRow {
    let recency = page.recency(said.seq);
    let (word, bytes, weight) = match said.kind {
        _ if first => ("First asked", FIRST_BYTES, 1_000),
        SaidKind::Ask => ("Then asked", LATER_BYTES, 300 + recency),
        SaidKind::Correction => ("Corrected", LATER_BYTES, 500 + recency),
        SaidKind::Answer => ("Answered", LATER_BYTES, 150 + recency),
        SaidKind::Handover => ("From an earlier session", LATER_BYTES, recency),
    };
    let to = said.question.as_ref().map(|q| format!(" to “{}”", clip(q, 160))).unwrap_or_default();
    let text = format!("{} {word}{to}: {}", mark(said.seq), quoted(said, bytes));
    NotesRow::item(format!("ask:{}", said.seq), &text, weight)
}

pub(super) fn quoted(said: &RecordedStatement, bytes: usize) -> String {
    format!("“{}”", clip(&said.text, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<&str>) {
        assert_eq!(title_of(text).as_deref(), expect, "{text:?}");
    }

    #[test]
    fn a_title_is_the_first_words_with_content() {
        check(
            "Please fix the login form, it fails on empty passwords. Then add tests.",
            Some("fix the login form, it fails on empty passwords"),
        );
        check(
            "can you please look at the changes in this branch, this is now the 3rd error",
            Some("look at the changes in this branch"),
        );
        check("Could you", Some("Could you"));
        check(
            "# Task\n\nAdd a retry to the uploader of photos",
            Some("Task Add a retry to the uploader of photos"),
        );
        check(
            "Implement the following plan:\n\n# Plan: Add the version to checkpoint metadata\n\n## Steps",
            Some("Add the version to checkpoint metadata"),
        );
        check("<tag>\n{\"a\":1}\n| a | b |\nMake it work", Some("Make it work"));
        check("hi", None);
        check("", None);
        check("请修复登录页面的错误，然后添加测试", Some("请修复登录页面的错误，然后添加测试"));
    }
}
