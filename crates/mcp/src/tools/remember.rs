//! `remember`: something that later sessions should know.

use bethink_api as api;
use bethink_memories::Remembered;
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::{Answered, Effect, ToolAnswer, tool};
use crate::desk::Desk;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RememberInput {
    /// In sentences that stand alone, with the reason; no secrets
    text: String,
    /// The topic's name; found from the text by default
    #[serde(default)]
    #[schemars(with = "String")]
    name: Option<String>,
    #[serde(rename = "type", default)]
    #[schemars(with = "MemorySort")]
    kind: Option<MemorySort>,
    /// One line that says what it is about
    #[serde(default)]
    #[schemars(with = "String")]
    description: Option<String>,
    /// `team` proposes it: a person decides
    #[serde(default)]
    #[schemars(with = "RememberScope")]
    scope: Option<RememberScope>,
    /// The session that it was learnt in
    #[serde(default)]
    #[schemars(with = "String")]
    session_id: Option<String>,
    /// Absolute path, if not the client's own project
    #[serde(default)]
    #[schemars(with = "String")]
    project_dir: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum MemorySort {
    User,
    Feedback,
    Project,
    Reference,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum RememberScope {
    Private,
    Team,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RememberOutput {
    /// `created`, or `proposed` to the team
    outcome: String,
    scope: String,
    name: String,
    /// Where its file lies
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    path: Option<String>,
    /// Of the proposal
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    proposal_id: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

pub(crate) fn described() -> Tool {
    tool::<RememberInput, RememberOutput>(
        "remember",
        "Remember",
        Effect::Adds,
        "Remember something for later sessions of this project: a preference, a decision with its reason, a trap. \
         Not what code or git tell anyway.",
    )
}

pub(crate) async fn call(desk: Desk, input: RememberInput) -> Answered<RememberOutput> {
    let request = api::Remember {
        project_dir: desk.project(input.project_dir)?,
        text: input.text,
        name: input.name,
        description: input.description,
        kind: input.kind.map(|kind| kind.as_str().to_owned()),
        scope: input.scope.map(|scope| scope.as_str().to_owned()),
        session_id: desk.session_if_named(input.session_id.as_deref())?,
    };
    let (output, text) = match desk.daemon.memories.remember_for_agent(request).await? {
        Remembered::Written(done) => {
            let mut text = format!("Remembered as {:?} in {}", done.name, done.path);
            for warning in &done.warnings {
                text.push_str(&format!("\nNote: {warning}"));
            }
            let output = RememberOutput {
                outcome: done.outcome,
                scope: done.scope,
                name: done.name,
                path: Some(done.path),
                proposal_id: None,
                warnings: done.warnings,
            };
            (output, text)
        }
        Remembered::Proposed(proposal) => {
            let text = format!(
                "Proposed to the team as {:?}. It is not remembered until a person approves it.",
                proposal.name
            );
            let output = RememberOutput {
                outcome: "proposed".to_owned(),
                scope: RememberScope::Team.as_str().to_owned(),
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

impl MemorySort {
    fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Feedback => "feedback",
            Self::Project => "project",
            Self::Reference => "reference",
        }
    }
}

impl RememberScope {
    fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Team => "team",
        }
    }
}
