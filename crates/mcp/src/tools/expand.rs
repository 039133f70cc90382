//! `expand`: the messages behind a summary's line, or behind a span that is shown as a short text.

use bethink_api as api;
use bethink_service::{ErrorKind, ServiceError};
use bethink_transcript::{CollapseId, CompactionId, SessionId};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::answer::{Answered, Effect, ToolAnswer, tool};
use crate::desk::{self, Desk};
use crate::told::{cut, fenced, of_message};
use crate::{EXPANDED_BYTES, EXPANDED_MESSAGE_BYTES, EXPANDED_MESSAGES};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ExpandInput {
    /// A line of the summary with its numbers, such as [41], or words to look for; all messages by default
    query: Option<String>,
    /// Of the compaction or span; the newest compaction by default
    id: Option<String>,
    /// A session's id, or "last"
    session_id: Option<String>,
    /// At most so many messages, 20 by default
    limit: Option<u64>,
    /// `next_cursor` of the answer before
    cursor: Option<String>,
    /// Absolute path, if not the client's own project
    project_dir: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExpandOutput {
    session_id: String,
    messages: Vec<ShownMessageOutput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ShownMessageOutput {
    seq: u64,
    role: String,
    created_at: String,
    text: String,
    /// The message is longer
    truncated: bool,
}

pub(crate) fn described() -> Tool {
    tool::<ExpandInput, ExpandOutput>(
        "expand",
        "Expand a summary",
        Effect::Reads,
        "The whole messages behind a summary: give its line, and read what was really said and done.",
    )
}

pub(crate) async fn call(desk: Desk, input: ExpandInput) -> Answered<ExpandOutput> {
    let session = desk.session(input.session_id, input.project_dir).await?;
    let limit = input.limit.unwrap_or(EXPANDED_MESSAGES);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let id = match input.id.as_deref().filter(|id| !id.trim().is_empty()) {
        Some(id) => desk::uuid(id.trim(), "id")?,
        None => newest(&desk, session).await?,
    };
    desk.daemon.sessions.session(session).await?;
    let compaction = CompactionId(id);
    let pages = input.query.is_none();
    let (q, cursor) = (input.query, input.cursor);
    let found =
        desk.daemon.sessions.expand(session, compaction, q.clone(), Some(limit), cursor.clone());
    let found = match found.await {
        Err(refusal) if refusal.kind == ErrorKind::NotFound => {
            let span = CollapseId(id);
            let behind =
                desk.daemon.sessions.expand_collapse(session, span, q, Some(limit), cursor);
            behind.await.map_err(|other| either(other, id))?
        }
        found => found?,
    };
    let output = within(session, found, pages);
    let text = text(&output);
    Ok(ToolAnswer::new(output, text))
}

/// Of those that stand.
async fn newest(desk: &Desk, session: SessionId) -> Result<Uuid, ServiceError> {
    let made = desk.daemon.sessions.compactions(session).await?.compactions;
    let standing = made.iter().rfind(|one| one.undone_at.is_none());
    standing.map(|one| one.id).ok_or_else(|| {
        ServiceError::not_found("this session has no compaction: nothing is out of view")
            .hint("search_history finds its messages")
    })
}

fn either(refusal: ServiceError, id: Uuid) -> ServiceError {
    match refusal.kind {
        ErrorKind::NotFound => {
            ServiceError::not_found(format!("the session has no compaction and no span {id}"))
                .hint("without id it is the newest compaction")
        }
        _ => refusal,
    }
}

/// As many messages as an answer holds. Where all are asked for, in pages, the cursor names the last of them.
fn within(session: SessionId, found: api::Expanded, pages: bool) -> ExpandOutput {
    let (mut messages, mut bytes) = (Vec::new(), 0);
    let all = found.messages.len();
    for message in found.messages {
        let text = of_message(message.message.get());
        let (text, truncated) = cut(&text, EXPANDED_MESSAGE_BYTES);
        if bytes + text.len() > EXPANDED_BYTES && !messages.is_empty() {
            break;
        }
        bytes += text.len();
        messages.push(ShownMessageOutput {
            seq: message.seq,
            role: message.role.to_string(),
            created_at: message.created_at,
            text: text.to_owned(),
            truncated,
        });
    }
    let next_cursor = match messages.last() {
        Some(last) if pages && messages.len() < all => Some(last.seq.to_string()),
        _ => found.next_cursor,
    };
    ExpandOutput { session_id: session.to_string(), messages, next_cursor }
}

fn text(output: &ExpandOutput) -> String {
    if output.messages.is_empty() {
        return "No message behind it fits.".to_owned();
    }
    let shown: Vec<String> = output.messages.iter().map(shown).collect();
    let more = match &output.next_cursor {
        Some(cursor) => format!("\nThere is more: cursor {cursor}"),
        None => String::new(),
    };
    format!("{}{more}", fenced(&shown.join("\n\n")))
}

fn shown(message: &ShownMessageOutput) -> String {
    let more = if message.truncated { "…" } else { "" };
    format!("[{}] {}: {}{more}", message.seq, message.role, message.text)
}
