//! The prompt for a model that writes notes: the default instruction, or a person's own, filled in.

use bethink_tokens::text_tokens;
use bethink_transcript::edit_tool::EditShape;

use crate::budget::NotesBudget;
use crate::template::{OutlineFault, Template};

/// Maximum size of an instruction, in bytes: it is sent with every update.
pub const MAX_INSTRUCTION_BYTES: usize = 64 * 1024;

const NOTES: &str = "currentNotes";
const VARIABLES: [&str; 3] = [NOTES, "notesPath", "sectionSizes"];

const DEFAULT: &str = include_str!("instruction.md");

/// A text with variables, such as `{{currentNotes}}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotesInstruction(String);

impl Default for NotesInstruction {
    fn default() -> Self {
        Self(DEFAULT.to_owned())
    }
}

impl NotesInstruction {
    pub fn parse(bytes: &[u8]) -> Result<Self, OutlineFault> {
        let text = OutlineFault::check("instruction", bytes, MAX_INSTRUCTION_BYTES)?;
        let names: Vec<&str> = pieces(text).into_iter().filter_map(|(_, name)| name).collect();
        if let Some(name) = names.iter().find(|name| !VARIABLES.contains(name)) {
            let (name, known): (String, _) =
                (name.chars().take(60).collect(), VARIABLES.join(", "));
            return Err(OutlineFault(format!(
                "unknown variable {name:?}; the variables are {known}"
            )));
        }
        if !names.contains(&NOTES) {
            return Err(OutlineFault(format!(
                "{{{{{NOTES}}}}} is missing; without this variable, the model does not see the notes"
            )));
        }
        Ok(Self(text.to_owned()))
    }

    /// Renders the prompt of one update. It ends with a list of the sections that are over budget, and with directions
    /// for editing the notes.
    pub fn render(
        &self,
        template: &Template,
        notes: &str,
        path: &str,
        way: EditWay<'_>,
        budget: &NotesBudget,
    ) -> String {
        let sizes = sizes(template, notes);
        let listed: Vec<String> = sizes
            .iter()
            .map(|(heading, tokens)| format!("- {heading}: {tokens} of {}", budget.section))
            .collect();
        let values = [notes, path, &listed.join("\n")];
        let mut text = String::new();
        for (before, name) in pieces(&self.0) {
            text.push_str(before);
            // One pass: variables in the filled-in text are not replaced.
            let value = VARIABLES.iter().zip(values).find(|(known, _)| Some(**known) == name);
            text.push_str(value.map_or("", |(_, value)| value));
        }
        text.push_str(&reminders(&sizes, u64::from(text_tokens(notes)), budget));
        text.push_str(&way.instruction(path));
        text
    }
}

/// How a model changes the notes. A fork has its session's tools, which depend on the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditWay<'a> {
    Tool(&'a EditShape),
    /// Edits as text, see [`crate::text_edits`], because the session has no edit tool.
    Blocks,
}

const EMPTY_SECTION: &str = "\
To write in a section that has no lines yet, use the line in italics below its heading as the old text, \
and repeat that line at the beginning of the new text.";

const BLOCKS: &str = include_str!("instruction_blocks.md");

impl EditWay<'_> {
    fn instruction(self, path: &str) -> String {
        match self {
            EditWay::Tool(shape) => format!("\n{} {EMPTY_SECTION}\n", by_tool(shape, path)),
            EditWay::Blocks => format!("\n{} {EMPTY_SECTION}\n", BLOCKS.trim_end()),
        }
    }
}

fn by_tool(shape: &EditShape, path: &str) -> String {
    let command = if shape.has_command { "`command` `str_replace`, " } else { "" };
    let EditShape { tool, path: file, old, new, .. } = shape;
    format!(
        "How to change the notes: call `{tool}` with {command}`{file}` set to exactly `{path}`, `{old}` to text \
         that occurs exactly once in the notes, character for character, and `{new}` to the text to replace it \
         with. Make all edits in one answer, as several calls; each edit applies to the result of the edits \
         before it. Use no other tool and no other file: every other call is refused. Do not read the notes \
         again: the text above is complete. Stop when the edits are made."
    )
}

/// Splits text at its variables: each piece with the name of the variable after it. The last piece has none.
fn pieces(mut rest: &str) -> Vec<(&str, Option<&str>)> {
    let mut pieces = Vec::new();
    while let Some((before, after)) = rest.split_once("{{")
        && let Some((name, behind)) = after.split_once("}}")
    {
        pieces.push((before, Some(name.trim())));
        rest = behind;
    }
    pieces.push((rest, None));
    pieces
}

fn sizes(template: &Template, notes: &str) -> Vec<(String, u64)> {
    let size = |lines: &[String]| u64::from(text_tokens(&lines.join("\n")));
    let parts = template.read(notes).parts.into_iter();
    parts.map(|part| (part.heading, size(&part.lines))).collect()
}

fn reminders(sizes: &[(String, u64)], total: u64, budget: &NotesBudget) -> String {
    let over: Vec<String> = sizes
        .iter()
        .filter(|(_, tokens)| *tokens > budget.section)
        .map(|(heading, tokens)| format!("{heading} ({tokens} of {})", budget.section))
        .collect();
    let mut text = String::new();
    if total > budget.total {
        text.push_str(&format!(
            "\nThe notes have {total} tokens; at most {} are allowed. Shorten them now: start with Worklog \
             and Key Results, and shorten Current State and Errors & Corrections last.\n",
            budget.total
        ));
    }
    if !over.is_empty() {
        text.push_str(&format!("\nShorten these sections: {}.\n", over.join(", ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(instruction: &NotesInstruction, notes: &str) -> String {
        let budget = NotesBudget::default();
        let way = EditWay::Blocks;
        instruction.render(&Template::default(), notes, "/n.md", way, &budget)
    }

    #[test]
    fn prompts_with_and_without_a_tool() {
        let (template, budget) = (Template::default(), NotesBudget::default());
        let notes = template.bare();
        let prompt = |way: EditWay<'_>, notes: &str| {
            NotesInstruction::default().render(&template, notes, "/n/s.md", way, &budget)
        };
        let tools = r#"[{"name": "Edit", "input_schema": {"properties": {
            "file_path": {}, "old_string": {}, "new_string": {}}}}]"#;
        let shape = EditShape::find(tools).unwrap();
        insta::assert_snapshot!("with_a_tool", prompt(EditWay::Tool(&shape), &notes));
        let long =
            notes.replace("# Worklog\n", &format!("# Worklog\n{}", "- step\n".repeat(4_000)));
        let over = prompt(EditWay::Blocks, &long)
            .replace(&"- step\n".repeat(4_000), "- step (4,000 times)\n");
        insta::assert_snapshot!("as_text_over_budget", over);
        let editor = EditShape { has_command: true, ..shape };
        assert!(
            prompt(EditWay::Tool(&editor), "")
                .contains("with `command` `str_replace`, `file_path`")
        );
    }

    #[test]
    fn a_broken_instruction_says_what_is_wrong() {
        let check = |bytes: &[u8], expect: &str| {
            let fault = NotesInstruction::parse(bytes).unwrap_err().to_string();
            assert!(fault.contains(expect), "{fault}");
        };
        check(b"", "{{currentNotes}} is missing");
        check(b"{{notesPath}}", "{{currentNotes}} is missing");
        check(b"{{currentNotes}} {{ currentnotes }}", "unknown variable \"currentnotes\"");
        check(b"{{}}", "variables are currentNotes, notesPath, sectionSizes");
        check(b"\xff{{currentNotes}}", "offset 0");
        check(&vec![b'x'; 70_000], "70000 bytes; at most 65536 are allowed");
        check(b"{{currentNotes", "is missing");
    }

    #[test]
    fn variables_are_filled_in_once() {
        let own = NotesInstruction::parse(b"a {{currentNotes}} b {{ notesPath }} {x").unwrap();
        let text = render(&own, "{{notesPath}}");
        assert!(
            text.starts_with("a {{notesPath}} b /n.md {x\nHow to change the notes: you"),
            "{text}"
        );
    }

    #[test]
    fn the_default_shows_the_notes_their_path_and_sizes() {
        let text = render(&NotesInstruction::default(), "# Current State\n- alive\n");
        assert!(
            text.contains("- alive") && text.contains("/n.md") && !text.contains("{{"),
            "{text}"
        );
        let tokens = text_tokens("- alive\n");
        assert!(text.contains(&format!("\n- Current State: {tokens} of 2000\n")), "{text}");
        assert!(!text.contains("Shorten these sections"), "{text}");
    }

    #[test]
    fn sections_over_budget_are_listed() {
        let notes = format!("# Worklog\n{}\n# Learnings\nx\n", "word ".repeat(12_000));
        let text = render(&NotesInstruction::default(), &notes);
        assert!(text.contains("12000 are allowed"), "{text}");
        assert!(
            text.contains("Shorten these sections: Worklog (") && !text.contains(", Learnings (")
        );
    }
}
