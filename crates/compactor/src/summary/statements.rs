//! What was said: conclusions, decisions with their reasons, reports of agents, an earlier session's summary.

use std::borrow::Cow;
use std::collections::HashSet;

use bethink_facts::choice;
use bethink_facts::prose::{Passage, passages, plain};
use bethink_facts::rows::mark;
use bethink_facts::{Facts, RecordedStatement, SaidKind};
use bethink_transcript::Seq;
use bethink_transcript::text::shorten;

use crate::ladder::SummaryRequest;

use super::select::{PassageCandidate, PassageGroup, freshness};
use super::user_words::is_own;

/// Maximum size of a quoted passage, in bytes.
const PASSAGE_BYTES: usize = 420;

/// Weights of passages: the assistant's last statement in a turn, its other statements, a subagent's report, the
/// summary of an earlier session, and an older message of the user.
const CONCLUSION: f32 = 1.0;
const ON_THE_WAY: f32 = 0.55;
const REPORT: f32 = 0.6;
const EARLIER: f32 = 0.6;
const OLDER_USER: f32 = 1.3;
/// Factor for a statement that the user corrected in the reply: the correction is what counts, and it is quoted.
const CORRECTED: f32 = 0.3;

/// Returns groups of passages, one per statement, oldest first. The user's messages in `shown` are shown whole.
pub(super) fn groups(request: &SummaryRequest<'_>, shown: &HashSet<Seq>) -> Vec<PassageGroup> {
    let facts = request.facts;
    let mut groups = Vec::new();
    let mut push = |said: &RecordedStatement, head: String, worth: f32| {
        if request.is_hidden(said.seq) {
            groups.push(group(facts, said, head, worth));
        }
    };
    if let Some(handover) = &facts.handover {
        for (name, text) in sections(&handover.text) {
            let part = RecordedStatement { text: text.into(), ..handover.clone() };
            push(&part, format!("- {} (earlier session, {name}) ", mark(handover.seq)), EARLIER);
        }
    }
    for (at, said) in facts.assistant.iter().enumerate() {
        let next = facts.assistant.get(at + 1).map(|next| next.seq);
        let reply = reply(facts, said, next);
        let text = reply.map_or(Cow::Borrowed(&*said.text), |reply| {
            choice::without_others(&said.text, &reply.text)
        });
        let offer = RecordedStatement { text: text.into(), ..said.clone() };
        let said = &offer;
        let worth = if said.ends_turn { CONCLUSION } else { ON_THE_WAY };
        match reply.filter(|reply| reply.kind == SaidKind::Correction) {
            Some(reply) => {
                let head =
                    format!("- {} (see the user's reply in {}) ", mark(said.seq), mark(reply.seq));
                push(said, head, worth * CORRECTED);
            }
            None => push(said, format!("- {} ", mark(said.seq)), worth),
        }
    }
    for said in &facts.reports {
        let task = said.question.as_deref().unwrap_or_default();
        push(said, format!("- {} (agent: {}) ", mark(said.seq), shorten(task, 60)), REPORT);
    }
    for said in &facts.user {
        if is_own(said) && !shown.contains(&said.seq) {
            push(said, format!("- {} (user) ", mark(said.seq)), OLDER_USER);
        }
    }
    groups.sort_by_key(|group| group.seq);
    groups
}

/// Returns the user's reply to a statement by the assistant, if there is one before the assistant's `next` statement.
fn reply<'a>(
    facts: &'a Facts,
    said: &RecordedStatement,
    next: Option<Seq>,
) -> Option<&'a RecordedStatement> {
    let after = facts.user.partition_point(|user| user.seq <= said.seq);
    facts.user.get(after).filter(|user| next.is_none_or(|next| user.seq < next))
}

/// Splits an earlier session's summary at its numbered headings, without its draft and the instructions around it.
fn sections(text: &str) -> Vec<(&str, String)> {
    const AROUND: [&str; 3] = [
        "This session is being continued",
        "Please continue the conversation",
        "If you need specific details",
    ];
    let text = text.find("\nSummary:").map_or(text, |at| &text[at + 9..]);
    let mut found: Vec<(&str, String)> = Vec::new();
    for line in text.lines().filter(|line| !AROUND.iter().any(|words| line.starts_with(words))) {
        match heading(line) {
            Some(name) => found.push((name, String::new())),
            None => {
                if found.is_empty() {
                    found.push(("summary", String::new()));
                }
                if let Some((_, text)) = found.last_mut() {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
    }
    found
}

/// Returns the name in a numbered heading: `3. Files and Code Sections:`.
fn heading(line: &str) -> Option<&str> {
    const NAME_BYTES: usize = 40;
    let line = line.trim_start_matches(['#', '*', ' ']);
    let (number, name) = line.split_once(". ")?;
    number.parse::<u8>().ok()?;
    let name = name.trim().trim_end_matches(['*', ':', ' ']);
    (line.trim_end().ends_with(':') && name.len() <= NAME_BYTES).then_some(name)
}

fn group(facts: &Facts, said: &RecordedStatement, head: String, worth: f32) -> PassageGroup {
    let worth = worth * freshness(facts, said.seq);
    let passages = passages(&said.text).into_iter().map(|passage| PassageCandidate {
        text: quoted(passage),
        worth: worth * value(passage),
        is_chosen: false,
    });
    PassageGroup { head, seq: said.seq, is_edited: false, passages: passages.collect() }
}

/// Returns a passage as the summary quotes it: a line of code in backticks, so that it can be told from sentences.
fn quoted(passage: Passage<'_>) -> String {
    match passage.is_code && !passage.text.contains('`') {
        true => format!("`{}`", shorten(passage.text, PASSAGE_BYTES)),
        false => shorten(&plain(passage.text), PASSAGE_BYTES),
    }
}

/// Returns the value of a passage, depending on whether it states, announces, asks or introduces something.
fn value(passage: Passage<'_>) -> f32 {
    if passage.is_code {
        return 0.45;
    }
    let text = passage.text;
    let lower = text.to_lowercase();
    let has_reason = REASONS.split('|').any(|phrase| lower.contains(phrase));
    if is_one_word(text) {
        return 0.0;
    }
    if is_announcement(text) {
        // The step was done since, or the last section names it.
        return if has_reason { 0.15 } else { 0.0 };
    }
    if text.ends_with(':') || passage.is_heading {
        return 0.15;
    }
    if text.ends_with('?') {
        return 0.5;
    }
    if has_reason { 1.4 } else { 1.0 }
}

const REASONS: &str = "because |so that |instead of |rather than |root cause|turns out|the reason |by design|\
    decided|the problem |the issue |the fix |must |should |cannot |can't |doesn't |does not |no longer |only ";

/// Whether a text is a single plain word, such as "Done."
fn is_one_word(text: &str) -> bool {
    text.trim_end_matches(['.', '!']).chars().all(char::is_alphabetic)
}

/// Whether a statement only announces a step, such as "Now let me read the file".
pub(super) fn is_announcement(text: &str) -> bool {
    const OPENINGS: &str =
        "Let me|Now let|Now I|I'll |I will |First, |Next, |No response|Perfect|Great|Good";
    text.len() < 160 && OPENINGS.split('|').any(|opening| text.starts_with(opening))
}

/// Writes the chosen passages of each group.
pub(super) fn render(groups: &[PassageGroup]) -> String {
    let mut out = String::new();
    for group in groups {
        let mut line = String::new();
        let mut last = None;
        for (at, passage) in group.passages.iter().enumerate().filter(|(_, p)| p.is_chosen) {
            let joint = match last {
                None => "",
                Some(before) if before + 1 < at => " … ",
                Some(_) if line.ends_with(['.', ':', '!', '?', ';']) => " ",
                Some(_) => "; ",
            };
            line.push_str(joint);
            line.push_str(&passage.text);
            last = Some(at);
        }
        if !line.is_empty() {
            out.push_str(&group.head);
            out.push_str(&line);
            out.push('\n');
        }
    }
    out
}
