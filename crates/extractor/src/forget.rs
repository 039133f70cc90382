//! Removes the memories of one session: its lines are removed, all others stay.

use std::collections::HashSet;

use bethink_memdir::header::{self, HeaderChange};

use crate::embedded::draft::is_frame;

/// A change of a topic by the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicStep {
    /// The text before the change; `None` if there was no file.
    pub before: Option<String>,
    pub after: String,
}

/// How to change a topic so that it forgets a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForgetOutcome {
    /// The topic has no text from the session.
    Nothing,
    /// Remove the file, which has no other text.
    Removed { lines: Vec<String> },
    /// Write the text without the session's lines. If `whole`, the text is exactly as it was before the session.
    Cut { text: String, lines: Vec<String>, whole: bool },
}

/// Decides how to remove the session's text. `now` is the current text; steps are oldest first.
pub fn forget(now: &str, steps: &[TopicStep]) -> ForgetOutcome {
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
        return ForgetOutcome::Nothing;
    };
    let lines = lines_of(now, steps);
    let is_alone = steps.windows(2).all(|pair| pair[1].before.as_deref() == Some(&pair[0].after));
    if last.after == now && is_alone {
        return match &first.before {
            None => ForgetOutcome::Removed { lines },
            Some(before) => ForgetOutcome::Cut { text: before.clone(), lines, whole: true },
        };
    }
    let questions = questions_of(now, steps);
    if lines.is_empty() && questions.is_empty() {
        return ForgetOutcome::Nothing;
    }
    let text = without_questions(without(now, &lines), &questions);
    let is_left = !header::read(&text).body.trim().is_empty();
    if is_left {
        ForgetOutcome::Cut { text, lines, whole: false }
    } else {
        ForgetOutcome::Removed { lines }
    }
}

/// Returns the lines that the session added to the body and that still exist. Lines that explain a statement are left
/// out, because those of two sessions may be equal.
fn lines_of(now: &str, steps: &[TopicStep]) -> Vec<String> {
    let mut brought: HashSet<&str> = HashSet::new();
    for step in steps {
        let before = step.before.as_deref().map(body_lines).unwrap_or_default();
        let before: HashSet<&str> = before.into_iter().collect();
        let new = body_lines(&step.after).into_iter().filter(|line| !before.contains(line));
        brought.extend(new);
    }
    let left = body_lines(now).into_iter().filter(|line| brought.contains(line));
    left.map(str::to_owned).collect()
}

/// Returns the questions that the session added to the front matter and that still exist.
fn questions_of(now: &str, steps: &[TopicStep]) -> Vec<String> {
    let of = |text: &str| header::read(text).header.questions;
    let mut brought = HashSet::new();
    for step in steps {
        let before = step.before.as_deref().map(of).unwrap_or_default();
        brought.extend(of(&step.after).into_iter().filter(|one| !before.contains(one)));
    }
    of(now).into_iter().filter(|one| brought.contains(one)).collect()
}

fn without_questions(text: String, gone: &[String]) -> String {
    if gone.is_empty() {
        return text;
    }
    let mut left = header::read(&text).header.questions;
    left.retain(|one| !gone.contains(one));
    header::with(&text, &[HeaderChange::Questions(&left)]).unwrap_or(text)
}

fn body_lines(text: &str) -> Vec<&str> {
    let lines = header::read(text).body.lines();
    lines.filter(|line| !line.trim().is_empty() && !is_frame(line)).collect()
}

/// Removes lines from the body, the lines that explain them, and the blank lines that remain after them.
fn without(now: &str, lines: &[String]) -> String {
    let gone: HashSet<&str> = lines.iter().map(String::as_str).collect();
    let body = header::read(now).body;
    let head = now.get(..now.len() - body.len()).unwrap_or_default();
    let mut out = String::from(head);
    let (mut was_empty, mut is_after_gone) = (true, false);
    for line in body.split_inclusive('\n') {
        let plain = line.trim_end_matches(['\n', '\r']);
        let is_empty = plain.trim().is_empty();
        let is_gone = gone.contains(plain) || (is_after_gone && is_frame(plain));
        is_after_gone = is_gone || (is_after_gone && is_empty);
        if is_gone || (is_empty && was_empty && !out.is_empty() && out.len() > head.len()) {
            continue;
        }
        out.push_str(line);
        was_empty = is_empty;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(lines: &str) -> String {
        format!("---\ndescription: a\n---\n\n{lines}")
    }

    fn step(before: Option<&str>, after: &str) -> TopicStep {
        TopicStep { before: before.map(topic), after: topic(after) }
    }

    #[test]
    fn questions_of_the_session_are_removed_also_without_lines() {
        let topic = |questions: &str, lines: &str| {
            format!("---\ndescription: a\n{questions}---\n\n{lines}")
        };
        let before = topic("questions:\n  - Who?\n", "one\n");
        let after = topic("questions:\n  - Who?\n  - Where is the vault?\n", "one\n");
        let steps = [TopicStep { before: Some(before), after: after.clone() }];
        let now = format!("{after}two\n");
        let ForgetOutcome::Cut { text, lines, whole } = forget(&now, &steps) else {
            unreachable!()
        };
        assert_eq!((lines, whole), (Vec::new(), false));
        assert_eq!(header::read(&text).header.questions, ["Who?"]);
        assert!(text.ends_with("one\ntwo\n") && !text.contains("vault"), "{text}");
    }

    #[test]
    fn a_topic_of_only_this_session_is_removed() {
        let lines = vec!["one".to_owned()];
        assert_eq!(
            forget(&topic("one\n"), &[step(None, "one\n")]),
            ForgetOutcome::Removed { lines }
        );
    }

    #[test]
    fn the_earlier_text_is_restored() {
        let steps =
            [step(Some("old\n"), "old\n\none\n"), step(Some("old\n\none\n"), "old\n\none\ntwo\n")];
        let lines = vec!["one".to_owned(), "two".to_owned()];
        let expect = ForgetOutcome::Cut { text: topic("old\n"), lines, whole: true };
        assert_eq!(forget(&topic("old\n\none\ntwo\n"), &steps), expect);
    }

    #[test]
    fn lines_of_others_stay() {
        let steps = [step(None, "one\n"), step(Some("one\nby hand\n"), "one\nby hand\ntwo\n")];
        let now = topic("# Title\n\none\n\nby hand\n\ntwo\n\nlater\n");
        let ForgetOutcome::Cut { text, lines, whole: false } = forget(&now, &steps) else {
            panic!("{now}")
        };
        assert_eq!(
            (text, lines.join("|")),
            (topic("# Title\n\nby hand\n\nlater\n"), "one|two".to_owned())
        );
        // The session wrote last, but others wrote between its changes.
        let now = topic("one\nby hand\ntwo\n");
        let expect = topic("by hand\n");
        let forgotten = forget(&now, &steps);
        assert!(
            matches!(&forgotten, ForgetOutcome::Cut { text, whole: false, .. } if *text == expect),
            "{forgotten:?}"
        );
        // Only the session's text is left.
        let now = topic("two\n");
        assert_eq!(forget(&now, &steps), ForgetOutcome::Removed { lines: vec!["two".to_owned()] });
        assert_eq!(forget(&topic("all new\n"), &steps), ForgetOutcome::Nothing);
        assert_eq!(forget(&topic("x\n"), &[]), ForgetOutcome::Nothing);
    }

    #[test]
    fn what_explains_another_sessions_statement_stays() {
        let frame = "The user said so on 2026-05-04. How to apply: follow it.";
        let first = format!("> one\n\n{frame}\n");
        let both = format!("{first}\n> two\n\n{frame}\n");
        let ForgetOutcome::Cut { text, lines, .. } = forget(&topic(&both), &[step(None, &first)])
        else {
            panic!("{both}")
        };
        assert_eq!(
            (text, &lines[..]),
            (topic(&format!("> two\n\n{frame}\n")), &["> one".to_owned()][..])
        );
    }
}
