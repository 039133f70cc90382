//! Formats instruction files for a model.

use bethink_memdir::prompt::guarded;

use crate::report::{InstructionKind, LoadedInstruction, SkipReason};

const INTRODUCTION: &str = "\
# Instructions

These instructions were written by the person you work for and by the people who work on this project. Follow them: \
they take precedence over your defaults. If two of them conflict, follow the later one, because it is more specific.";

/// Formats the chain for the project part of the system prompt. Returns `None` if there are no files.
pub fn part(chain: &[LoadedInstruction]) -> Option<String> {
    if chain.is_empty() {
        return None;
    }
    let files: String = chain.iter().map(|file| format!("\n\n{}", block(file))).collect();
    Some(format!("{INTRODUCTION}{files}"))
}

/// Formats a file that applies because another file was touched, for the end of the prompt.
pub fn attachment(file: &LoadedInstruction) -> String {
    format!(
        "<system-reminder>These instructions now apply as well, because {}.\n{}\n</system-reminder>",
        clean(&file.why.to_string()),
        block(file)
    )
}

/// Returns whether an attachment shows the file's current text, regardless of the reason that the attachment gives.
pub fn says(attachment: &str, file: &LoadedInstruction) -> bool {
    attachment.contains(&block(file))
}

fn block(file: &LoadedInstruction) -> String {
    format!(
        "<instructions file=\"{}\" kind=\"{}\">\n{}\n</instructions>",
        clean(&file.path.display().to_string()),
        kind(file),
        guarded(&file.content)
    )
}

/// Describes who the instructions are for.
fn kind(file: &LoadedInstruction) -> String {
    let whose = match file.kind {
        InstructionKind::Managed => "for everyone on this machine",
        InstructionKind::User => "the user's own, for all projects",
        InstructionKind::Project => "for everyone who works on this project",
        InstructionKind::Local => "the user's own, for this project",
        InstructionKind::Rule => match (&file.why, file.patterns.as_slice()) {
            (SkipReason::Matched { .. }, patterns) => {
                return format!("rule: for files that match {}", clean(&patterns.join(", ")));
            }
            _ => "for all files",
        },
        InstructionKind::Import => {
            let by = file.imported_by.as_ref().map(|path| path.display().to_string());
            return format!("imported by {}", clean(&by.unwrap_or_default()));
        }
    };
    format!("{}: {whose}", file.kind)
}

/// Returns the text as one line without quotation marks, so that a file's name cannot inject text.
fn clean(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '"' => '\'',
            '<' | '>' => '_',
            c if c.is_control() => '_',
            c => c,
        })
        .collect()
}
