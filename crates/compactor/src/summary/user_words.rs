//! The user's own words, verbatim: newest first, as many as fit, with a note of how many were left out.

use std::collections::HashSet;

use bethink_facts::rows::mark;
use bethink_facts::{RecordedStatement, SaidKind, without_middle};
use bethink_transcript::Seq;

use crate::ladder::SummaryRequest;

use super::page::SummaryPage;

/// Maximum share of the section for one older message, as a divisor, so that a pasted log does not displace requests.
/// The passages of a longer message compete with the other statements.
const ONE_MESSAGE: usize = 3;
/// Room for the note of how many messages are not shown, in bytes.
const LEFT_OUT_BYTES: usize = 160;

/// Writes the user's messages that are not in the kept tail, in full and newest first, in up to `limit` bytes. Only the newest
/// one is shortened if it does not fit. Returns the text and the messages that it shows.
pub(crate) fn user_words(request: &SummaryRequest<'_>, limit: usize) -> (String, HashSet<Seq>) {
    let user = request.facts.user.iter();
    // A summary that a client wrote in the user's name is in the first section.
    let said = user.filter(|said| request.is_hidden(said.seq) && is_own(said));
    let said: Vec<&RecordedStatement> = said.collect();
    list(&said, limit)
}

/// Whether the user wrote the statement, rather than a client in the user's name.
pub(super) fn is_own(said: &RecordedStatement) -> bool {
    said.kind != SaidKind::Handover && !said.is_interruption()
}

fn list(said: &[&RecordedStatement], limit: usize) -> (String, HashSet<Seq>) {
    let mut page = SummaryPage::new(limit);
    let mut shown = HashSet::new();
    let all: usize = said.iter().map(|said| row(said).len() + 1).sum();
    let note = if all <= limit { 0 } else { LEFT_OUT_BYTES };
    for (age, message) in said.iter().rev().enumerate() {
        let whole = row(message);
        let room = page.left().saturating_sub(note);
        let most = if age == 0 || all <= limit { room } else { room.min(limit / ONE_MESSAGE) };
        if whole.len() < most {
            page.line(&whole);
            shown.insert(message.seq);
        } else if age == 0 {
            // The next turn is about this message, so its beginning and its end are both shown.
            let mark = format!("{} ", mark(message.seq));
            let room = page.left().saturating_sub(mark.len() + CUT_NOTE_BYTES + note);
            page.line(&format!("{mark}{}", without_middle(&message.text, room)));
        }
    }
    let left_out: Vec<Seq> =
        said.iter().map(|s| s.seq).filter(|seq| !shown.contains(seq)).collect();
    if let (Some(first), Some(last)) = (left_out.first(), left_out.last()) {
        let how_many = left_out.len();
        page.line(&format!(
            "(long or older user messages that are not shown in full: {how_many}, from {} to {}; `bethink history --message NUMBER` shows a message)",
            mark(*first), mark(*last)
        ));
    }
    (page.finish(), shown)
}

/// Formats a statement: `[12] keep the lease (asked: renew it?)`.
fn row(message: &RecordedStatement) -> String {
    format!("{} {}{}", mark(message.seq), message.text, question(message))
}

/// Returns the question that a short reply answers; without it, the reply makes no sense.
pub(super) fn question(message: &RecordedStatement) -> String {
    message.question.as_ref().map(|question| format!(" (asked: {question})")).unwrap_or_default()
}

/// Room for the note in the middle of a message that was cut, in bytes.
const CUT_NOTE_BYTES: usize = 48;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(limit: usize, texts: &[&str], expect: &str) {
        let said: Vec<RecordedStatement> = texts
            .iter()
            .enumerate()
            .map(|(i, text)| RecordedStatement::new(Seq(i as u64 + 1), text))
            .collect();
        let (text, _) = list(&said.iter().collect::<Vec<_>>(), limit);
        assert_eq!(text, expect);
    }

    #[test]
    fn messages_are_shown_whole_newest_first_with_a_note_of_the_others() {
        check(1_000, &["one", "two\nlines"], "[2] two\nlines\n[1] one\n");
        let long = "long ".repeat(40);
        let note = "(long or older user messages that are not shown in full: 1, from [2] to [2]; \
            `bethink history --message NUMBER` shows a message)";
        check(220, &["first", &long, "third"], &format!("[3] third\n[1] first\n{note}\n"));
    }

    #[test]
    fn only_a_newest_message_that_does_not_fit_is_cut() {
        let giant = format!("START {} END", "x".repeat(90_000));
        let said = RecordedStatement::new(Seq(7), &giant);
        let (text, shown) = list(&[&said], 2_000);
        assert!(text.starts_with("[7] START") && text.contains(" END\n"), "{text}");
        assert!(text.len() <= 2_000 && text.contains("bytes left out"), "{text}");
        assert!(shown.is_empty());
    }
}
