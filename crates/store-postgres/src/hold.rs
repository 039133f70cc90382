//! The hold of one daemon on the database, so that no other daemon writes to it: daemons keep the state of sessions in
//! memory.
//!
//! The daemon that holds it has an advisory lock on a connection of its own, which the server ends with the connection. The
//! number in `database_state` protects against a daemon that has lost the lock: see the migration.

use std::sync::Arc;

use bethink_store::{StoreError, StoreResult};
use sqlx::PgPool;
use sqlx::postgres::PgListener;
use tokio::sync::{Mutex, Notify};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::address::PostgresAddress;
use crate::connect::lasting;
use crate::error::{from_sqlx, taken_by};
use crate::findings::StoreFindings;
use crate::locks::{self, Lock};
use crate::options::{CONNECT, PING_PAUSE, TAKE_PAUSE, TAKE_TRIES};
use crate::sql::sql;

const SCHEMA: &str = "SELECT current_schema()::TEXT";

const TAKE: &str = "SELECT take_fence($1, $2)";

const HOLDER: &str = "
    SELECT holder
    FROM database_state";

/// The holder's name where its table does not exist yet.
const UNKNOWN: &str = "an unknown process";

const PING: &str = "SELECT 1";

const FENCE: &str = "
    SELECT fence
    FROM database_state";

/// A handle to the hold. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseHold(Arc<HoldState>);

#[derive(Debug)]
struct HoldState {
    address: PostgresAddress,
    schema: String,
    /// The number of this daemon.
    fence: i64,
    findings: StoreFindings,
    /// The task that keeps the lock. It ends when the lock is lost or released.
    keeper: Mutex<JoinHandle<()>>,
    released: Arc<Notify>,
}

impl DatabaseHold {
    /// Takes the database for the daemon with this name, after its tables were created or updated.
    pub(crate) async fn take(
        address: &PostgresAddress,
        name: &str,
        DatabaseClaim { mut lock, schema }: DatabaseClaim,
    ) -> StoreResult<Self> {
        let take = sql(TAKE).bind(Lock::Fence(&schema).key()).bind(name.to_owned());
        let fence = take.value(&mut lock.listener).await?;
        let (findings, released) = (StoreFindings::default(), Arc::default());
        let keeper = tokio::spawn(keep(lock, findings.clone(), Arc::clone(&released)));
        let (address, keeper) = (address.clone(), Mutex::new(keeper));
        Ok(Self(Arc::new(HoldState { address, schema, fence, findings, keeper, released })))
    }

    pub(crate) fn findings(&self) -> &StoreFindings {
        &self.0.findings
    }

    /// Returns the statement that begins a transaction, and fails if another daemon has taken the database.
    pub(crate) fn begin(&self) -> String {
        let HoldState { schema, fence, .. } = &*self.0;
        format!("BEGIN; SELECT check_fence({}, {fence})", Lock::Fence(schema).key())
    }

    /// Takes the lock again if it was lost, unless another daemon has taken it since.
    pub(crate) async fn renew(&self) -> StoreResult<()> {
        let HoldState { address, schema, fence, findings, keeper, released } = &*self.0;
        let mut keeper = keeper.lock().await;
        if !keeper.is_finished() {
            return Ok(());
        }
        let mut lock = LockConnection::open(address).await?;
        let is_free = lock.try_lock(schema).await?;
        let current: i64 = sql(FENCE).value(&mut lock.listener).await?;
        if !is_free && current == *fence {
            let why = "the server has not yet ended this daemon's earlier connection";
            return Err(StoreError::Server(why.to_owned()));
        }
        if !is_free || current != *fence {
            return Err(taken_by(&lock.holder().await?));
        }
        *keeper = tokio::spawn(keep(lock, findings.clone(), Arc::clone(released)));
        Ok(())
    }

    /// Lets other daemons take the database.
    pub(crate) async fn release(&self) {
        let mut keeper = self.0.keeper.lock().await;
        self.0.released.notify_one();
        // It fails only if it panicked, and then the lock is gone, too.
        drop((&mut *keeper).await);
    }
}

/// Keeps the lock until it is lost or released.
async fn keep(mut lock: LockConnection, findings: StoreFindings, released: Arc<Notify>) {
    tokio::select! {
        () = lock.lost() => {
            let why = "the connection that holds the database for this daemon was lost";
            findings.set_fault(Some(StoreError::Server(why.to_owned())));
        }
        () = released.notified() => lock.close().await,
    }
}

/// The lock of a daemon that does not have its number yet: the table of the number may not exist.
#[derive(Debug)]
pub(crate) struct DatabaseClaim {
    lock: LockConnection,
    schema: String,
}

impl DatabaseClaim {
    /// Takes the lock. Returns `InUse` if another daemon has it.
    pub(crate) async fn new(address: &PostgresAddress) -> StoreResult<Self> {
        let mut lock = LockConnection::open(address).await?;
        let schema: String = sql(SCHEMA).value(&mut lock.listener).await?;
        for tries in 1.. {
            if lock.try_lock(&schema).await? {
                break;
            }
            if tries == TAKE_TRIES {
                let holder = lock.holder().await;
                return Err(StoreError::InUse(holder.unwrap_or_else(|_| UNKNOWN.to_owned())));
            }
            sleep(TAKE_PAUSE).await;
        }
        Ok(Self { lock, schema })
    }
}

/// A connection that holds the lock, and reports its own end. Its pool has no other connection.
#[derive(Debug)]
struct LockConnection {
    pool: PgPool,
    listener: PgListener,
}

impl LockConnection {
    async fn open(address: &PostgresAddress) -> StoreResult<Self> {
        let pool = lasting(address);
        let mut listener = PgListener::connect_with(&pool).await.map_err(from_sqlx)?;
        listener.eager_reconnect(false);
        Ok(Self { pool, listener })
    }

    async fn try_lock(&mut self, schema: &str) -> StoreResult<bool> {
        locks::try_lock_for_connection(&mut self.listener, Lock::Daemon(schema)).await
    }

    async fn holder(&mut self) -> StoreResult<String> {
        sql(HOLDER).value(&mut self.listener).await
    }

    /// Waits until the connection has ended. The server sends nothing before that, and if it is gone without a word, only
    /// sending something shows it.
    async fn lost(&mut self) {
        loop {
            match timeout(PING_PAUSE, self.listener.try_recv()).await {
                Ok(Ok(Some(_))) => {}
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
        // The server ends the lock with the connection.
        drop(timeout(CONNECT, self.pool.close()).await);
    }
}
