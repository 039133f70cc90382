use std::future::{pending, ready};
use std::pin::Pin;

use bethink_transcript::SessionId;

use crate::error::StoreFuture;

/// Maximum size of a text for other daemons, in bytes: PostgreSQL limits a notification to 8,000, and the sender's number
/// takes some of them.
pub const MAX_PEER_TEXT: usize = 7_900;

/// The other daemons that use the same database. By default, there are none.
///
/// A session belongs to one daemon at a time, because a daemon keeps the state of its sessions in memory. A call that changes
/// a session that is not this daemon's fails with `Moved` and writes nothing.
pub trait PeerStore {
    /// Returns whether several daemons may use the database.
    fn is_shared(&self) -> bool {
        false
    }
    /// Takes the session for this daemon. Asks the daemon that has it, and waits until that daemon has released it, has stopped, or
    /// has not answered for several seconds. What this daemon knew about the session before may be out of date.
    fn take_session(&self, _id: SessionId) -> StoreFuture<'_, ()> {
        Box::pin(ready(Ok(())))
    }
    /// Lets other daemons take the session.
    fn release_session(&self, _id: SessionId) -> StoreFuture<'_, ()> {
        Box::pin(ready(Ok(())))
    }
    /// Sends texts of at most [`MAX_PEER_TEXT`] bytes to the other daemons. They may get lost.
    fn tell_peers(&self, _texts: Vec<String>) -> StoreFuture<'_, ()> {
        Box::pin(ready(Ok(())))
    }
    /// Waits for the next news from other daemons.
    fn peer_news(&self) -> Pin<Box<dyn Future<Output = PeerNews> + Send + '_>> {
        Box::pin(pending())
    }
}

/// News from other daemons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerNews {
    /// There are other daemons. Sent once.
    Joined,
    /// Another daemon wants this session, or has taken it.
    Wanted(SessionId),
    /// A text that another daemon sent.
    Text(String),
    /// Another daemon has changed synced files of this directory.
    Memory(String),
    /// Another daemon has changed which history is shared with the team.
    Sharing,
    /// News may have been lost, and any session may have been taken.
    Missed,
}
