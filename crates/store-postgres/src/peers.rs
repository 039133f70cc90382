//! Which daemon a session belongs to, and what daemons tell each other.
//!
//! The session's row names its daemon. Every transaction that changes what a daemon keeps in memory locks the row and checks
//! the name (see `sessions`), so taking a session is safe at any time: what its last daemon still wants to write is refused.
//! Asking first only saves that daemon's work.

use std::pin::Pin;

use bethink_store::{MAX_PEER_TEXT, PeerNews, PeerStore, StoreFuture, StoreResult};
use bethink_transcript::SessionId;
use tokio::time::{Instant, timeout, timeout_at};

use crate::locks::{self, Lock};
use crate::options::{ASK_AGAIN, HAND_OVER};
use crate::presence::{Message, Presence};
use crate::sql::{Row, not_found, sql};
use crate::store::PostgresStore;

const HOLDER: &str = "
    SELECT holder
    FROM sessions
    WHERE id = $1
    FOR NO KEY UPDATE";

const TAKE: &str = "
    UPDATE sessions
    SET holder = own_daemon()
    WHERE id = $1";

/// Background jobs about a session follow it, running ones only if their daemon has stopped. Jobs that a client waits for stay
/// with that client's daemon.
const TAKE_JOBS: &str = "
    UPDATE jobs_of_homes
    SET home        = own_home(),
        state       = 0,
        owner       = NULL,
        lease_until = NULL
    WHERE session = $1
      AND (state = 0 OR (state = 1 AND $2))
      AND background
      AND home <> own_home()";

const RELEASE_SESSION: &str = "
    UPDATE sessions
    SET holder = NULL
    WHERE id = $1
      AND holder = own_daemon()";

/// The commit does not wait for the disk, because this transaction contains only notifications, which a crash of the server
/// loses in any case.
const NOT_DURABLE: &str = "SET LOCAL synchronous_commit = off";

impl PeerStore for PostgresStore {
    fn is_shared(&self) -> bool {
        self.presence.is_some()
    }

    fn take_session(&self, id: SessionId) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let Some(presence) = self.presence.clone() else { return Ok(()) };
            let until = Instant::now() + HAND_OVER;
            loop {
                // Created first, so that no news is missed.
                let released = presence.released().notified();
                let is_last = Instant::now() >= until;
                let asking = presence.clone();
                let take = self
                    .write(move |db| Box::pin(async move { take(db, &asking, id, is_last).await }));
                if take.await? {
                    return Ok(());
                }
                drop(timeout_at(until, timeout(ASK_AGAIN, released)).await);
            }
        })
    }

    fn release_session(&self, id: SessionId) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let Some(presence) = self.presence.clone() else { return Ok(()) };
            self.write(move |db| {
                Box::pin(async move {
                    match sql(RELEASE_SESSION).bind(id).run(&mut *db).await? {
                        0 => Ok(()),
                        _ => presence.tell([Message::Released]).run(db).await.map(drop),
                    }
                })
            })
            .await
        })
    }

    fn tell_peers(&self, texts: Vec<String>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let Some(presence) = self.presence.as_ref().filter(|one| one.has_peers()) else {
                return Ok(());
            };
            let texts = texts.into_iter().filter(|text| text.len() <= MAX_PEER_TEXT).enumerate();
            let tell = presence.tell(texts.map(|(number, text)| Message::Text { number, text }));
            self.write(|db| {
                Box::pin(async move {
                    sql(NOT_DURABLE).run(&mut *db).await?;
                    tell.run(db).await.map(drop)
                })
            })
            .await
        })
    }

    fn peer_news(&self) -> Pin<Box<dyn Future<Output = PeerNews> + Send + '_>> {
        Box::pin(async {
            match &self.presence {
                Some(presence) => presence.news().await,
                None => std::future::pending().await,
            }
        })
    }
}

/// Takes the session, unless another daemon has it: asks that daemon, and returns `false`. If it `is_last`, takes the
/// session anyway.
async fn take(
    db: &mut sqlx::PgConnection,
    presence: &Presence,
    id: SessionId,
    is_last: bool,
) -> StoreResult<bool> {
    let read = |row: &Row| row.get::<Option<i64>>(0);
    let held = sql(HOLDER).bind(id).optional(&mut *db, read).await?;
    let holder = held.ok_or_else(|| not_found("session", id))?;
    let holder = match holder {
        Some(holder) if holder == presence.number() => return Ok(true),
        // A daemon that has stopped does not have its lock any more.
        Some(holder) if !locks::try_lock_shared(&mut *db, Lock::Number(holder)).await? => {
            Some(holder)
        }
        _ => None,
    };
    if let Some(holder) = holder {
        presence.tell([Message::Wanted { session: id, holder }]).run(&mut *db).await?;
        if !is_last {
            return Ok(false);
        }
        tracing::warn!(session = %id, "took a session from a daemon that does not answer");
    }
    sql(TAKE).bind(id).run(&mut *db).await?;
    sql(TAKE_JOBS).bind(id).bind(holder.is_none()).run(db).await?;
    Ok(true)
}
