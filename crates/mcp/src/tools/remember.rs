//! `remember`: stores something that later sessions should know.

use bethink_api as api;
use bethink_memories::RememberOutcome;
use bethink_service::ServiceError;
use rmcp::model::Tool;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::answer::{Answered, Effect, ToolAnswer, tool};
use crate::client::McpClient;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RememberInput {
    /// The fact and its reason, in sentences that can be understood without this conversation; no secrets
    text: Option<String>,
    /// ID of a candidate to keep
    keep: Option<String>,
    /// ID of a candidate to drop
    drop: Option<String>,
    /// The topic's name
    name: Option<String>,
    #[serde(rename = "type", default)]
    #[schemars(schema_with = "kinds")]
    kind: Option<api::MemoryKind>,
    /// A one-line summary
    description: Option<String>,
    /// Up to 5 questions that the memory answers, worded differently
    questions: Option<Vec<String>>,
    /// `team` only proposes the memory; a person decides
    #[serde(default)]
    #[schemars(schema_with = "scopes")]
    scope: Option<api::MemoryScope>,
    /// The session in which the memory was learned
    session_id: Option<String>,
    /// Absolute path of a project other than the client's
    project_dir: Option<String>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct RememberOutput {
    /// `created`, `proposed` or `dropped`
    outcome: String,
    scope: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proposal_id: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

fn kinds(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": api::MemoryKind::ALL })
}

fn scopes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": api::MemoryScope::ALL })
}

fn named(given: Option<String>) -> Option<String> {
    given.filter(|text| !text.trim().is_empty())
}

fn dropped(one: &api::Candidate) -> RememberOutput {
    RememberOutput {
        outcome: one.state.to_string(),
        scope: api::MemoryScope::Private.to_string(),
        ..RememberOutput::default()
    }
}

pub(crate) fn described() -> Tool {
    tool::<RememberInput, RememberOutput>(
        "remember",
        "Remember",
        Effect::Adds,
        "Remember something for later sessions of this project: a preference, a decision with its reason, a pitfall. \
         Do not store what the code or git already shows.",
    )
}

pub(crate) async fn call(client: McpClient, input: RememberInput) -> Answered<RememberOutput> {
    let project_dir = client.project(input.project_dir)?;
    let memories = &client.daemon.memories;
    if let Some(id) = named(input.drop) {
        let one = memories.drop_candidate_for_agent(&project_dir, &id).await?;
        let text = "Dropped. You will not be asked about it again.".to_owned();
        return Ok(ToolAnswer::new(dropped(&one), text));
    }
    let keep = named(input.keep);
    let text = named(input.text);
    if keep.is_none() && text.is_none() {
        let refusal = ServiceError::invalid("text", "is missing: say what to remember");
        return Err(refusal.hint("pass `text`, or `keep` or `drop` with the ID of a candidate"));
    }
    let request = api::Remember {
        project_dir,
        text: text.unwrap_or_default(),
        name: input.name,
        description: input.description,
        questions: input.questions.unwrap_or_default(),
        kind: input.kind,
        scope: input.scope,
        session_id: client.session_if_named(input.session_id.as_deref())?,
        // Only a person can allow a secret.
        allow_secret: Vec::new(),
    };
    let done = match keep {
        Some(id) => memories.keep_candidate_for_agent(&id, request).await?,
        None => memories.remember_for_agent(request).await?,
    };
    let (output, text) = match done {
        RememberOutcome::Written(done) => {
            let mut text = format!("Remembered as {:?} in {}", done.name, done.path);
            for warning in &done.warnings {
                text.push_str(&format!("\nNote: {warning}"));
            }
            let output = RememberOutput {
                outcome: done.outcome.to_string(),
                scope: done.scope.to_string(),
                name: done.name,
                path: Some(done.path),
                proposal_id: None,
                warnings: done.warnings,
            };
            (output, text)
        }
        RememberOutcome::Proposed(proposal) => {
            let text = format!(
                "Proposed to the team as {:?}. A person must approve it before it is remembered.",
                proposal.name
            );
            let output = RememberOutput {
                outcome: api::MemoryOutcome::Proposed.to_string(),
                scope: api::MemoryScope::Team.to_string(),
                name: proposal.name,
                proposal_id: Some(proposal.id.to_string()),
                ..RememberOutput::default()
            };
            (output, text)
        }
    };
    Ok(ToolAnswer::new(output, text))
}
