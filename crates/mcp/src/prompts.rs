//! Prompts: texts that a user can add to a conversation.

use bethink_api as api;
use bethink_service::ServiceError;
use rmcp::model::{
    ErrorData, GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role,
};
use serde_json::Value;

use crate::client::McpClient;
use crate::refused::of_request;
use crate::tools::recall;
use crate::untrusted::fenced;

const RECALL: &str = "recall";
const HANDOVER: &str = "handover";

pub(crate) fn all() -> Vec<Prompt> {
    let argument = |name: &str, about: &str, required: bool| {
        PromptArgument::new(name).with_description(about).with_required(required)
    };
    vec![
        Prompt::new(
            RECALL,
            Some("Recall what the project's memory says about a subject"),
            Some(vec![argument("query", "A subject or a question", true)]),
        )
        .with_title("Recall"),
        Prompt::new(
            HANDOVER,
            Some("Continue the work of an earlier session from its notes"),
            Some(vec![argument("session_id", "Session ID, or \"last\" (the default)", false)]),
        )
        .with_title("Hand over"),
    ]
}

pub(crate) async fn get(
    client: &McpClient,
    name: &str,
    arguments: &JsonObject,
) -> Result<GetPromptResult, ErrorData> {
    let text = match name {
        RECALL => recalled(client, arguments).await,
        HANDOVER => handover(client, arguments).await,
        _ => {
            let shown: String = name.chars().take(60).collect();
            let known = format!("unknown prompt {shown:?}; use {RECALL} or {HANDOVER}");
            return Err(ErrorData::invalid_params(known, None));
        }
    };
    let text = text.map_err(|refusal| of_request(&refusal))?;
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}

async fn recalled(client: &McpClient, arguments: &JsonObject) -> Result<String, ServiceError> {
    let query = text(arguments, "query")?.ok_or_else(|| {
        ServiceError::invalid("query", "is missing").hint("say what you want to do or look for")
    })?;
    let request = api::RecallRequest {
        project_dir: client.project(None)?,
        query,
        ..api::RecallRequest::default()
    };
    Ok(recall::text(&client.daemon.memories.recall(request).await?))
}

/// Returns the notes of a session. The default is the newest session, which is acceptable because a person chooses this prompt
/// and sees the result.
async fn handover(client: &McpClient, arguments: &JsonObject) -> Result<String, ServiceError> {
    let named = text(arguments, "session_id")?.unwrap_or_else(|| "last".to_owned());
    let id = client.session(Some(named), None).await?;
    let notes = client.daemon.notes.notes(id).await?;
    Ok(format!(
        "These are the notes of session {id}, up to its message {}. Continue from there. They may be out of date: \
         check what they say about files and code before you rely on it, and do not repeat work that they describe \
         as done.\n{}",
        notes.through,
        fenced(&notes.text)
    ))
}

fn text(arguments: &JsonObject, name: &'static str) -> Result<Option<String>, ServiceError> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.trim().is_empty())),
        Some(_) => Err(ServiceError::invalid(name, "must be a string")),
    }
}
