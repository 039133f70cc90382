use std::future::ready;

use bethink_transcript::{MessageId, Role, Seq, SessionId, UnixMicros};
use bytes::Bytes;

use crate::error::{StoreError, StoreFuture};
use crate::message::{SeqRange, StoredMessage};
use crate::search::{IndexBatch, IndexLookup, TermPlaces};
use crate::session::PageRequest;

pub use bethink_api::TeamRole;

/// History that people share with their team: copies of their sessions, in tables that all of them use. By default, a store has
/// none, and refuses all changes.
///
/// A person sees only the projects of which they are a member. The database enforces that.
pub trait TeamHistoryStore {
    /// Returns whether the team's tables can be used.
    fn team_tables(&self) -> StoreFuture<'_, TeamTables> {
        Box::pin(ready(Ok(TeamTables::NoDatabase)))
    }

    // what this person shares
    fn shared_projects(&self) -> StoreFuture<'_, Vec<SharedProject>> {
        Box::pin(ready(Ok(Vec::new())))
    }
    /// Shares the sessions of a project directory. Creates the team project if it does not exist, with this person as its
    /// admin. Copies of its sessions that are in another project are removed.
    fn share_project(&self, _project: SharedProject) -> StoreFuture<'_, ()> {
        refused()
    }
    /// Stops sharing the sessions of a directory, and removes the copies. Returns their number.
    fn unshare_project(&self, _project_dir: String) -> StoreFuture<'_, u64> {
        refused()
    }
    /// Stores whether to share a session of a shared project, even if it began before the directory was shared. If not, its copy is
    /// removed.
    fn share_session(&self, _session: SessionId, _is_shared: bool) -> StoreFuture<'_, ()> {
        refused()
    }
    /// Removes the copies of sessions that are no longer shared, such as forks and children of a session that the person stopped
    /// sharing.
    /// Returns their number.
    fn withdraw_unshared(&self) -> StoreFuture<'_, u64> {
        Box::pin(ready(Ok(0)))
    }
    /// Returns those of the sessions that are shared, each with the name of the team project.
    fn shared_sessions(
        &self,
        _sessions: Vec<SessionId>,
    ) -> StoreFuture<'_, Vec<(SessionId, String)>> {
        Box::pin(ready(Ok(Vec::new())))
    }
    /// Returns shared sessions with messages that are not copied yet, up to a limit, those of one project directory or all.
    fn uncopied(
        &self,
        _project_dir: Option<String>,
        _limit: usize,
    ) -> StoreFuture<'_, Vec<SessionId>> {
        Box::pin(ready(Ok(Vec::new())))
    }
    /// Returns what of a session is copied; `None` if it is not shared.
    fn copied(&self, _session: SessionId) -> StoreFuture<'_, Option<CopiedExtent>> {
        Box::pin(ready(Ok(None)))
    }
    /// Adds messages to a copy. Returns `false` and changes nothing if another message than expected was copied last, or if the session is not shared any more.
    fn copy_to_team(&self, _batch: CopiedBatch) -> StoreFuture<'_, bool> {
        refused()
    }

    // what the team shares
    /// Lists the projects of which this person is a member, by name.
    fn team_projects(&self) -> StoreFuture<'_, Vec<StoredTeamProject>> {
        Box::pin(ready(Ok(Vec::new())))
    }
    /// Sets the role of a login in a project; `None` removes the login from the project.
    fn set_team_role(
        &self,
        _project: String,
        _person: String,
        _role: Option<TeamRole>,
    ) -> StoreFuture<'_, ()> {
        refused()
    }
    /// Lists copies of sessions, newest first.
    fn team_sessions(
        &self,
        _scope: TeamScope,
        _page: PageRequest,
    ) -> StoreFuture<'_, (Vec<StoredTeamSession>, Option<String>)> {
        refused()
    }
    /// Returns those of these copies that exist and this person may see.
    fn team_sessions_at(
        &self,
        _sessions: Vec<SessionId>,
    ) -> StoreFuture<'_, Vec<StoredTeamSession>> {
        refused()
    }
    /// Returns messages of a copy in ascending order of seq.
    fn team_messages(
        &self,
        _session: SessionId,
        _range: SeqRange,
    ) -> StoreFuture<'_, Vec<StoredMessage>> {
        refused()
    }
    /// Returns those of the requested messages that exist, in the order of the request.
    fn team_messages_at(
        &self,
        _places: Vec<(SessionId, Seq)>,
    ) -> StoreFuture<'_, Vec<(SessionId, StoredMessage)>> {
        refused()
    }
    /// Does what [`lookup`](crate::IndexStore::lookup) does, in the copies. The scope of the lookup is not used.
    fn team_lookup(&self, _scope: TeamScope, _lookup: IndexLookup) -> StoreFuture<'_, TermPlaces> {
        refused()
    }
    /// Removes a copy from the team's tables. For the person's own session, this is the same as choosing not to share it. An admin
    /// of the project can remove any session, which is then never shared again.
    fn remove_team_session(&self, _session: SessionId) -> StoreFuture<'_, ()> {
        refused()
    }
}

fn refused<'a, T: Send + 'a>() -> StoreFuture<'a, T> {
    Box::pin(ready(Err(StoreError::Conflict(TeamTables::NoDatabase.to_string()))))
}

/// Whether the team's tables can be used. The text says what to do if not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TeamTables {
    #[error("they can be used")]
    Usable {
        /// The login, by which others know this person.
        person: String,
    },
    #[error(
        "history can be shared only if it is in a PostgreSQL database that the team uses; [store] url sets it"
    )]
    NoDatabase,
    #[error(
        "the database has no tables for the team's history; a superuser creates them with the output of `bethink team history setup`"
    )]
    Missing,
    #[error(
        "the tables for the team's history have version {found}, but this version of bethink needs {known}; a superuser updates them with the output of `bethink team history setup`"
    )]
    Older { found: i64, known: i64 },
    #[error(
        "the tables for the team's history have version {found}, but this version of bethink supports {known}; install a newer version of bethink"
    )]
    Newer { found: i64, known: i64 },
}

/// A project directory whose sessions are shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedProject {
    pub project_dir: String,
    /// Name of the team project.
    pub project: String,
    /// Sessions that began earlier are shared only if the person chose so for each.
    pub since: UnixMicros,
}

/// How much of a session is copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedExtent {
    /// Name of the team project.
    pub project: String,
    pub title: Option<String>,
    pub created_at: UnixMicros,
    pub copied: Seq,
    pub last: Seq,
}

/// Messages to add to a copy.
#[derive(Clone, Debug)]
pub struct CopiedBatch {
    pub project: String,
    pub title: Option<String>,
    pub created_at: UnixMicros,
    /// The last message that was copied before.
    pub after: Seq,
    /// In ascending order of seq, without gaps, and not empty.
    pub messages: Vec<CopiedMessage>,
    /// The terms of these messages, through the last one.
    pub index: IndexBatch,
}

#[derive(Clone, Debug)]
pub struct CopiedMessage {
    pub seq: Seq,
    pub id: MessageId,
    pub role: Role,
    pub created_at: UnixMicros,
    pub raw: Bytes,
    /// Whether a secret was removed from it.
    pub is_redacted: bool,
}

/// A team project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTeamProject {
    pub name: String,
    /// Logins with their roles, sorted by login.
    pub members: Vec<(String, TeamRole)>,
    /// Number of shared sessions.
    pub sessions: u64,
}

/// Which copies are meant: all, those of one project, of one person, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TeamScope {
    pub project: Option<String>,
    pub person: Option<String>,
}

/// A copy of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTeamSession {
    pub id: SessionId,
    pub project: String,
    pub person: String,
    pub title: Option<String>,
    pub created_at: UnixMicros,
    pub updated_at: UnixMicros,
    /// Number of messages.
    pub messages: u64,
    /// Number of messages from which secrets were removed.
    pub redacted: u64,
}
