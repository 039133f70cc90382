use bethink_transcript::{Seq, SessionId};

use crate::error::StoreFuture;
use crate::session::NewSession;

/// Finds the session for a client's id or a request.
pub trait GatewayStore {
    /// The session for a client's own id; `None` after that session was deleted.
    fn client_session(&self, client: String, key: String) -> StoreFuture<'_, Option<SessionId>>;
    /// Replaces the previous session for that id.
    fn put_client_session(&self, known: ClientSession) -> StoreFuture<'_, ()>;

    // what clients send again
    /// One transaction: a new session, the marks of what will be appended to it, and the client id for it.
    fn begin_session(
        &self,
        new: NewSession,
        lineage: Lineage,
        known: Option<ClientSession>,
    ) -> StoreFuture<'_, ()>;
    /// Stores the marks of a session's prefixes that are longer than `after`, replacing existing ones.
    fn put_lineage(&self, lineage: Lineage, after: Seq) -> StoreFuture<'_, ()>;
    /// All marks of a session; `None` if there are none.
    fn lineage(&self, id: SessionId) -> StoreFuture<'_, Option<Lineage>>;
    /// Sessions of the scope with the longest of these prefixes, which are given from the shortest on: whole
    /// histories first, then the newest; a limited number.
    fn relatives(&self, scope: u64, marks: Vec<u128>) -> StoreFuture<'_, Vec<Relative>>;

    /// Scope and mark of every session's first message.
    fn beginnings(&self) -> StoreFuture<'_, Vec<(u64, u128)>>;
}

/// Marks of the prefixes of a session's history: the first is for its first message, the second for its first
/// two, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    pub session: SessionId,
    /// Only requests of this scope are compared with it.
    pub scope: u64,
    pub marks: Vec<u128>,
}

/// A session with the same beginning as a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relative {
    pub session: SessionId,
    /// How many of its messages match.
    pub through: Seq,
    /// Its newest message; less than `through` if marks were written but their messages were not.
    pub last_seq: Seq,
}

/// The session id of a client that does not know bethink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSession {
    /// The client's name, such as `claude-code`: two clients may use the same id.
    pub client: String,
    pub key: String,
    pub session: SessionId,
}
