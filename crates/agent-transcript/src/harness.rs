//! Texts that an agent's program writes in the user's name.

/// The tags and headings that such texts begin with, for all agents.
const BEGINNINGS: [&str; 17] = [
    "<environment_context>",
    "<environment_details>",
    "<user_instructions>",
    "<permissions instructions>",
    "<skills_instructions>",
    "<collaboration_mode>",
    "<subagent_notification>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<session_context>",
    "<task-notification>",
    "<system-reminder>",
    "<SYSTEM_NOTICE>",
    "<ide_selection>",
    "<workspace_metadata>",
    "# AGENTS.md instructions for ",
    "# Workspace Configuration",
];

pub(crate) fn is_from_program(text: &str) -> bool {
    let text = text.trim_start();
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
}
