//! The prompt for a model that writes a summary. It follows the session's newest message.

use bethink_transcript::text::plain;

use super::compact_instructions::bounded;

/// The parts of the prompt that differ between summaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FullInstruction<'a> {
    /// What the summary must keep above all else, according to the person who asked for it.
    pub focus: Option<&'a str>,
    /// The project's instructions for every summary, see [`super::compact_instructions`].
    pub compact_instructions: Option<&'a str>,
    /// Maximum size of the summary in tokens, if known.
    pub summary_tokens: Option<u64>,
}

/// The task, the content of each section, and the rules for writing it.
const TASK: &str = include_str!("instruction.md");

const CLOSING: &str = "\
Now answer in text only: `<analysis>`, then `<summary>` with the nine sections. No tool calls, no \
greeting, no questions.
";

/// Renders the whole prompt. The person's focus is at the end.
pub fn instruction(what: &FullInstruction<'_>) -> String {
    let mut text = TASK.to_owned();
    if let Some(tokens) = what.summary_tokens {
        // English has about three words to four tokens; names and code have fewer.
        text.push_str(&format!(
            "- The summary may have at most {tokens} tokens, about {} words. The rest is cut off.\n",
            tokens / 3 * 2
        ));
    }
    if let Some(rules) = what.compact_instructions.and_then(|rules| bounded(&plain(rules))) {
        text.push_str(&format!(
            "\nThe project's instructions for summaries:\n<compact_instructions>\n{rules}\n</compact_instructions>\n"
        ));
    }
    text.push_str(&format!("\n{CLOSING}"));
    if let Some(focus) = what.focus.and_then(|focus| bounded(&plain(focus))) {
        text.push_str(&format!(
            "\nThe user asked for this summary. Above all, keep everything about this focus:\n<focus>\n{focus}\n</focus>\n"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::INSTRUCTIONS_BYTES;
    use crate::section::Section;

    #[test]
    fn every_section_is_requested() {
        let mut headings = TASK.lines().filter(|line| line.starts_with("## "));
        assert!(headings.by_ref().eq(Section::ALL.map(Section::heading)));
    }

    #[test]
    fn prompts_with_and_without_additions() {
        insta::assert_snapshot!("plain", instruction(&FullInstruction::default()));
        let wishes = FullInstruction {
            focus: Some("the tide table, not the \u{1b}[31mscheduler\u{1b}[0m\n"),
            compact_instructions: Some("Keep the numbers of tickets.\n"),
            summary_tokens: Some(12_000),
        };
        insta::assert_snapshot!("with_wishes", instruction(&wishes));
    }

    #[test]
    fn the_focus_is_last_and_bounded() {
        let long = "keep this line\n".repeat(10_000);
        let text =
            instruction(&FullInstruction { focus: Some(&long), ..FullInstruction::default() });
        assert!(text.ends_with("keep this line\n</focus>\n"), "{}", &text[text.len() - 80..]);
        let plain = instruction(&FullInstruction::default());
        assert!(text.starts_with(&plain) && text.len() < plain.len() + INSTRUCTIONS_BYTES + 150);
        let blank = FullInstruction {
            focus: Some(" \n"),
            compact_instructions: Some("\u{7}"),
            ..FullInstruction::default()
        };
        assert_eq!(instruction(&blank), plain);
    }
}
