use bethink_transcript::{Seq, SessionId};

use crate::error::StoreFuture;
use crate::session::NewSession;

/// Which session a client or a request means.
pub trait GatewayStore {
    /// Which session a client means by an id of its own; `None` once that session is deleted.
    fn client_session(&self, client: String, key: String) -> StoreFuture<'_, Option<SessionId>>;
    /// Replaces what the client meant by it before.
    fn put_client_session(&self, known: ClientSession) -> StoreFuture<'_, ()>;

    // what clients send again
    /// One transaction: a new session, the marks of what is about to be appended to it, and the client that means it.
    fn begin_session(
        &self,
        new: NewSession,
        lineage: Lineage,
        known: Option<ClientSession>,
    ) -> StoreFuture<'_, ()>;
    /// Writes down the marks of a session's beginnings that are longer than `after`, in place of those that
    /// stand there.
    fn put_lineage(&self, lineage: Lineage, after: Seq) -> StoreFuture<'_, ()>;
    /// All of them; `None` where there is none.
    fn lineage(&self, id: SessionId) -> StoreFuture<'_, Option<Lineage>>;
    /// Sessions of the scope that have the longest of these beginnings, given from the shortest on: whole
    /// histories first, then the newest; some of them, where they are many.
    fn relatives(&self, scope: u64, marks: Vec<u128>) -> StoreFuture<'_, Vec<Relative>>;

    /// Scope and mark of every session's first message.
    fn beginnings(&self) -> StoreFuture<'_, Vec<(u64, u128)>>;
}

/// Marks of the beginnings of a session's history: the first is that of its first message, the second that of
/// its first two, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    pub session: SessionId,
    /// Whose requests are compared with it.
    pub scope: u64,
    pub marks: Vec<u128>,
}

/// A session that begins like a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relative {
    pub session: SessionId,
    /// So many of its messages.
    pub through: Seq,
    /// Its newest message; below `through` where marks were written and their messages were not.
    pub last_seq: Seq,
}

/// A client that knows nothing of bethink has a session id of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSession {
    /// The client's name, such as `claude-code`: two clients may use the same id.
    pub client: String,
    pub key: String,
    pub session: SessionId,
}
