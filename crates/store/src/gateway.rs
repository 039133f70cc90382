use bethink_transcript::{Seq, SessionId};

use crate::error::StoreFuture;
use crate::session::NewSession;

/// Finds the session for a client's id or a request.
pub trait GatewayStore {
    /// Returns the session for a client's own id; `None` if there is none, or if it has been deleted.
    fn client_session(&self, client: String, key: String) -> StoreFuture<'_, Option<SessionId>>;
    /// Returns what [`put_client_session`](Self::put_client_session) stored last for a session.
    fn client_of(&self, session: SessionId) -> StoreFuture<'_, Option<ClientSession>>;
    /// Stores the session for a client's own id, in place of the previous one.
    fn put_client_session(&self, known: ClientSession) -> StoreFuture<'_, ()>;

    /// In one transaction, creates a session, and stores the marks of the messages that will be appended to it and the
    /// client's id for it.
    fn begin_session(
        &self,
        new: NewSession,
        lineage: Lineage,
        known: Option<ClientSession>,
    ) -> StoreFuture<'_, ()>;
    /// Stores the marks of a session's prefixes that are longer than `after`, replacing existing ones.
    fn put_lineage(&self, lineage: Lineage, after: Seq) -> StoreFuture<'_, ()>;
    /// Returns all marks of a session; `None` if there are none.
    fn lineage(&self, id: SessionId) -> StoreFuture<'_, Option<Lineage>>;
    /// Returns sessions of the scope that match the longest of these prefixes. `marks` are ordered by length, the
    /// shortest first. Sessions without later messages come first, then the newest sessions; their number is limited.
    fn relatives(&self, scope: u64, marks: Vec<u128>) -> StoreFuture<'_, Vec<Relative>>;

    /// Returns the scope and the mark of every session's first message.
    fn beginnings(&self) -> StoreFuture<'_, Vec<(u64, u128)>>;
}

/// The hashes of the prefixes of a session's history, called marks: the first mark is for the first message, the second
/// for the first two messages, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    pub session: SessionId,
    /// Only requests of this scope are compared with the session.
    pub scope: u64,
    pub marks: Vec<u128>,
}

/// A session with the same beginning as a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relative {
    pub session: SessionId,
    /// Number of the session's messages that match, counted from the first.
    pub through: Seq,
    /// The session's newest message; less than `through` if marks were written but their messages were not.
    pub last_seq: Seq,
}

/// The session id of a client that does not know bethink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSession {
    /// The client's name, such as `claude-code`. It is needed because two clients may use the same id.
    pub client: String,
    pub key: String,
    pub session: SessionId,
}
