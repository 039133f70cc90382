//! What the user said, without the texts that programs write in the user's name.

use std::sync::Arc;

use bethink_transcript::text::{self, shorten, shorten_at_word};
use bethink_transcript::{Seq, UnixMicros, typed};

use crate::choice;
use crate::middle::without_middle;
use crate::prose::passages;

/// The kind of statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SaidKind {
    /// A request, a question, a remark.
    #[default]
    Ask,
    /// Rules something out or changes direction.
    Correction,
    /// A short reply to a question from the assistant.
    Answer,
    /// A summary of an earlier session that a client wrote in the user's name.
    Handover,
}

/// A statement, and the message that contains it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedStatement {
    pub seq: Seq,
    pub text: Arc<str>,
    pub kind: SaidKind,
    /// When it was said.
    pub at: UnixMicros,
    /// The question that the statement answers.
    pub question: Option<Arc<str>>,
    /// The assistant's last sentence before this statement.
    pub claim: Option<Arc<str>>,
    /// Whether the assistant ended a turn with this statement.
    pub ends_turn: bool,
}

impl RecordedStatement {
    pub fn new(seq: Seq, text: &str) -> Self {
        Self { seq, text: text.into(), ..Self::default() }
    }

    /// Whether this is the client's note that the user interrupted the assistant.
    pub fn is_interruption(&self) -> bool {
        self.text.starts_with("[Request interrupted by user")
    }

    /// Whether the user says that the session's task is another one from now on.
    pub fn changes_task(&self) -> bool {
        /// Number of characters at the beginning of the text that are searched.
        const BEGINNING: usize = 200;
        const WORDS: &str = "new task|different task|stop working on|change of plan|neue aufgabe|nouvelle tâche|nueva tarea|\
            nova tarefa|nuovo compito|nieuwe taak|新しいタスク|新任务|新しい作業";
        let start: String = self.text.chars().take(BEGINNING).collect();
        let start = start.to_lowercase();
        let mut clauses = start.split_inclusive(['.', '!', '?', ':', ',', ';', '\n', '。', '、']);
        clauses.any(|clause| {
            let clause = clause.trim_start();
            !clause.ends_with('?') && WORDS.split('|').any(|words| clause.starts_with(words))
        })
    }

    /// Splits the user's answers to several questions into one statement per question. Any other statement is returned
    /// unchanged.
    pub fn in_parts(&self) -> Vec<Self> {
        let pair = |part: &str| {
            let (question, answer) = part.split_once("\"=\"")?;
            let own = |text: &str| Arc::from(text.trim_matches('"'));
            Some(Self { text: own(answer), question: Some(own(question)), ..self.clone() })
        };
        let pairs: Option<Vec<Self>> = self.text.split("\", \"").map(pair).collect();
        let is_answer = self.kind == SaidKind::Answer && self.text.starts_with('"');
        pairs.filter(|_| is_answer).unwrap_or_else(|| vec![self.clone()])
    }

    fn of(self, kind: SaidKind) -> Self {
        Self { kind, ..self }
    }
}

/// Maximum size of a statement, in bytes. A longer statement, such as one with a pasted log, keeps its beginning and
/// end, because people write their request before or after what they paste.
const USER_BYTES: usize = 200_000;
/// Maximum size, in bytes, of a reply that is stored together with the question it answers.
const REPLY_BYTES: usize = 160;
/// Maximum length of a kept question, option or claim, in characters.
const QUESTION_CHARS: usize = 240;

const HANDOVER: &str = "This session is being continued from a previous conversation";
/// Text before the user's words in the result of a tool call that the user rejected.
const REFUSED: &str = "the user said:\n";
/// Text before a person's answers to multiple-choice questions.
const ANSWERED: &str = "User has answered your questions: ";
const ANSWERED_END: &str = ". You can now continue";

/// Returns the user's own words in `text`, if there are any.
pub(crate) fn by_user(
    seq: Seq,
    text: &str,
    before: Option<&RecordedStatement>,
) -> Option<RecordedStatement> {
    let text = typed::without_reminders(text);
    let words = text.trim();
    if let Some(arguments) = typed::command_arguments(words) {
        return Some(RecordedStatement::new(seq, arguments));
    }
    if words.is_empty() || typed::is_machine_made(words) {
        return None;
    }
    let kind = kind(words);
    if kind == SaidKind::Handover {
        return Some(RecordedStatement::new(seq, &handed_over(words)).of(kind));
    }
    let mut said = RecordedStatement::new(seq, &without_middle(words, USER_BYTES)).of(kind);
    said.claim = before.and_then(|said| claim(&said.text));
    if words.len() <= REPLY_BYTES {
        said.question = before.and_then(|offer| question(&offer.text, words));
        if said.question.is_some() && said.kind == SaidKind::Ask && !words.ends_with('?') {
            said.kind = SaidKind::Answer;
        }
    }
    Some(said)
}

/// Returns the user's words in a tool result: why they rejected the call, or what they chose.
pub(crate) fn in_result(
    seq: Seq,
    text: &str,
    before: Option<&RecordedStatement>,
) -> Option<RecordedStatement> {
    let said = |words| RecordedStatement {
        claim: before.and_then(|said| claim(&said.text)),
        ..RecordedStatement::new(seq, &without_middle(words, USER_BYTES))
    };
    if text.starts_with("The user doesn't want to proceed")
        && let Some((_, words)) = text.split_once(REFUSED)
    {
        let words = words.trim();
        // A person may also reject a call in order to ask something or to gain time.
        let pauses = words.ends_with('?')
            || ["hang on", "wait", "hold on"].iter().any(|opening| {
                words.get(..opening.len()).is_some_and(|start| start.eq_ignore_ascii_case(opening))
            });
        return Some(said(words).of(if pauses { SaidKind::Ask } else { SaidKind::Correction }));
    }
    let answers = text.strip_prefix(ANSWERED)?;
    let answers = answers.split(ANSWERED_END).next().unwrap_or(answers);
    Some(said(answers).of(SaidKind::Answer))
}

/// Whether a client wrote this in the assistant's name, because an answer must not be empty.
pub(crate) fn is_filler(text: &str) -> bool {
    ["No response requested.", "(no content)"].contains(&text)
}

/// Extracts the request, the pending tasks and the current work from the summary of an earlier session.
fn handed_over(words: &str) -> String {
    const WANTED: [&str; 3] = ["Primary Request", "Pending Tasks", "Current Work"];
    const SECTION_BYTES: usize = 900;
    // A draft with the same headings may precede the summary.
    let account = words.find("\nSummary:").and_then(|at| words.get(at..)).unwrap_or(words);
    let in_short = |text: &str| shorten(&text::one_line(text), SECTION_BYTES);
    let sections: Vec<String> =
        WANTED.iter().filter_map(|wanted| section(account, wanted)).map(&in_short).collect();
    match sections.is_empty() {
        true => in_short(words),
        false => sections.join(" | "),
    }
}

/// Returns the numbered section whose heading contains `wanted`, including the heading.
fn section<'a>(text: &'a str, wanted: &str) -> Option<&'a str> {
    let is_heading = |line: &str| {
        let line = line.trim_start_matches(['#', '*', ' ']);
        line.split_once(['.', ')']).is_some_and(|(n, _)| n.parse::<u8>().is_ok_and(|n| n <= 20))
    };
    let mut start = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        // Numbered items inside a section are indented, headings are not.
        if is_heading(line) && !line.starts_with(' ') {
            if let Some(start) = start {
                return text.get(start..at);
            }
            if line.contains(wanted) {
                start = Some(at);
            }
        }
        at += line.len();
    }
    start.and_then(|start| text.get(start..))
}

fn kind(words: &str) -> SaidKind {
    if words.starts_with(HANDOVER) {
        SaidKind::Handover
    } else if is_correction(words) {
        SaidKind::Correction
    } else {
        SaidKind::Ask
    }
}

/// Whether the user rules something out or changes direction.
fn is_correction(text: &str) -> bool {
    const OPENINGS: &str = "no,|no |no.|nope|don't|do not|please don't|stop |actually|instead|never |not like|not that|\
        that's wrong|that is wrong|that's not|this is wrong|wrong|revert|undo|hmm, no|wait, no";
    /// Words that can begin a request such as "use X instead".
    const WISHES: &str = "use|let's|lets|can we|could we|can you|please|make|call|rename|keep|put|do|we |i |it |just";
    const INSIDE: &str = "don't want |do not want |we don't need |should not be |shouldn't be |let's not |\
        let's avoid |let's drop |let's just drop |it's not expected |rather not ";
    /// Words that express agreement after a "no", as in "no problem".
    const AGREES: &str = "fine|okay|thank|problem|worries|good|idea|need to worry|changes needed";
    /// Maximum size of a correction, in bytes: a longer text may contain the words by chance.
    const SHORT: usize = 600;
    /// Number of characters at the beginning of the text that are searched for these words.
    const BEGINNING: usize = 60;
    if text.trim_end().ends_with('?') && !text.contains(" instead") {
        return false;
    }
    let text = text.trim_start().to_lowercase();
    let start: String = text.chars().take(BEGINNING).collect();
    if OPENINGS.split('|').any(|opening| start.starts_with(opening)) {
        let said_no = start.starts_with("no");
        return !said_no || !AGREES.split('|').any(|words| start.contains(words));
    }
    let wishes = WISHES.split('|').any(|opening| start.starts_with(opening));
    text.len() <= SHORT
        && (INSIDE.split('|').any(|words| text.contains(words))
            || wishes && start.contains(" instead"))
}

/// Returns the last question at the end of a text, together with the option that the reply chooses.
fn question(text: &str, reply: &str) -> Option<Arc<str>> {
    /// Number of passages at the end of the text that are searched for a question.
    const LAST: usize = 6;
    let passages = passages(text);
    let mut last =
        passages.iter().rev().take(LAST).filter(|p| !p.is_code && !p.text.starts_with('|'));
    let question = last.find(|passage| passage.text.trim_end_matches('*').ends_with('?'))?.text;
    if question.len() <= 8 {
        return None;
    }
    let question = shorten_at_word(question, QUESTION_CHARS);
    Some(match choice::chosen(text, reply) {
        Some(option) => {
            format!("{question} Chosen: {}", shorten_at_word(&option, QUESTION_CHARS)).into()
        }
        None => question.into(),
    })
}

/// Returns the last sentence of a text, without code and tables.
fn claim(text: &str) -> Option<Arc<str>> {
    let passages = passages(text);
    let mut last = passages.iter().rev().filter(|p| !p.is_code && !p.text.starts_with('|'));
    last.next().map(|passage| shorten_at_word(passage.text, QUESTION_CHARS).into())
}

/// Joins the strings in a tool's input.
pub fn readable(input: &str) -> String {
    let mut text = String::with_capacity(input.len());
    bethink_transcript::json::for_each_json_string(input, |value| {
        text.push_str(value);
        text.push('\n');
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, before: Option<&str>) -> Option<(SaidKind, String, Option<String>)> {
        let before = before.map(|text| RecordedStatement::new(Seq(1), text));
        let said = by_user(Seq(2), text, before.as_ref())?;
        Some((said.kind, said.text.to_string(), said.question.map(|q| q.to_string())))
    }

    #[test]
    fn texts_by_programs_are_not_the_users() {
        for text in [
            "<local-command-stdout>Bye!</local-command-stdout>",
            "<command-name>/exit</command-name>\n<command-args></command-args>",
            "<task-notification>\n<task-id>a</task-id>",
            "Base directory for this skill: /proj/skills/x",
            "<system-reminder>be brief</system-reminder>",
            " \n ",
        ] {
            assert_eq!(said(text, None), None, "{text}");
        }
        let command =
            "<command-message>go</command-message>\n<command-args>make a list</command-args>";
        assert_eq!(said(command, None).unwrap().1, "make a list");
    }

    #[test]
    fn a_short_reply_keeps_its_question() {
        let asked = "Two ways:\n1. a file\n2. a table\n\nWhich do you prefer?";
        let (kind, _, question) = said("2", Some(asked)).unwrap();
        assert_eq!(kind, SaidKind::Answer);
        assert_eq!(question.as_deref(), Some("Which do you prefer? Chosen: 2. a table"));
        assert_eq!(said("2", Some("Done.")).unwrap().2, None);
        assert_eq!(said(&"long ".repeat(60), Some(asked)).unwrap().2, None);
    }

    #[test]
    fn a_statement_keeps_what_the_assistant_said_last() {
        let before = RecordedStatement::new(Seq(1), "I did it. I also added a cache.\n```\nx\n```");
        let said = by_user(Seq(2), "no, remove it again", Some(&before)).unwrap();
        assert_eq!(said.claim.as_deref(), Some("I also added a cache."));
        assert_eq!(by_user(Seq(2), "remove it", None).unwrap().claim, None);
    }

    #[test]
    fn corrections_differ_from_requests() {
        let check =
            |text: &str, kind: SaidKind| assert_eq!(said(text, None).unwrap().0, kind, "{text}");
        check("no, keep the old name", SaidKind::Correction);
        check("I would like a new crate here", SaidKind::Ask);
        check("we don't want that", SaidKind::Correction);
        check("use a table instead of a file", SaidKind::Correction);
        check("now add a table", SaidKind::Ask);
        check(
            "This session is being continued from a previous conversation that …",
            SaidKind::Handover,
        );
    }

    #[test]
    fn a_handover_keeps_the_request_and_the_pending_tasks() {
        let account = "This session is being continued from a previous conversation that ran out of \
            context.\n\nAnalysis:\n1. Primary Request: drafted\n\nSummary:\n1. Primary Request and Intent:\n   \
            - fix the gauge\n2. Key Technical Concepts:\n   - tides\n7. Pending Tasks:\n   1. paint it\n\
            8. Current Work:\n   painting\n";
        let (kind, text, _) = said(account, None).unwrap();
        assert_eq!(kind, SaidKind::Handover);
        assert_eq!(
            text,
            "1. Primary Request and Intent: - fix the gauge | 7. Pending Tasks: 1. paint it | 8. Current Work: painting"
        );
        let bare =
            "This session is being continued from a previous conversation. It was about tides.";
        assert_eq!(said(bare, None).unwrap().1, bare);
    }

    #[test]
    fn the_user_speaks_in_rejections_and_answers() {
        let refused = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nuse the helper";
        let found = in_result(Seq(3), refused, None).unwrap();
        assert_eq!((found.kind, &*found.text), (SaidKind::Correction, "use the helper"));
        let answered = "User has answered your questions: \"Where?\"=\"Apart\". You can now continue with the user's answers in mind.";
        let found = in_result(Seq(3), answered, None).unwrap();
        assert_eq!(&*found.text, "\"Where?\"=\"Apart\"");
        let two = RecordedStatement {
            text: "\"Where?\"=\"Apart\", \"How?\"=\"With care\"".into(),
            ..found
        };
        let parts = two.in_parts().into_iter().map(|part| (part.question.unwrap(), part.text));
        assert_eq!(
            parts.collect::<Vec<_>>(),
            [("Where?".into(), "Apart".into()), ("How?".into(), "With care".into())]
        );
        let other = RecordedStatement::new(Seq(1), "he wrote \"a\"=\"b\"");
        assert_eq!(other.in_parts(), std::slice::from_ref(&other));
        assert_eq!(in_result(Seq(3), "ok", None), None);
        assert_eq!(in_result(Seq(3), &"x".repeat(10_000), None), None);
    }
}
