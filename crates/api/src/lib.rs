//! The wire types of the HTTP surface, shared by the daemon and every client.
//!
//! Owns the JSON shapes and nothing else: no behaviour, no transport. Field names are the public
//! contract; more fields may be added, none is renamed.
//!
//! Message content crosses the wire as raw JSON, so that unknown blocks, key order and number
//! spelling survive.

pub mod collapse;
pub mod compaction;
pub mod context;
pub mod dashboard;
pub mod decision;
pub mod dream;
pub mod extract;
pub mod instructions;
pub mod job;
pub mod memory;
pub mod memory_care;
pub mod memory_tool;
pub mod message;
pub mod model;
pub mod notes;
pub mod problem;
pub mod recall;
pub mod recover;
pub mod session;
pub mod state;
pub mod team;
pub mod usage;

pub use collapse::{Collapse, Collapses};
pub use compaction::{
    CompactRequest, Compaction, Compactions, Covers, Expanded, FidelityDetail, Hindsight,
    RestoredItem,
};
pub use context::{
    CacheFall, CacheReport, ContextReport, ContextRequest, LastCompaction, PartTokens, PromptCount,
    StageReport, SystemPart, Thresholds, TokenEstimate,
};
pub use dashboard::{GatewayAddresses, Launch, LoggedIn, Login};
pub use decision::{DecidedView, Decisions};
pub use dream::{DreamDropped, DreamLeft, DreamNote, DreamRequest, DreamResult, DreamStep};
pub use extract::{
    DroppedStatement, ExtractRequest, Extracted, ForgetRequest, Forgotten, ForgottenMemory,
    LearntMemory,
};
pub use instructions::{
    ApproveImport, ImportApproval, InstructionChain, InstructionFile, SkippedInstruction,
};
pub use job::{ImportFile, ImportRequest, Job, JobProgress, Jobs, SkippedLine};
pub use memory::{
    BothVersions, MemoriesPage, Memory, MemoryHistory, MemoryIndex, MemorySource, MemoryVersion,
    MemoryWritten, Remember, RestoreMemory,
};
pub use memory_care::{
    IndexSize, MemoryFinding, MemoryLint, MemoryRebuilt, MemoryShelf, RebuildMemory,
};
pub use memory_tool::{MemoryToolCall, MemoryToolResult};
pub use message::{
    AnsweredCall, AppendRequest, Appended, ContextLevel, MessagesPage, SearchHit, SearchHits,
    StoredMessage,
};
pub use model::{ModelKey, ModelProblem, ModelState};
pub use notes::NotesUpdate;
pub use problem::Problem;
pub use recall::{RecallAnswer, RecallRequest, RecallTerm, RecallWhy, RecalledMemory};
pub use recover::{RecoverRequest, Recovered};
pub use session::{
    CreateSession, ForkRequest, ModelSpec, PatchSession, Project, Projects, Session, SessionsPage,
};
pub use state::{
    Agent, Agents, FileRead, Files, Instruction, Instructions, Plan, Skill, Skills, Todo,
    TodoPriority, TodoStatus, Todos, Tools,
};
pub use team::{
    Approval, Decided, Proposal, Proposals, Propose, TeamBlocked, TeamConflict, TeamInit,
    TeamStatus, TeamSync, TeamSyncRequest,
};
pub use usage::{Usage, UsageRow, UsageSums, UsageToday};

/// `GET /health`.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Health {
    /// `ok`, or `degraded` with a `detail`.
    pub status: String,
    pub version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What of a person's configuration is broken, so that a default is used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

/// `$BETHINK_HOME/daemon.json`: where the daemon that owns this home serves.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct DaemonFile {
    pub url: String,
    pub pid: u32,
    pub version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<String>,
}
