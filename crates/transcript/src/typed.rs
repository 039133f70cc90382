//! Finds what a person typed: a user message's text without what programs added to it.

use std::borrow::Cow;

use crate::text::{one_line, shorten_at_word};

/// Beginnings of texts that clients write in the user's name.
const MACHINE_MADE: &str = include_str!("machine-made.txt");
/// Beginnings of the message with which a client ends a made-up conversation that shows the model how to answer.
const EXAMPLES_END: [&str; 1] = ["I switched to a new code base."];
/// First lines that say nothing about what is asked.
const BOILERPLATE: &str = include_str!("title-boilerplate.txt");
/// A title is the first paragraph of a prompt, cut at the end of a word to this many characters. Lists cut it again to their
/// width.
const TITLE_CHARS: usize = 200;

/// Whether a client wrote this text in the user's name.
pub fn is_machine_made(text: &str) -> bool {
    MACHINE_MADE.lines().any(|beginning| text.starts_with(beginning))
}

/// Whether the text begins with an element of HTML or of a component. Clients give the elements that they insert names with `_` or
/// `-`.
pub fn is_markup(text: &str) -> bool {
    let text = without_reminders(text);
    let Some(element) = text.trim().strip_prefix('<') else { return false };
    let name = element.trim_start_matches(['!', '/']);
    let rest = name.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
    rest.len() < name.len() && !rest.starts_with(['_', '-']) && !is_machine_made(text.trim())
}

/// Whether the messages up to this one are examples that the client made up.
pub fn ends_examples(text: &str) -> bool {
    EXAMPLES_END.iter().any(|beginning| text.trim_start().starts_with(beginning))
}

/// Returns what was typed after a slash command; `None` if the text is not a command, or has no arguments.
pub fn command_arguments(text: &str) -> Option<&str> {
    let (head, rest) = text.split_once("<command-args>")?;
    if !head.starts_with("<command-") {
        return None;
    }
    let arguments = rest.split("</command-args>").next().unwrap_or(rest).trim();
    (!arguments.is_empty()).then_some(arguments)
}

/// Returns the text without the elements that clients add to it: `<system-reminder>` and `<hook_context>`. Everything from
/// the first reminder's tag to the last one is removed, because text that a reminder quotes may contain such tags. If an
/// element is not closed, the rest of the text is removed, too.
pub fn without_reminders(text: &str) -> Cow<'_, str> {
    const OPEN: &str = "<system-reminder>";
    const CLOSE: &str = "</system-reminder>";
    let text = without_hook_contexts(text);
    let Some((before, reminders)) = text.split_once(OPEN) else { return text };
    let after = match (reminders.rfind(OPEN), reminders.rfind(CLOSE)) {
        (open, Some(close)) if open.is_none_or(|open| open < close) => {
            &reminders[close + CLOSE.len()..]
        }
        _ => "",
    };
    Cow::Owned(format!("{before}{after}"))
}

/// Removes what hooks returned to Gemini CLI, which adds it before and after the user's text. It escapes angle brackets, so
/// an element cannot contain tags.
fn without_hook_contexts(text: &str) -> Cow<'_, str> {
    let mut parts = text.split("<hook_context>");
    let before = parts.next().unwrap_or_default();
    if before.len() == text.len() {
        return Cow::Borrowed(text);
    }
    let after = parts.filter_map(|part| part.split_once("</hook_context>"));
    Cow::Owned(after.fold(before.to_owned(), |kept, (_, rest)| kept + rest))
}

/// Returns the words that a person typed; empty if a client wrote the whole text. Of a slash command, these are its arguments.
pub fn words(text: &str) -> String {
    let text = without_reminders(text);
    let mut text = text.trim();
    if let Some(arguments) = command_arguments(text) {
        return arguments.to_owned();
    }
    while is_machine_made(text)
        && let Some(rest) = after_element(text)
    {
        text = rest.trim_start();
    }
    if is_machine_made(text) { String::new() } else { text.to_owned() }
}

/// Returns a title for a session that begins with this prompt: the first paragraph that a person typed, on one line,
/// without heading marks. `None` if no part of the prompt was typed.
pub fn title(prompt: &str) -> Option<String> {
    let text = without_reminders(prompt);
    let mut text = text.trim();
    if let Some(arguments) = command_arguments(text) {
        text = arguments;
    }
    while let Some(rest) = after_element(text) {
        text = rest.trim_start();
    }
    if text.starts_with('<') || is_machine_made(text) {
        return None;
    }
    let mut title = String::new();
    for paragraph in text.split("\n\n") {
        let plain = paragraph.lines().map(|line| line.trim_start_matches(['#', ' ', '\t']));
        let mut lines = plain.filter(|line| !line.is_empty()).peekable();
        if lines.peek().is_none_or(|first| is_boilerplate(first.trim_end())) {
            continue;
        }
        title.push_str(if title.is_empty() { "" } else { " " });
        title.push_str(&one_line(&lines.collect::<Vec<_>>().join(" ")));
        if !title.ends_with(':') {
            break;
        }
    }
    Some(shorten_at_word(&title, TITLE_CHARS)).filter(|title| !title.is_empty())
}

/// Returns what follows the element that `text` begins with. Clients put facts about the machine into such elements.
fn after_element(text: &str) -> Option<&str> {
    let name = text.strip_prefix('<')?.split(['>', ' ', '\n']).next()?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    text.split_once(&format!("</{name}>")).map(|(_, after)| after)
}

fn is_boilerplate(line: &str) -> bool {
    BOILERPLATE.lines().any(|known| match known.strip_suffix('…') {
        Some(beginning) => line.starts_with(beginning),
        None => line == known,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_what_a_person_typed_first() {
        let check = |prompt: &str, expect: &str| {
            assert_eq!(title(prompt).unwrap_or_default(), expect, "{prompt}");
        };
        check("Do this:\n\n  first\tthen ", "Do this: first then");
        check("fix the\n  tests\n\nAnd then more", "fix the tests");
        check("  ", "");
        check("<command-name>x</command-name>", "");
        check(
            "<command-name>/do</command-name>\n<command-args>make a list</command-args>",
            "make a list",
        );
        check("<system-reminder>\n# Environment\nx\n</system-reminder>\nFix it", "Fix it");
        check("<environment_context>\n<cwd>/x</cwd>\n</environment_context>\n\nFix it", "Fix it");
        check("<div> is not closed: why?", "");
        check(
            "Implement the following plan:\n\n# Plan: Add a version\n\n## Why",
            "Plan: Add a version",
        );
        check("# Environment\n- Primary working directory: /x\n\nFix it", "Fix it");
        check("The following skills are available: a, b\n\nFix it", "Fix it");
        check(
            "Caveat: The messages below were generated by the user while running local commands",
            "",
        );
        check("I have *added these files to the chat* so you can go ahead and edit them.", "");
        check("[Old tool result content cleared]", "");
        check("# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>", "");
    }

    #[test]
    fn words_are_what_a_person_typed() {
        let check = |text: &str, expect: &str| assert_eq!(words(text), expect, "{text}");
        check("Fix it.\n\nThen test it.\n", "Fix it.\n\nThen test it.");
        check("<system-reminder>\n# Skills\n</system-reminder>\nFix it", "Fix it");
        check("<system-reminder>\n# Skills\n</system-reminder>", "");
        check("<environment_context>\n/x\n</environment_context>\n\nFix it", "Fix it");
        check("<command-name>/do</command-name>\n<command-args>a list</command-args>", "a list");
        check("<local-command-stdout>x</local-command-stdout>", "");
        check("# AGENTS.md instructions for /x\n\nBe brief.", "");
        check("<div>red</div> why?", "<div>red</div> why?");
    }

    #[test]
    fn a_reminder_cannot_end_itself() {
        let check =
            |text: &str, expect: &str| assert_eq!(without_reminders(text), expect, "{text}");
        check("a <system-reminder>b</system-reminder> c", "a  c");
        let quoted = "<system-reminder>x</system-reminder>\nnot the user's\n<system-reminder>y";
        check(&format!("{quoted}</system-reminder> c"), " c");
        check(quoted, "");
        check("a</system-reminder> b", "a</system-reminder> b");
        check("Paint it.<hook_context>A memory.</hook_context>", "Paint it.");
        check("<hook_context>A</hook_context>Paint it.<hook_context>B</hook_context>", "Paint it.");
        check("Paint it.<hook_context>A", "Paint it.");
        check("a <hook_context>b</hook_context><system-reminder>c</system-reminder> d", "a  d");
    }

    #[test]
    fn a_long_title_is_cut_at_a_word() {
        assert_eq!(title(&"word ".repeat(200)).unwrap(), format!("{}word …", "word ".repeat(39)));
        assert_eq!(title(&"é".repeat(1000)).unwrap(), format!("{} …", "é".repeat(200)));
    }
}
