//! `remember`: stores something that later sessions should know.

use bethink_api as api;
use bethink_memories::RememberOutcome;
use rmcp::model::Tool;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::answer::{Answered, Effect, ToolAnswer, tool};
use crate::client::McpClient;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RememberInput {
    /// The fact and its reason, in sentences that make sense without context; no secrets
    text: String,
    /// The topic's name; by default from the description
    name: Option<String>,
    #[serde(rename = "type", default)]
    #[schemars(schema_with = "kinds")]
    kind: Option<api::MemoryKind>,
    /// A summary in one line
    description: Option<String>,
    /// `team` proposes it to the team: a person decides
    #[serde(default)]
    #[schemars(schema_with = "scopes")]
    scope: Option<api::MemoryScope>,
    /// The session in which it was learned
    session_id: Option<String>,
    /// Absolute path of the project, if it is not the client's own
    project_dir: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RememberOutput {
    /// `created`, or `proposed` to the team
    outcome: String,
    scope: String,
    name: String,
    /// Path of its file
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// ID of the proposal
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
    let request = api::Remember {
        project_dir: client.project(input.project_dir)?,
        text: input.text,
        name: input.name,
        description: input.description,
        kind: input.kind,
        scope: input.scope,
        session_id: client.session_if_named(input.session_id.as_deref())?,
    };
    let (output, text) = match client.daemon.memories.remember_for_agent(request).await? {
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
                path: None,
                proposal_id: Some(proposal.id.to_string()),
                warnings: Vec::new(),
            };
            (output, text)
        }
    };
    Ok(ToolAnswer::new(output, text))
}
