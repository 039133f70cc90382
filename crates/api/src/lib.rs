//! The wire types of the HTTP API, and of what `bethinkd store` prints, shared by the daemon and every client.
//!
//! This crate only describes JSON, without behavior or transport. Field names are a public contract: fields may be added,
//! but are never renamed.
//!
//! Message content crosses the wire as raw JSON, so that unknown blocks, key order and number
//! spelling survive.

mod agents;
mod candidate;
mod compaction;
mod context;
mod dashboard;
mod dream;
mod extraction;
mod instructions;
mod job;
mod memory;
mod memory_lint;
mod memory_search;
mod memory_tool;
mod message;
mod model;
mod outline;
mod percent;
mod problem;
mod provider_error;
mod query;
mod recall;
mod recording;
mod search;
mod session;
mod shape;
mod state;
mod store;
mod team;
mod team_history;

pub use agents::*;
pub use candidate::*;
pub use compaction::*;
pub use context::*;
pub use dashboard::*;
pub use dream::*;
pub use extraction::*;
pub use instructions::*;
pub use job::*;
pub use memory::*;
pub use memory_lint::*;
pub use memory_search::*;
pub use memory_tool::*;
pub use message::*;
pub use model::*;
pub use outline::*;
pub use percent::*;
pub use problem::*;
pub use provider_error::*;
pub use recall::*;
pub use recording::*;
pub use search::*;
pub use session::*;
pub use shape::*;
pub use state::*;
pub use store::*;
pub use team::*;
pub use team_history::*;

use serde::de::IntoDeserializer;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The project that a request is about.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ProjectQuery {
    /// Any directory of the project
    pub project_dir: String,
}

/// Which project to search. If absent, all projects are searched.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct OptionalProjectQuery {
    /// Any directory of the project
    pub project_dir: Option<String>,
}

/// How much of a list to return.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct LimitQuery {
    /// Maximum number of entries
    #[param(value_type = Option<u64>)]
    pub limit: Option<usize>,
}

/// Implements `Display` for enums: a variant is printed as its JSON name.
macro_rules! printed_as_in_json {
    ($($name:ident),* $(,)?) => {$(
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.serialize(f)
            }
        }
    )*};
}

printed_as_in_json! {
    BlockedWay, CandidateState, CollapseState, CompactionLevel, CompactionTrigger, DreamPhase, ErrorClass,
    FillLevel, HealthStatus, IndexLimit, Inject, InstructionKind, JobState, MemoryAuthor,
    MemoryKind, MemoryLayout, MemoryOutcome, MemoryRecall, MemoryScope, ModelProvider, ModelReadiness,
    PromptChange, PromptStage, ProposalAuthor, ProposalState, Purpose, RecallCertainty, RecallManner,
    RecoveryStep, RestoredKind, Role, Severity, SkipKind, StateKind, Strategy, SummaryLevel, TeamMemoryKind, TeamRole, TopicField
}

/// Parses a variant of an enum from its JSON name.
pub fn parse_word<'de, T: Deserialize<'de>>(word: &'de str) -> Option<T> {
    let word = IntoDeserializer::<serde::de::value::Error>::into_deserializer(word);
    T::deserialize(word).ok()
}

/// Whether the daemon is healthy.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Health {
    pub status: HealthStatus,
    /// Version of the daemon.
    pub version: String,
    /// What is wrong, if the status is `degraded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The current pause of recording, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<RecordingPause>,
    /// What a person should know although the daemon is healthy, such as invalid settings or a paused model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

/// A request to a daemon to prove that it has the token of its home.
#[derive(Clone, Debug, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ProofQuery {
    /// 32 random bytes as 64 hexadecimal digits
    pub nonce: String,
}

/// The proof that a daemon has the token of its home.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DaemonProof {
    /// HMAC-SHA256 in hexadecimal digits. The key is the token's text. The message is `bethink-proof-1`, the TCP port that
    /// the daemon listens on, and the nonce, with a line feed after each of the first two.
    pub proof: String,
}

/// Whether everything works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    Ok,
    /// `detail` describes the problem.
    Degraded,
}

/// `$BETHINK_HOME/daemon.json`: the address of the daemon that owns this home.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DaemonFile {
    pub url: String,
    pub pid: u32,
    pub version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<String>,
    /// The database in which history is stored, without its password; `None` if it is a file in the home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use utoipa::openapi::path::ParameterIn;

    #[test]
    fn a_word_is_printed_as_json_has_it_and_read_back() {
        for kind in StateKind::ALL {
            let word = kind.to_string();
            assert_eq!(serde_json::to_value(kind).unwrap(), Value::from(word.as_str()));
            assert_eq!(parse_word(&word), Some(kind));
        }
        assert_eq!(ModelReadiness::NoKey.to_string(), "no_key");
        assert_eq!(format!("{:<9}|", JobState::Done), "done     |");
        assert_eq!(parse_word::<StateKind>("notes"), None);
    }

    #[test]
    fn a_query_is_described_as_the_route_takes_it() {
        let described = |name: &str| {
            let parameters = SessionQuery::into_params(|| Some(ParameterIn::Query));
            let found = parameters.into_iter().find(|parameter| parameter.name == name).unwrap();
            serde_json::to_value(found).unwrap()
        };
        let limit = json!({
            "name": "limit", "in": "query", "description": "Maximum number of entries", "required": false,
            "schema": { "type": "integer", "format": "int64", "minimum": 0 },
        });
        assert_eq!(described("limit"), limit);
        assert_eq!(described("tag")["description"], "Only sessions with this tag");
    }
}
