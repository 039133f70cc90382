//! `expand`: shows the messages that a summary line or a collapsed span replaces.

use bethink_api as api;
use bethink_service::{ErrorKind, ServiceError};
use bethink_transcript::{CollapseId, CompactionId, SessionId};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::answer::{Answered, Effect, ToolAnswer, tool};
use crate::client::{self, McpClient};
use crate::untrusted::{cut, fenced, of_message};
use crate::{EXPANDED_BYTES, EXPANDED_MESSAGE_BYTES, EXPANDED_MESSAGES};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ExpandInput {
    /// A summary line with its numbers, such as [41], or words to search for; by default all messages
    query: Option<String>,
    /// ID of the compaction or collapsed span; the newest compaction by default
    id: Option<String>,
    /// A session ID, or "last": the newest in this worktree
    session_id: Option<String>,
    /// Maximum number of messages, 20 by default
    limit: Option<u64>,
    /// `next_cursor` of the previous answer
    cursor: Option<String>,
    /// Absolute path of a project other than the client's
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
    /// Whether the text was cut off
    truncated: bool,
}

pub(crate) fn described() -> Tool {
    tool::<ExpandInput, ExpandOutput>(
        "expand",
        "Expand a summary",
        Effect::Reads,
        "Read the full messages that a summary line covers, to see exactly what was said and done.",
    )
}

pub(crate) async fn call(client: McpClient, input: ExpandInput) -> Answered<ExpandOutput> {
    let session = client.session(input.session_id, input.project_dir).await?;
    let limit = input.limit.unwrap_or(EXPANDED_MESSAGES);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let id = match input.id.as_deref().filter(|id| !id.trim().is_empty()) {
        Some(id) => client::uuid(id.trim(), "id")?,
        None => newest(&client, session).await?,
    };
    client.daemon.sessions.session(session).await?;
    let pages = input.query.is_none();
    let query = api::ExpandQuery { q: input.query, limit: Some(limit), cursor: input.cursor };
    let found = client.daemon.sessions.expand(session, CompactionId(id), query.clone());
    let found = match found.await {
        Err(refusal) if refusal.kind == ErrorKind::NotFound => {
            let behind = client.daemon.sessions.expand_collapse(session, CollapseId(id), query);
            behind.await.map_err(|other| either(other, id))?
        }
        found => found?,
    };
    let output = within(session, found, pages);
    let text = text(&output);
    Ok(ToolAnswer::new(output, text))
}

/// Returns the newest compaction that was not undone.
async fn newest(client: &McpClient, session: SessionId) -> Result<Uuid, ServiceError> {
    let made = client.daemon.sessions.compactions(session).await?.compactions;
    let standing = made.iter().rfind(|one| one.undone_at.is_none());
    standing.map(|one| one.id).ok_or_else(|| {
        ServiceError::not_found(
            "no compaction is in effect in this session; to expand a collapsed span, pass its ID as `id`",
        )
        .hint("use `search_history` to find the session's messages")
    })
}

fn either(refusal: ServiceError, id: Uuid) -> ServiceError {
    match refusal.kind {
        ErrorKind::NotFound => {
            ServiceError::not_found(format!("the session has no compaction or collapsed span {id}"))
                .hint("omit `id` to use the newest compaction")
        }
        _ => refusal,
    }
}

/// Returns as many messages as fit in an answer. If all messages are requested, the cursor is the number of the page's
/// last message.
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
        return "No message matches.".to_owned();
    }
    let shown: Vec<String> = output.messages.iter().map(shown).collect();
    let more = match &output.next_cursor {
        Some(cursor) => format!("\nThere are more messages: call again with cursor {cursor}"),
        None => String::new(),
    };
    format!("{}{more}", fenced(&shown.join("\n\n")))
}

fn shown(message: &ShownMessageOutput) -> String {
    let more = if message.truncated { "…" } else { "" };
    format!("[{}] {}: {}{more}", message.seq, message.role, message.text)
}
