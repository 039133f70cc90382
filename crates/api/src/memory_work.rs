//! Work on a project's whole memory: recall, extraction, lint, consolidation, the memory tool.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::candidate::Candidate;
use crate::memory::{IndexLimit, MemoryKind, MemoryOutcome, MemoryScope};
use crate::model::Strategy;

/// The question to recall memories for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecallRequest {
    pub project_dir: String,
    /// What the user said or wants to do, in any words.
    #[serde(default)]
    pub query: String,
    /// Other wordings of the question, up to 8. What fits any of them is found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queries: Vec<String>,
    /// How strict to be. By default, `asked`.
    #[serde(default)]
    pub manner: RecallManner,
    /// Memories that this session has received since its last compaction are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Uuid>,
    /// Names of tools used recently. Memories that only explain these tools are left out. By default, the session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recent_tools: Option<Vec<String>>,
    /// Maximum number of memories, up to 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// What a recall is for, which decides what happens in doubt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecallManner {
    /// Somebody asked: the nearest memories are returned, and those that may not fit are marked `perhaps`.
    #[default]
    Asked,
    /// The answer is added to a prompt unasked: in doubt, nothing is returned.
    Injected,
}

/// Whether a memory fits the question.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RecallCertainty {
    #[default]
    Sure,
    Perhaps,
}

/// Relevant memories, best first; none if nothing fits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecallAnswer {
    /// Best first.
    pub memories: Vec<RecalledMemory>,
    /// Number of topics that were searched.
    pub searched: u64,
    /// How they were chosen.
    pub strategy: Strategy,
}

/// A memory as it is added to a prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecalledMemory {
    pub scope: MemoryScope,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Absent if the file does not specify one.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MemoryKind>,
    /// Its age, in words.
    pub age: String,
    /// When the file was last written, as RFC 3339.
    pub modified: String,
    /// Whether it fits the question. The sure ones are first.
    pub certainty: RecallCertainty,
    /// Relevance from 0 to 1, comparable across directories.
    pub score: f64,
    /// Its text, at most 200 lines and 4,096 bytes.
    pub content: String,
    /// The text was cut.
    pub truncated: bool,
    /// Other versions of it, which people have not merged yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<String>,
    /// Topics that it links to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkedTopic>,
    /// Path of the whole file.
    pub path: String,
    /// The branch on which it was learned, if the checkout of `project_dir` does not contain that branch. Such memories
    /// are last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmerged: Option<String>,
    pub why: RecallWhy,
}

/// A topic that a recalled one links to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LinkedTopic {
    pub name: String,
    pub description: String,
}

/// The project whose recall is checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecallCheckRequest {
    pub project_dir: String,
}

/// The result of a recall check: how well topics are found by their own words, and which past prompts would get
/// memories.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecallCheck {
    /// Number of topics.
    pub topics: u64,
    /// Number of questions asked: each topic's description, and the sentences that it quotes.
    pub questions: u64,
    /// Number of questions that found their topic.
    pub found: u64,
    /// Number of past prompts that were replayed.
    pub prompts: u64,
    /// Number of past prompts that would get memories.
    pub given: u64,
    pub problems: Vec<RecallProblem>,
}

/// A topic that its own words do not find, or that is recalled too often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecallProblem {
    pub scope: MemoryScope,
    pub name: String,
    /// A question that shows the problem; may be empty.
    pub question: String,
    /// Topics that were found instead.
    pub instead: Vec<String>,
    pub reason: String,
    /// What to change in the topic.
    pub advice: String,
}

/// Why a memory was chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecallWhy {
    pub by: Strategy,
    /// Words of the query that the topic contains, in index form, most significant first.
    pub terms: Vec<RecallTerm>,
    /// Score from matching words only.
    pub score: f64,
    /// Its rank among those that the model chose, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<u64>,
}

/// A word, and the parts of the topic that contain it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecallTerm {
    /// The word, in index form.
    pub term: String,
    pub fields: Vec<TopicField>,
}

/// A part of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TopicField {
    Name,
    Description,
    /// A question that the topic answers, in its front matter.
    Question,
    Heading,
    /// A path, a symbol or an error code in the body.
    Identifier,
    Body,
}

/// What to extract memories from.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ExtractRequest {
    /// Show what would be written, but write nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// Start at the beginning of the session, including imported messages; by default, at the last extraction.
    #[serde(default)]
    pub all: bool,
}

/// What an extraction found and wrote.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Extracted {
    /// `embedded` or `model`; empty if there was nothing to process.
    pub strategy: String,
    pub dry_run: bool,
    /// Position of the last message of the newest turn processed; 0 if no turn has ended.
    pub through_seq: u64,
    /// Number of the user's statements that were processed.
    pub statements: u64,
    /// Number of statements that were skipped because the agent itself wrote to memory in that turn.
    pub by_agent: u64,
    /// Memories that were written, or would be.
    pub memories: Vec<LearnedMemory>,
    /// Statements that may be worth remembering. They wait for a decision, or would in a dry run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Candidate>,
    /// Statements worth remembering that were not written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<DroppedStatement>,
    /// The user's requests to forget something. A person has to decide which topics are meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forget: Vec<String>,
}

/// A memory that was written, or would be.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct LearnedMemory {
    pub scope: MemoryScope,
    pub name: String,
    /// `created`, `changed`, or `proposed` for the team.
    pub outcome: MemoryOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MemoryKind>,
    /// The user's own words, if they were used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
    /// Position of the message that contains them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The whole file, in a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A statement that was not written, and why.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DroppedStatement {
    pub seq: u64,
    /// The statement; empty if it contains a secret.
    pub statement: String,
    /// Why it was not written.
    pub reason: String,
}

/// A session whose memories to remove.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ForgetRequest {
    pub project_dir: String,
    pub session_id: Uuid,
    /// Show what would be done, but do nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// What was removed, or would be.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Forgotten {
    pub dry_run: bool,
    pub session_id: Uuid,
    /// The topics that change.
    pub files: Vec<ForgottenMemory>,
    /// Candidates of the session that were still waiting.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
}

/// A topic from which a session's memories are removed.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ForgottenMemory {
    pub scope: MemoryScope,
    pub name: String,
    /// `removed` if it contained nothing else, `restored` to its state before the session, or `cut` if only the lines
    /// of the session were removed.
    pub outcome: MemoryOutcome,
    /// The lines that are removed.
    pub lines: Vec<String>,
    /// The text that remains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The state of a project's memory, and what is wrong with it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct MemoryLint {
    /// One entry per memory directory.
    pub shelves: Vec<MemoryShelf>,
}

/// One memory directory of a project.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct MemoryShelf {
    pub scope: MemoryScope,
    pub dir: String,
    pub layout: MemoryLayout,
    /// Whether the directory exists. The first write creates it.
    pub there: bool,
    pub topics: u64,
    /// Size of all topics together.
    pub bytes: u64,
    /// Absent if there is no MEMORY.md.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<IndexSize>,
    pub watch: MemoryWatch,
    /// Why the directory cannot be read. The other fields are then out of date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Most severe first.
    pub findings: Vec<MemoryFinding>,
}

/// Where memory directories are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryLayout {
    /// Below the daemon's home.
    #[default]
    Bethink,
    /// Where Claude Code keeps its own memory.
    Claude,
}

/// How the daemon notices that a file changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryWatch {
    /// The system reports changes.
    #[default]
    Events,
    /// The daemon looks every few seconds, because the system has no file watches left.
    Polling,
}

/// The size of an index, and which limit it exceeds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IndexSize {
    pub lines: u64,
    pub bytes: u64,
    /// The limit that it exceeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_by: Option<IndexLimit>,
}

/// How severe a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A memory cannot be found, or is not what it seems.
    Error,
    /// A memory is harder to find than necessary.
    Warning,
    /// A matter of tidiness.
    Note,
}

/// One problem in a memory directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryFinding {
    pub severity: Severity,
    /// A stable name for programs, such as `dead-link`.
    pub rule: String,
    /// Path in the directory.
    pub file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What is wrong.
    pub what: String,
    /// What a person can do about it.
    pub help: String,
}

/// Which `MEMORY.md` to bring up to date with the topics.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct RebuildMemory {
    pub project_dir: String,
    /// `private` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<MemoryScope>,
    /// Show what would change, but change nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// What a rebuild of the index changed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct MemoryRebuilt {
    pub scope: MemoryScope,
    /// Path of the index.
    pub path: String,
    /// Whether the index changed, or would change.
    pub changed: bool,
    /// Nothing was written.
    pub dry_run: bool,
    /// Lines that were added.
    pub added: Vec<String>,
    /// Lines that were removed.
    pub dropped: Vec<String>,
    pub warnings: Vec<String>,
}

/// A memory to consolidate. The answer is a job whose result is a `DreamResult`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DreamRequest {
    pub project_dir: String,
    /// `private` by default, or `person`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<MemoryScope>,
    /// Show what would change, but change nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// Undo the changes of the last consolidation, except in topics that were changed since.
    #[serde(default)]
    pub undo: bool,
}

/// What a consolidation found, changed and did not change.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DreamResult {
    pub project_dir: String,
    /// The memory directory.
    pub dir: String,
    pub dry_run: bool,
    /// An earlier consolidation was undone.
    pub undo: bool,
    pub strategy: Strategy,
    /// In the order of the phases.
    pub steps: Vec<DreamStep>,
    /// Findings that a person has to decide.
    pub notes: Vec<DreamNote>,
    /// Lines and sentences that were removed from the memory. Earlier versions still contain them.
    pub dropped: Vec<DreamDropped>,
    /// All changes, as a unified diff.
    pub diff: String,
    /// Files that were changed.
    pub applied: Vec<String>,
    /// A model's edits that were rejected, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// Files that should have been changed but were not.
    pub left_alone: Vec<DreamLeft>,
}

/// The phases of a consolidation, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DreamPhase {
    /// Look at what exists.
    Orient,
    /// Find what sessions taught and no topic contains.
    Gather,
    /// Merge related topics, mark outdated statements, remove duplicates.
    Consolidate,
    /// Update the index and remove what is empty.
    Prune,
}

/// One step of a consolidation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DreamStep {
    pub phase: DreamPhase,
    pub file: String,
    /// What was done.
    pub what: String,
    pub why: String,
}

/// A finding of a consolidation that a person has to decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DreamNote {
    pub phase: DreamPhase,
    pub text: String,
}

/// Text that a consolidation removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DreamDropped {
    pub file: String,
    pub text: String,
    pub why: String,
}

/// A file that a consolidation did not change, although it should have.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DreamLeft {
    pub file: String,
    pub why: String,
}

/// One call of Anthropic's memory tool, `memory_20250818`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryToolCall {
    pub project_dir: String,
    /// The tool input as the model sent it: `{"command": "view", "path": "/memories"}`.
    #[schema(value_type = Object)]
    pub input: Value,
    /// The session in which it was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Uuid>,
}

/// What to send to the model as the content of a `tool_result`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryToolResult {
    /// The text for the model.
    pub content: String,
    /// The call failed; the text says why.
    pub is_error: bool,
}
