//! The presence of a daemon in the database: how other daemons notice that it runs, and what they tell it.
//!
//! A connection of its own holds the daemon's locks, which the server ends with the connection, and receives what other
//! daemons send.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use bethink_store::{PeerNews, StoreError, StoreResult};
use bethink_transcript::SessionId;
use sqlx::PgPool;
use sqlx::postgres::PgListener;
use tokio::sync::{Mutex, Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::address::PostgresAddress;
use crate::connect::{DaemonSettings, lasting, not_connected};
use crate::error::from_sqlx;
use crate::findings::StoreFindings;
use crate::locks::{self, Lock};
use crate::opened::PostgresOpenError;
use crate::options::{CONNECT, DaemonIdentity, PING_PAUSE, TAKE_PAUSE, TAKE_TRIES};
use crate::schema;
use crate::sql::sql;

/// A channel's name is the only protection of what is sent on it.
const CHANNEL: &str = "SELECT channel FROM database_state";

/// Names of the daemons that run, of one home or of all.
const RUNNING: &str = "
    SELECT coalesce(string_agg(name, ', ' ORDER BY name), 'an unknown process')
    FROM daemons
    WHERE ($1 IS NULL OR home = $1)
      AND number <> $2
      AND NOT pg_try_advisory_xact_lock_shared(number)";

/// The name of a daemon of a version that had no table of names.
const UNKNOWN: &str = "an unknown process";

const REGISTER: &str = "
    INSERT INTO daemons (number, home, name)
    VALUES ($1, $2, $3)
    ON CONFLICT DO NOTHING";

/// Removes daemons that have stopped.
const CLEAN: &str = "
    DELETE FROM daemons
    WHERE number <> $1
      AND pg_try_advisory_xact_lock_shared(number)";

const HAS_PEERS: &str = "
    SELECT EXISTS (SELECT FROM daemons WHERE number <> $1)";

const TELL: &str = "
    SELECT pg_notify($1, text)
    FROM unnest($2) WITH ORDINALITY AS told (text, place)
    ORDER BY place";

const PING: &str = "SELECT 1";

/// A handle to the presence. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Presence(Arc<PresenceState>);

#[derive(Debug)]
struct PresenceState {
    address: PostgresAddress,
    identity: DaemonIdentity,
    number: i64,
    /// The schema, and the channel on which all its daemons listen; empty before this daemon has joined them.
    place: OnceLock<(String, String)>,
    inbox: Arc<Inbox>,
    /// The task that keeps the connection. It ends when the connection is lost or closed.
    keeper: Mutex<Option<JoinHandle<()>>>,
    closed: Arc<Notify>,
    news: Mutex<mpsc::UnboundedReceiver<PeerNews>>,
}

/// What the task that keeps the connection passes on.
#[derive(Debug)]
struct Inbox {
    number: i64,
    findings: StoreFindings,
    has_peers: AtomicBool,
    released: Notify,
    news: mpsc::UnboundedSender<PeerNews>,
}

impl Presence {
    pub(crate) fn new(
        address: &PostgresAddress,
        identity: &DaemonIdentity,
        findings: &StoreFindings,
    ) -> Self {
        let (told, news) = mpsc::unbounded_channel();
        let number = new_number();
        let inbox = Arc::new(Inbox {
            number,
            findings: findings.clone(),
            has_peers: AtomicBool::new(false),
            released: Notify::new(),
            news: told,
        });
        Self(Arc::new(PresenceState {
            address: address.clone(),
            identity: identity.clone(),
            number,
            place: OnceLock::new(),
            inbox,
            keeper: Mutex::default(),
            closed: Arc::default(),
            news: Mutex::new(news),
        }))
    }

    /// Joins the daemons that use the database, after its tables were created or updated.
    pub(crate) async fn join(&self, claim: DaemonClaim) -> StoreResult<()> {
        let PresenceState { identity, number, place, inbox, keeper, closed, .. } = &*self.0;
        let DaemonClaim { schema, mut connection, .. } = claim;
        let channel: Uuid = sql(CHANNEL).value(&mut connection.listener).await?;
        let channel = format!("bethink_{}", channel.simple());
        connection.announce(&channel, *number, identity).await?;
        if sql(HAS_PEERS).bind(*number).value(&mut connection.listener).await? {
            inbox.note_peers();
        }
        drop(place.set((schema, channel)));
        let kept = keep(connection, Arc::clone(inbox), Arc::clone(closed));
        *keeper.lock().await = Some(tokio::spawn(kept));
        Ok(())
    }

    /// Returns what each connection of this daemon sets.
    pub(crate) fn settings(&self) -> DaemonSettings {
        DaemonSettings { number: self.0.number, home: self.0.identity.home }
    }

    pub(crate) fn number(&self) -> i64 {
        self.0.number
    }

    pub(crate) fn has_peers(&self) -> bool {
        self.0.inbox.has_peers.load(Ordering::Relaxed)
    }

    /// Reports that another daemon has taken the session.
    pub(crate) fn report_lost(&self, session: SessionId) {
        // It fails only when the store is being dropped.
        drop(self.0.inbox.news.send(PeerNews::Wanted(session)));
    }

    /// Fires when a daemon releases a session.
    pub(crate) fn released(&self) -> &Notify {
        &self.0.inbox.released
    }

    /// Waits for the next news.
    pub(crate) async fn news(&self) -> PeerNews {
        match self.0.news.lock().await.recv().await {
            Some(news) => news,
            // Not reached: the state holds a sender.
            None => std::future::pending().await,
        }
    }

    /// Returns the statement that sends these messages to all daemons.
    pub(crate) fn tell(
        &self,
        messages: impl IntoIterator<Item = Message>,
    ) -> crate::sql::Statement {
        let texts = messages.into_iter().map(|message| message.text(self.0.number));
        let channel = self.0.place.get().map(|(_, channel)| channel.clone());
        sql(TELL).bind(channel.unwrap_or_default()).bind_list(texts)
    }

    /// Connects again if the connection was lost.
    pub(crate) async fn renew(&self) -> StoreResult<()> {
        let PresenceState { address, identity, number, place, inbox, keeper, closed, .. } =
            &*self.0;
        let mut keeper = keeper.lock().await;
        let is_lost = keeper.as_ref().is_some_and(JoinHandle::is_finished);
        let Some((schema, channel)) = place.get().filter(|_| is_lost) else { return Ok(()) };
        let mut connection = PresenceConnection::open(address).await?;
        if !connection.try_lock(Lock::Number(*number)).await? {
            return Err(connection
                .refusal(Lock::Number(*number), earlier_connection_error())
                .await
                .into());
        }
        let (home, daemons) = (Lock::Home(schema, identity.home), Lock::Daemons(schema));
        if !connection.try_lock(home).await? {
            return Err(connection.in_use(home, identity.home, *number).await.into());
        }
        if !connection.try_lock_shared(daemons).await? {
            return Err(connection.in_use(daemons, identity.home, *number).await.into());
        }
        let found = schema::found(&mut connection.listener).await?;
        if found != schema::known() {
            return Err(StoreError::Newer { found, known: schema::known() });
        }
        let others: bool = sql(HAS_PEERS).bind(*number).value(&mut connection.listener).await?;
        let was_removed = connection.announce(channel, *number, identity).await?;
        // Only if another daemon was there can anything have changed.
        if others || was_removed || inbox.has_peers.load(Ordering::Relaxed) {
            inbox.note_peers();
            drop(inbox.news.send(PeerNews::Missed));
        }
        let kept = keep(connection, Arc::clone(inbox), Arc::clone(closed));
        *keeper = Some(tokio::spawn(kept));
        Ok(())
    }

    /// Ends the connection.
    pub(crate) async fn close(&self) {
        let Some(keeper) = self.0.keeper.lock().await.take() else { return };
        self.0.closed.notify_one();
        // It fails only if it panicked, and then the locks are gone, too.
        drop(keeper.await);
    }
}

/// Keeps the connection, and passes on what arrives, until it is lost or closed.
async fn keep(mut connection: PresenceConnection, inbox: Arc<Inbox>, closed: Arc<Notify>) {
    tokio::select! {
        () = connection.receive(&inbox) => {
            let why = "the connection that holds this daemon's locks was closed";
            inbox.findings.set_fault(Some(StoreError::Server(why.to_owned())));
        }
        () = closed.notified() => connection.close().await,
    }
}

impl Inbox {
    fn note_peers(&self) {
        if !self.has_peers.swap(true, Ordering::Relaxed) {
            drop(self.news.send(PeerNews::Joined));
        }
    }

    fn take(&self, text: &str) {
        let Some((from, message)) = Message::parse(text) else {
            tracing::debug!(text, "ignored an unknown message of another daemon");
            return;
        };
        if from == self.number {
            return;
        }
        self.note_peers();
        let news = match message {
            Message::Joined => return,
            Message::Released => return self.released.notify_waiters(),
            Message::Wanted { session, holder } if holder == self.number => {
                PeerNews::Wanted(session)
            }
            Message::Wanted { .. } => return,
            Message::Text { text, .. } => PeerNews::Text(text),
            Message::Memory { directory } => PeerNews::Memory(directory),
            Message::Sharing => PeerNews::Sharing,
        };
        // It fails only when the store is being dropped.
        drop(self.news.send(news));
    }
}

/// What daemons send each other: the sender's number, a word, and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// A daemon has started, or is connected again.
    Joined,
    /// The sender wants this session, or has taken it.
    Wanted { session: SessionId, holder: i64 },
    /// The sender has released a session.
    Released,
    /// Each text of a transaction has a different number, because PostgreSQL sends equal notifications of a transaction only
    /// once.
    Text { number: usize, text: String },
    /// The sender has changed synced files of this directory.
    Memory { directory: String },
    /// The sender has changed which history is shared with the team.
    Sharing,
}

impl Message {
    fn text(self, from: i64) -> String {
        match self {
            Self::Joined => format!("{from} joined"),
            Self::Wanted { session, holder } => format!("{from} wants {session} {holder}"),
            Self::Released => format!("{from} released"),
            Self::Text { number, text } => format!("{from} tells {number} {text}"),
            Self::Memory { directory } => format!("{from} changed {directory}"),
            Self::Sharing => format!("{from} shares"),
        }
    }

    fn parse(text: &str) -> Option<(i64, Self)> {
        let (from, message) = text.split_once(' ')?;
        let parsed = match message.split_once(' ') {
            None if message == "joined" => Self::Joined,
            Some(("wants", rest)) => {
                let (session, holder) = rest.split_once(' ')?;
                Self::Wanted { session: session.parse().ok()?, holder: holder.parse().ok()? }
            }
            None if message == "released" => Self::Released,
            None if message == "shares" => Self::Sharing,
            Some(("tells", rest)) => {
                let (number, text) = rest.split_once(' ')?;
                Self::Text { number: number.parse().ok()?, text: text.to_owned() }
            }
            Some(("changed", directory)) => Self::Memory { directory: directory.to_owned() },
            _ => return None,
        };
        Some((from.parse().ok()?, parsed))
    }
}

/// The locks of a daemon that has not joined the others yet: the tables for that may not exist.
#[derive(Debug)]
pub(crate) struct DaemonClaim {
    settings: DaemonSettings,
    schema: String,
    connection: PresenceConnection,
}

impl DaemonClaim {
    /// Locks this home. Returns `InUse` if another daemon has it.
    pub(crate) async fn new(
        address: &PostgresAddress,
        presence: &Presence,
    ) -> Result<Self, PostgresOpenError> {
        let settings @ DaemonSettings { number, home } = presence.settings();
        let mut connection = PresenceConnection::open(address).await?;
        let schema = schema::name(&mut connection.listener).await?;
        address.note_schema(&schema);
        if !connection.try_lock(Lock::Number(number)).await? {
            return Err(connection.refusal(Lock::Number(number), earlier_connection_error()).await);
        }
        for tries in 1.. {
            if connection.try_lock(Lock::Home(&schema, home)).await? {
                break;
            }
            if tries == TAKE_TRIES {
                return Err(connection.in_use(Lock::Home(&schema, home), home, number).await);
            }
            sleep(TAKE_PAUSE).await;
        }
        Ok(Self { settings, schema, connection })
    }

    pub(crate) fn settings(&self) -> DaemonSettings {
        self.settings
    }

    /// Waits until no other daemon uses the schema, so that its tables can be changed.
    pub(crate) async fn lock_tables_exclusively(&mut self) -> Result<(), PostgresOpenError> {
        for _ in 0..TAKE_TRIES {
            if self.connection.try_lock(Lock::Daemons(&self.schema)).await? {
                return Ok(());
            }
            sleep(TAKE_PAUSE).await;
        }
        Err(self.shared().await)
    }

    /// Keeps others from changing the tables, and lets them use the database.
    pub(crate) async fn lock_tables_shared(
        &mut self,
        has_locked_out: bool,
    ) -> Result<(), PostgresOpenError> {
        let daemons = Lock::Daemons(&self.schema);
        if !self.connection.try_lock_shared(daemons).await? {
            return Err(self.shared().await);
        }
        if has_locked_out {
            locks::unlock_for_connection(&mut self.connection.listener, daemons).await?;
        }
        Ok(())
    }

    async fn shared(&mut self) -> PostgresOpenError {
        let running = self.connection.running(None, self.settings.number).await;
        let shared = PostgresOpenError::Shared(running);
        self.connection.refusal(Lock::Daemons(&self.schema), shared).await
    }
}

/// The connection of this daemon that was lost may still have its lock.
fn earlier_connection_error() -> PostgresOpenError {
    let why = "the server has not yet ended this daemon's earlier connection";
    PostgresOpenError::Unreachable(why.to_owned())
}

/// Returns a number that no other daemon has. Zero and negative numbers are not used.
fn new_number() -> i64 {
    i64::try_from(Uuid::new_v4().as_u64_pair().0 >> 1).unwrap_or(1).max(1)
}

/// A connection that holds a daemon's locks, receives messages, and reports its own end. Its pool has no other connection.
#[derive(Debug)]
struct PresenceConnection {
    pool: PgPool,
    listener: PgListener,
}

impl PresenceConnection {
    async fn open(address: &PostgresAddress) -> StoreResult<Self> {
        let pool = lasting(address);
        let mut listener = PgListener::connect_with(&pool)
            .await
            .map_err(|error| not_connected(&address.options, error))?;
        listener.eager_reconnect(false);
        Ok(Self { pool, listener })
    }

    async fn try_lock(&mut self, lock: Lock<'_>) -> StoreResult<bool> {
        locks::try_lock_for_connection(&mut self.listener, lock).await
    }

    async fn try_lock_shared(&mut self, lock: Lock<'_>) -> StoreResult<bool> {
        locks::try_lock_shared_for_connection(&mut self.listener, lock).await
    }

    /// Says who has the lock: another database user, or a daemon of this home.
    async fn in_use(&mut self, lock: Lock<'_>, home: Uuid, own: i64) -> PostgresOpenError {
        let in_use = PostgresOpenError::InUse(self.running(Some(home), own).await);
        self.refusal(lock, in_use).await
    }

    /// See [`locks::refusal`].
    async fn refusal(&mut self, lock: Lock<'_>, usual: PostgresOpenError) -> PostgresOpenError {
        locks::refusal(&mut self.listener, lock, usual).await
    }

    /// Returns the names of other daemons that run. The table of names may not exist yet.
    async fn running(&mut self, home: Option<Uuid>, own: i64) -> String {
        let found = sql(RUNNING).bind(home).bind(own).value(&mut self.listener).await;
        found.unwrap_or_else(|_| UNKNOWN.to_owned())
    }

    /// Listens to other daemons, and tells them that this one runs. Returns whether it was not in their list.
    async fn announce(
        &mut self,
        channel: &str,
        number: i64,
        identity: &DaemonIdentity,
    ) -> StoreResult<bool> {
        self.listener.listen(channel).await.map_err(from_sqlx)?;
        let DaemonIdentity { home, name } = identity.clone();
        sql(CLEAN).bind(number).run(&mut self.listener).await?;
        let added =
            sql(REGISTER).bind(number).bind(home).bind(name).run(&mut self.listener).await?;
        let joined = sql(TELL).bind(channel.to_owned()).bind_list([Message::Joined.text(number)]);
        joined.run(&mut self.listener).await?;
        Ok(added > 0)
    }

    /// Passes on messages until the connection has ended. A lost connection is noticed
    /// only by sending something.
    async fn receive(&mut self, inbox: &Inbox) {
        loop {
            match timeout(PING_PAUSE, self.listener.try_recv()).await {
                Ok(Ok(Some(message))) => inbox.take(message.payload()),
                Ok(_) => return,
                Err(_) => {
                    if sql(PING).run(&mut self.listener).await.is_err() {
                        return;
                    }
                }
            }
        }
    }

    async fn close(self) {
        drop(self.listener);
        // The server ends the locks with the connection.
        drop(timeout(CONNECT, self.pool.close()).await);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_round_trip() {
        let session = SessionId(Uuid::from_u128(7));
        for message in [
            Message::Joined,
            Message::Wanted { session, holder: 12 },
            Message::Released,
            Message::Text { number: 3, text: "a {\"b\": 1}\n c".to_owned() },
            Message::Memory { directory: "github.com/ann/the mill/private".to_owned() },
            Message::Sharing,
        ] {
            assert_eq!(Message::parse(&message.clone().text(9)), Some((9, message)));
        }
        for text in ["", "9", "x joined", "9 wants x 12", "9 left", "9 released it"] {
            assert_eq!(Message::parse(text), None, "{text}");
        }
    }
}
