//! `notes`: shows the notes of a session. Notes are read-only here: only a person and the daemon write them. An agent
//! that wants to store something uses `remember`.

use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::{Answered, Effect, ToolAnswer, tool};
use crate::NOTES_BYTES;
use crate::client::McpClient;
use crate::untrusted::{cut, fenced};
use bethink_memdir::prompt::guarded;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NotesInput {
    /// A session ID, or "last": the newest in this worktree
    session_id: Option<String>,
    /// Absolute path of a project other than the client's
    project_dir: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NotesOutput {
    session_id: String,
    /// The newest message that the notes cover
    through_seq: u64,
    text: String,
    truncated: bool,
}

pub(crate) fn described() -> Tool {
    tool::<NotesInput, NotesOutput>(
        "notes",
        "Notes",
        Effect::Reads,
        "Read a session's notes: its topic, current state, files, errors and how they were resolved.",
    )
}

pub(crate) async fn call(client: McpClient, input: NotesInput) -> Answered<NotesOutput> {
    let id = client.session(input.session_id, input.project_dir).await?;
    let notes = client.daemon.notes.notes(id).await?;
    let (shown, truncated) = cut(&notes.text, NOTES_BYTES);
    let through = notes.through;
    let text = format!("Notes of session {id}, up to its message {through}.\n{}", fenced(shown));
    let output = NotesOutput {
        session_id: id.to_string(),
        through_seq: through,
        text: guarded(shown).into_owned(),
        truncated,
    };
    Ok(ToolAnswer::new(output, text))
}
