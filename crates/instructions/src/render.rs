//! Instructions as the model reads them.

use bethink_memdir::prompt::guarded;

use crate::report::{InstructionKind, LoadedInstruction, SkipReason};

const INTRODUCTION: &str = "\
# Instructions

Written by the person you work for and by the people of this project. Follow them: they go before your \
defaults. Where two disagree, the later one counts, because it lies nearer to the work.";

/// The chain, for the system's project part; `None` when there is nothing to say.
pub fn part(chain: &[LoadedInstruction]) -> Option<String> {
    if chain.is_empty() {
        return None;
    }
    let files: String = chain.iter().map(|file| format!("\n\n{}", block(file))).collect();
    Some(format!("{INTRODUCTION}{files}"))
}

/// A file that a touched one brought in, to stand at the tail.
pub fn attachment(file: &LoadedInstruction) -> String {
    format!(
        "<system-reminder>Instructions that now hold as well: {}.\n{}\n</system-reminder>",
        clean(&file.why.to_string()),
        block(file)
    )
}

/// Whether an attachment shows the file as it is now, whatever brought it in then.
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

/// Whose words they are, and for whom.
fn kind(file: &LoadedInstruction) -> String {
    let whose = match file.kind {
        InstructionKind::Managed => "for everybody on this machine",
        InstructionKind::User => "the user's own, for all projects",
        InstructionKind::Project => "for everybody who works on this project",
        InstructionKind::Local => "the user's own, for this project",
        InstructionKind::Rule => match (&file.why, file.patterns.as_slice()) {
            (SkipReason::Matched { .. }, patterns) => {
                return format!("rule: for files that match {}", clean(&patterns.join(", ")));
            }
            _ => "for all files",
        },
        InstructionKind::Import => {
            let by = file.imported_by.as_ref().map(|path| path.display().to_string());
            return format!("import: by {}", clean(&by.unwrap_or_default()));
        }
    };
    format!("{}: {whose}", file.kind)
}

/// On one line and without quotes, so that a file's name cannot speak.
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
