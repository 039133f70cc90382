//! Places for connections: how many may be open, and which one is closed for a newer one.
//!
//! Only the daemon's own user can reach the Unix socket, so it has places of its own. Over TCP, every user of the
//! machine can connect. A TCP connection is a newcomer until one of its requests has credentials; then its client is
//! known. Newcomers have few places. If all of these are taken, the oldest newcomer's connection is closed, so that
//! clients without a token cannot keep out a client that has one.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::guard::Listener;

/// Number of places for known clients per place for newcomers, and per place for the socket.
const KNOWN_PER_OTHER: usize = 4;

/// At most one in this many of the process's file descriptors is used for known clients. All connections together then
/// leave a quarter of the descriptors for files.
const FILES_PER_KNOWN: u64 = 2;

/// Minimum time that a newcomer keeps its place, so that many clients that connect at once are all served. This time
/// also limits how fast connections are accepted from a program that keeps opening them.
const GRACE: Duration = Duration::from_millis(20);

/// How long a newcomer may take for its first request while many places for newcomers are taken.
const FIRST_REQUEST: Duration = Duration::from_secs(2);

/// Percentage of taken places above which [`FIRST_REQUEST`] applies.
const CROWDED_PERCENT: usize = 75;

/// All places of a server.
#[derive(Debug)]
pub(crate) struct Places {
    /// Places of known clients over TCP.
    known: usize,
    /// Places of newcomers over TCP, and as many again for the socket.
    others: usize,
    taken: Mutex<TakenPlaces>,
}

#[derive(Debug, Default)]
struct TakenPlaces {
    /// Number of the next connection.
    next: u64,
    /// When each newcomer connected, and how to close its connection; the oldest first.
    newcomers: BTreeMap<u64, (Instant, CancellationToken)>,
    known: usize,
    socket: usize,
}

impl Places {
    /// Creates places for `max_connections` known clients, or fewer if the process may not open enough files.
    pub(crate) fn new(max_connections: u64) -> Arc<Self> {
        let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let known = max_connections.min(files / FILES_PER_KNOWN);
        let known = usize::try_from(known).unwrap_or(usize::MAX).max(1);
        let others = (known / KNOWN_PER_OTHER).max(1);
        Arc::new(Self { known, others, taken: Mutex::default() })
    }

    /// Takes a place for a new connection. Over TCP, there is always a place: if necessary, the oldest newcomer's.
    /// Returns `None` if all places of the socket are taken.
    pub(crate) fn enter(self: &Arc<Self>, listener: Listener) -> Option<Arc<ConnectionPlace>> {
        let mut taken = self.taken();
        let number = taken.next;
        taken.next += 1;
        let evicted = CancellationToken::new();
        match listener {
            Listener::Socket if taken.socket >= self.others => return None,
            Listener::Socket => taken.socket += 1,
            Listener::Tcp => {
                if taken.newcomers.len() >= self.others
                    && let Some((_, (_, oldest))) = taken.newcomers.pop_first()
                {
                    oldest.cancel();
                }
                taken.newcomers.insert(number, (Instant::now(), evicted.clone()));
            }
        }
        Some(Arc::new(ConnectionPlace {
            places: Arc::clone(self),
            listener,
            number,
            evicted,
            is_known: AtomicBool::new(listener == Listener::Socket),
            has_asked: AtomicBool::new(false),
        }))
    }

    /// Waits until the next connection may be accepted: until there is a place, or the oldest newcomer has had its
    /// minimum time.
    pub(crate) async fn admission(&self) {
        let came = {
            let taken = self.taken();
            let is_full = taken.newcomers.len() >= self.others;
            taken.newcomers.first_key_value().filter(|_| is_full).map(|(_, (came, _))| *came)
        };
        if let Some(came) = came {
            sleep_until(came + GRACE).await;
        }
    }

    fn is_crowded(&self) -> bool {
        self.taken().newcomers.len() * 100 > self.others * CROWDED_PERCENT
    }

    fn taken(&self) -> MutexGuard<'_, TakenPlaces> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPlace {
    places: Arc<Places>,
    listener: Listener,
    number: u64,
    evicted: CancellationToken,
    /// Whether a request had credentials, or the connection came through the socket.
    is_known: AtomicBool,
    has_asked: AtomicBool,
}

impl ConnectionPlace {
    pub(crate) fn listener(&self) -> Listener {
        self.listener
    }

    /// Notes that the head of a request has arrived.
    pub(crate) fn note_request(&self) {
        self.has_asked.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_asked(&self) -> bool {
        self.has_asked.load(Ordering::Relaxed)
    }

    /// Moves a newcomer to the places of known clients. Returns false if all of these are taken, or if the newcomer's
    /// place has just been given away.
    pub(crate) fn become_known(&self) -> bool {
        if self.is_known() {
            return true;
        }
        let mut taken = self.places.taken();
        if taken.known >= self.places.known || taken.newcomers.remove(&self.number).is_none() {
            return false;
        }
        taken.known += 1;
        self.is_known.store(true, Ordering::Relaxed);
        true
    }

    /// Waits until a newer connection gets the place.
    pub(crate) async fn given_away(&self) {
        if self.is_known() {
            pending::<()>().await;
        }
        self.evicted.cancelled().await;
    }

    /// Waits until the connection must be closed: its place was given away, or it sends no request while places are
    /// scarce.
    pub(crate) async fn must_leave(&self) {
        while !self.has_asked() && !self.is_known() {
            if timeout(FIRST_REQUEST, self.evicted.cancelled()).await.is_ok() {
                return;
            }
            if !self.has_asked() && self.places.is_crowded() {
                return;
            }
        }
        self.given_away().await;
    }

    fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Relaxed)
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        match self.listener {
            Listener::Socket => taken.socket -= 1,
            Listener::Tcp if self.is_known() => taken.known -= 1,
            Listener::Tcp => drop(taken.newcomers.remove(&self.number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(places: &Arc<Places>) -> Arc<ConnectionPlace> {
        places.enter(Listener::Tcp).unwrap()
    }

    fn evicted(place: &ConnectionPlace) -> bool {
        place.evicted.is_cancelled()
    }

    #[test]
    fn the_oldest_newcomer_makes_room() {
        let places = Places::new(8);
        let [first, second, third] = [tcp(&places), tcp(&places), tcp(&places)];
        assert_eq!([&first, &second, &third].map(|p| evicted(p)), [true, false, false]);
        assert!(!first.become_known(), "its place was given away");
        drop(first);
        drop(third);
        let fourth = tcp(&places);
        assert!(!evicted(&second) && !evicted(&fourth), "a free place is taken first");
    }

    #[test]
    fn a_known_client_is_not_evicted() {
        let places = Places::new(2);
        let known = tcp(&places);
        assert!(known.become_known() && known.become_known());
        let newcomers = [tcp(&places), tcp(&places)];
        assert_eq!(
            (evicted(&known), newcomers.each_ref().map(|p| evicted(p))),
            (false, [true, false])
        );
        assert!(newcomers[1].become_known());
        let late = tcp(&places);
        assert!(!late.become_known(), "both places of known clients are taken");
        drop(known);
        assert!(late.become_known(), "a known client has left");
    }

    #[test]
    fn the_socket_has_places_of_its_own() {
        let places = Places::new(8);
        let newcomers = [tcp(&places), tcp(&places)];
        let sockets = [(); 2].map(|()| places.enter(Listener::Socket).unwrap());
        assert!(places.enter(Listener::Socket).is_none());
        assert!(sockets.iter().all(|place| place.become_known()));
        assert!(newcomers.iter().all(|place| !evicted(place)));
        drop(sockets);
        assert!(places.enter(Listener::Socket).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn clients_who_connect_at_once_are_all_heard() {
        let places = Places::new(8);
        let first = [tcp(&places), tcp(&places)];
        let next = async {
            places.admission().await;
            tcp(&places)
        };
        let (third, ()) = tokio::join!(next, async {
            tokio::task::yield_now().await;
            assert!(first.iter().all(|place| place.become_known()), "they still have their places");
        });
        assert!(third.become_known());
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_newcomer_leaves_when_places_are_scarce() {
        let soon = Duration::from_secs(3);
        let places = Places::new(16);
        let newcomers: Vec<_> = (0..3).map(|_| tcp(&places)).collect();
        let silent = &newcomers[0];
        assert!(
            timeout(soon, silent.must_leave()).await.is_err(),
            "three of four places taken are not enough for the limit"
        );
        let asking = tcp(&places);
        asking.note_request();
        assert!(timeout(soon, asking.must_leave()).await.is_err());
        assert!(timeout(soon, silent.must_leave()).await.is_ok());
        let socket = places.enter(Listener::Socket).unwrap();
        assert!(timeout(soon, socket.must_leave()).await.is_err());
    }
}
