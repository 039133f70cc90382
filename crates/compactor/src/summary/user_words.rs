//! The user's own words, verbatim: newest first, as many as fit, with a note of how many were left out.

use bethink_facts::rows::mark;
use bethink_facts::{RecordedStatement, SaidKind, without_middle};
use bethink_transcript::Seq;

use crate::ladder::SummaryRequest;

use super::page::{NONE, SummaryPage};

/// Maximum percentage of the section for one message, so that a pasted log does not displace the requests.
const ONE_MESSAGE_PERCENT: usize = 45;
/// The same for the newest message while it is unanswered.
const NEWEST_PERCENT: usize = 85;
/// Minimum size of a message that is cut, in bytes.
const LEAST_BYTES: usize = 200;
/// Room for the note of how many messages were left out, in bytes.
const LEFT_OUT_BYTES: usize = 120;

/// Writes up to `limit` bytes, without messages in the kept tail. Returns the oldest message that fits.
pub(super) fn write(
    page: &mut SummaryPage,
    request: &SummaryRequest<'_>,
    limit: usize,
) -> Option<Seq> {
    let user = request.facts.user.iter();
    // A summary that a client wrote in the user's name is in the first section.
    let said: Vec<&RecordedStatement> = user
        .filter(|said| request.is_hidden(said.seq) && said.kind != SaidKind::Handover)
        .collect();
    let newest = if is_unanswered(request) { NEWEST_PERCENT } else { ONE_MESSAGE_PERCENT };
    let shown = list(page, &said, limit, newest);
    said.get(said.len() - shown).map(|said| said.seq)
}

/// Returns the user's words in up to `limit` bytes, newest first; "- none" if there are none.
pub(crate) fn user_messages(request: &SummaryRequest<'_>, limit: usize) -> String {
    let mut page = SummaryPage::new(limit);
    write(&mut page, request, limit);
    let words = page.finish();
    if words.is_empty() { NONE.to_owned() } else { words }
}

/// Whether the newest summarized message is the user's, so that the next turn will answer it.
pub(crate) fn is_unanswered(request: &SummaryRequest<'_>) -> bool {
    let newest = request.facts.user.last();
    newest.is_some_and(|said| said.seq == request.facts.through && request.is_hidden(said.seq))
}

/// Lists the newest messages, and returns how many fit.
fn list(page: &mut SummaryPage, said: &[&RecordedStatement], limit: usize, newest: usize) -> usize {
    let mut shown = 0;
    for message in said.iter().rev() {
        let percent = if shown == 0 { newest } else { ONE_MESSAGE_PERCENT };
        let room = page.left().saturating_sub(1 + LEFT_OUT_BYTES);
        let text = fitted(message, (limit * percent / 100).min(room.max(LEAST_BYTES)));
        if text.len() + 1 + LEFT_OUT_BYTES > page.left() && shown + 1 < said.len() {
            break;
        }
        if !page.line(&text) {
            break;
        }
        shown += 1;
    }
    let left_out = said.len() - shown;
    if left_out > 0
        && let (Some(first), Some(last)) = (said.first(), said.get(left_out - 1))
    {
        page.line(&format!(
            "({left_out} older user messages are left out: messages {} to {}; `bethink history` shows them)",
            first.seq, last.seq
        ));
    }
    shown
}

/// Returns the whole message, or its beginning and end if it would fill the section by itself.
fn fitted(message: &RecordedStatement, limit: usize) -> String {
    let mark = format!("{} ", mark(message.seq));
    let whole = format!("{mark}{}{}", message.text, question(message));
    if whole.len() <= limit.max(LEAST_BYTES) {
        return whole;
    }
    let room = limit.max(LEAST_BYTES).saturating_sub(mark.len() + CUT_NOTE_BYTES);
    format!("{mark}{}", without_middle(&message.text, room))
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
        let mut page = SummaryPage::new(limit);
        list(&mut page, &said.iter().collect::<Vec<_>>(), limit, ONE_MESSAGE_PERCENT);
        assert_eq!(page.finish(), expect);
    }

    #[test]
    fn messages_are_listed_newest_first_with_a_note_of_omissions() {
        check(1_000, &["one", "two\nlines"], "[2] two\nlines\n[1] one\n");
        let long = "long ".repeat(20);
        let left_out =
            "(2 older user messages are left out: messages 1 to 2; `bethink history` shows them)";
        check(230, &["first", "second", &long], &format!("[3] {long}\n{left_out}\n"));
    }

    #[test]
    fn a_giant_message_keeps_its_beginning_and_its_end() {
        let giant = format!("START {} END", "x".repeat(90_000));
        let said = [RecordedStatement::new(Seq(7), &giant)];
        let mut page = SummaryPage::new(2_000);
        list(&mut page, &[&said[0]], 2_000, ONE_MESSAGE_PERCENT);
        let text = page.finish();
        assert!(text.starts_with("[7] START") && text.trim_end().ends_with("END"), "{text}");
        assert!(text.len() <= 2_000 && text.contains("bytes left out"), "{text}");
    }
}
