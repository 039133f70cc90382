use std::collections::BTreeSet;

pub use bethink_api::MemoryAuthor;
use bethink_transcript::{Seq, SessionId, UnixMicros};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::candidate::ExtractedCandidates;
use crate::error::StoreFuture;

/// The vectors of one topic. They can be computed again from the topic's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicVectors {
    /// Scope and name of the topic.
    pub topic: String,
    /// Hash of the text from which the vectors were computed.
    pub hash: String,
    pub vectors: Bytes,
}

/// Versions of memory files, and the state of extraction, consolidation and instructions for a project.
pub trait MemoryStore {
    /// Adds versions in one transaction. The newest [`VERSIONS_OF_A_FILE`] of each file are kept, even if their session
    /// is deleted.
    fn add_memory_versions(&self, versions: Vec<NewMemoryVersion>) -> StoreFuture<'_, ()>;
    /// Lists versions without their contents, newest first.
    fn memory_versions(&self, filter: MemoryVersionFilter) -> StoreFuture<'_, Vec<VersionRecord>>;
    /// Returns one version of a file, with its content.
    fn memory_content(
        &self,
        directory: String,
        file: String,
        number: i64,
    ) -> StoreFuture<'_, Option<NewMemoryVersion>>;

    /// Returns how far memories were extracted from a session; `None` before the first extraction.
    fn extraction_mark(&self, session: SessionId) -> StoreFuture<'_, Option<Seq>>;
    fn extraction_plan(&self, session: SessionId) -> StoreFuture<'_, Option<ExtractionPlan>>;
    /// Replaces the session's plan and stores the extraction's candidates, in one transaction.
    fn put_extraction_plan(
        &self,
        session: SessionId,
        plan: ExtractionPlan,
        candidates: ExtractedCandidates,
    ) -> StoreFuture<'_, ()>;
    /// In one transaction, deletes the session's plan, if any, and moves its mark forward to `through`, never back.
    fn finish_extraction(&self, session: SessionId, through: Seq) -> StoreFuture<'_, ()>;
    /// Returns the vectors that this encoder made for a project's topics.
    fn topic_vectors(&self, project: String, encoder: String)
    -> StoreFuture<'_, Vec<TopicVectors>>;
    /// Replaces the vectors of these topics, in one transaction.
    fn put_topic_vectors(
        &self,
        project: String,
        encoder: String,
        topics: Vec<TopicVectors>,
    ) -> StoreFuture<'_, ()>;
    fn delete_topic_vectors(&self, project: String, topics: Vec<String>) -> StoreFuture<'_, ()>;

    fn refused_statements(&self, project: String) -> StoreFuture<'_, Vec<RefusedStatement>>;
    /// Adds a statement. Adding the same statement again changes nothing.
    fn refuse_statement(
        &self,
        project: String,
        statement: RefusedStatement,
        at: UnixMicros,
    ) -> StoreFuture<'_, ()>;

    /// Returns the findings of the secret scan that are allowed in a memory directory, oldest first.
    fn secret_allowances(&self, directory: String) -> StoreFuture<'_, Vec<SecretAllowance>>;
    /// Adds an allowance. Adding the same one again changes nothing.
    fn allow_secret(&self, directory: String, allowance: SecretAllowance) -> StoreFuture<'_, ()>;

    fn last_dream(&self, project: String) -> StoreFuture<'_, Option<LastDream>>;
    fn put_last_dream(&self, project: String, last: LastDream) -> StoreFuture<'_, ()>;
    /// Returns the name under which this store's daemon locks memory directories. The first call stores its `candidate`
    /// as the name.
    fn lock_name(&self, candidate: String) -> StoreFuture<'_, String>;

    /// Returns the real paths of files that a project's instructions may import, sorted.
    fn import_approvals(&self, project: String) -> StoreFuture<'_, Vec<String>>;
    fn approve_import(&self, project: String, path: String, at: UnixMicros) -> StoreFuture<'_, ()>;
    /// Returns whether there was an approval to revoke.
    fn revoke_import(&self, project: String, path: String) -> StoreFuture<'_, bool>;
}

/// Minimum number of versions that are kept of a file. With a new version every minute of each working day, they cover
/// about a month.
pub const VERSIONS_OF_A_FILE: usize = 10_000;

/// The content of a memory file at one point in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMemoryVersion {
    /// Project and scope, as the daemon names its directories.
    pub directory: String,
    pub file: String,
    /// Hash of the content; empty if the file was removed.
    pub hash: String,
    /// `None` if the file was removed.
    pub content: Option<Bytes>,
    /// `person`, `agent`, `extraction`, `dream`, `sync`, `restore`, or `found` for existing content.
    pub author: MemoryAuthor,
    /// The session that the content came from.
    pub session: Option<SessionId>,
    /// The reason as text; may be empty.
    pub note: String,
    pub at: UnixMicros,
}

/// A version without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionRecord {
    /// Number of the version within its file, from 1. It never changes.
    pub number: i64,
    pub directory: String,
    pub file: String,
    pub hash: String,
    /// `None` if the file was removed.
    pub bytes: Option<u64>,
    pub author: MemoryAuthor,
    pub session: Option<SessionId>,
    pub note: String,
    pub at: UnixMicros,
}

/// Which versions to list, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryVersionFilter {
    pub directory: String,
    /// `None` for all files.
    pub file: Option<String>,
    pub session: Option<SessionId>,
    /// Only versions of `file` with smaller numbers.
    pub before: Option<i64>,
    pub limit: usize,
}

/// The plan of an extraction, stored until all of it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtractionPlan {
    pub strategy: String,
    /// The session's extraction mark once the plan has been carried out.
    pub through: Seq,
    pub writes: Vec<PlannedWrite>,
    /// Topics to propose to the team.
    pub proposals: Vec<PlannedWrite>,
}

/// One topic of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedWrite {
    pub name: String,
    /// Hash of the topic that is replaced; `None` if no such topic may exist.
    pub over: Option<String>,
    pub text: String,
    /// The user's own words, from which the topic was learned.
    pub sentence: Option<String>,
    /// The message that contains these words.
    pub seq: Option<Seq>,
}

/// A statement that must not be added again, in any wording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefusedStatement {
    /// Stems of the statement's words.
    pub words: BTreeSet<String>,
    /// Whether the statement forbids or denies something.
    pub negative: bool,
}

/// A finding of the secret scan that a person allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretAllowance {
    /// The file for which the finding was first allowed. The allowance applies to the whole directory.
    pub file: String,
    /// The rule that found the secret.
    pub rule: String,
    /// Hash of the line that contains the secret.
    pub line: String,
    pub by: MemoryAuthor,
    pub at: UnixMicros,
}

/// The last consolidation of a project's memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LastDream {
    /// When the consolidation was requested; reset if it fails. Jobs of earlier versions call it `last`.
    #[serde(rename = "last")]
    pub at: Option<UnixMicros>,
    /// The id that is recorded with the versions that the consolidation wrote.
    pub id: Option<String>,
}
