//! The handle of the session service, and the ports through which other services take part.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use bethink_compactor::SessionNotes;
use bethink_context::{Attachment, ProjectTexts};
use bethink_models::ModelService;
use bethink_search::SearchService;
use bethink_service::{Result, ServiceContext};
use bethink_store::SessionRecord;
use bethink_transcript::{Message, Seq, SessionId};

use crate::handle::{Registry, SessionHandle};
use crate::limits::SessionLimits;
use crate::loaded::LoadedSession;
use crate::request::PromptRequest;

/// An event in a session. Listeners are called immediately, and must neither wait nor fail.
#[derive(Debug)]
pub enum SessionEvent<'a> {
    /// Messages were committed. The session's state may not contain them yet.
    Appended {
        handle: &'a Arc<SessionHandle>,
        new: &'a [Arc<Message>],
        by_client: bool,
    },
    /// The session's state contains all messages.
    TakenIn {
        handle: &'a Arc<SessionHandle>,
        loaded: &'a LoadedSession,
    },
    /// An append ended while the state was in memory.
    Settled {
        handle: &'a Arc<SessionHandle>,
        loaded: &'a LoadedSession,
    },
    /// A prompt was handed out.
    Prompted {
        handle: &'a Arc<SessionHandle>,
        loaded: &'a LoadedSession,
    },
    /// A compaction is about to be stored, so the view contains the older messages for the last time.
    Compacting {
        loaded: &'a LoadedSession,
    },
    /// A decision was made that changes later prompts.
    Decided {
        session: SessionId,
    },
    Deleted {
        session: SessionId,
    },
    /// The session was released to another daemon. What services know about it may be out of date.
    Released {
        session: SessionId,
    },
    /// Other daemons may have changed any session.
    Missed,
    /// A file was imported as this session.
    Imported {
        session: SessionId,
    },
    /// The session was forked from another one, and has its messages.
    Forked {
        session: SessionId,
    },
}

/// The future that a port returns.
pub type Contributed<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// A service's addition to a prompt.
#[derive(Default)]
pub struct Contribution {
    pub system: ProjectTexts,
    pub reminders: Vec<Attachment>,
    /// Runs once the prompt's decisions are durable; it does not run for a dropped prompt.
    pub once_kept: Option<Box<dyn FnOnce() + Send>>,
}

impl Debug for Contribution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Contribution").field("reminders", &self.reminders).finish_non_exhaustive()
    }
}

/// A service that takes part in sessions: it adds to prompts, and keeps data that is deleted with the session.
pub trait Contributor: Send + Sync + Debug + 'static {
    /// Returns the service's addition to the requested prompt.
    fn contribute<'a>(&'a self, _: PromptRequest<'a>) -> Contributed<'a, Contribution> {
        Box::pin(async { Ok(Contribution::default()) })
    }

    /// Returns the notes that a compaction may use as its summary, if this service has any.
    fn summary<'a>(&'a self, _: &'a SessionRecord) -> Contributed<'a, Option<SessionNotes>> {
        Box::pin(async { Ok(None) })
    }

    /// Waits until an update that a summary depends on has ended.
    fn settle(&self, _session: SessionId) -> Contributed<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Called when a session has been loaded, before the service knows anything about it.
    fn loaded<'a>(&'a self, _: &'a SessionHandle, _: &'a LoadedSession) -> Contributed<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Copies the parent's data up to message `at` to a fork.
    fn forked(&self, _from: SessionId, _to: SessionId, _at: Seq) -> Contributed<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Removes the service's data about a session that is about to be deleted.
    fn removed(&self, _session: SessionId) -> Contributed<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

/// Called for each [`SessionEvent`].
pub type Listener = Box<dyn Fn(&SessionEvent<'_>) + Send + Sync>;

/// The session service: history, turns, compactions. Clones share one state.
#[derive(Clone)]
pub struct SessionService {
    pub(crate) cx: ServiceContext,
    pub(crate) models: ModelService,
    pub(crate) search: SearchService,
    pub(crate) limits: Arc<SessionLimits>,
    pub(crate) inner: Arc<SessionsState>,
}

#[derive(Default)]
pub(crate) struct SessionsState {
    pub(crate) registry: Arc<Registry>,
    /// Held for reading while a fork is copied.
    pub(crate) forks: tokio::sync::RwLock<()>,
    contributors: OnceLock<Vec<Arc<dyn Contributor>>>,
    listeners: RwLock<Vec<Listener>>,
}

impl Debug for SessionService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionService").field("cx", &self.cx).finish_non_exhaustive()
    }
}

impl SessionService {
    pub fn new(cx: ServiceContext, models: ModelService, search: SearchService) -> Self {
        let limits = Arc::new(SessionLimits::from(cx.settings()));
        Self { cx, models, search, limits, inner: Arc::default() }
    }

    /// Connects the services that take part, once, before the first request. Contributors add to prompts in this
    /// order.
    pub fn connect(&self, contributors: Vec<Arc<dyn Contributor>>, listeners: Vec<Listener>) {
        if self.inner.contributors.set(contributors).is_err() {
            tracing::error!(
                "the services that add to prompts were connected twice; keeping the first ones"
            );
        }
        listeners.into_iter().for_each(|listener| self.listen(listener));
    }

    /// Adds a listener, for example for a service that is created after the start.
    pub fn listen(&self, listener: Listener) {
        self.inner.listeners.write().unwrap_or_else(PoisonError::into_inner).push(listener);
    }

    pub(crate) fn contributors(&self) -> &[Arc<dyn Contributor>] {
        self.inner.contributors.get().map_or(&[], Vec::as_slice)
    }

    pub(crate) fn tell(&self, event: &SessionEvent<'_>) {
        let listeners = self.inner.listeners.read().unwrap_or_else(PoisonError::into_inner);
        listeners.iter().for_each(|listener| listener(event));
    }

    pub fn context(&self) -> &ServiceContext {
        &self.cx
    }

    /// Ends a use of a session. Evicts unused sessions if all together exceed the budget.
    pub fn finish_use(&self, handle: Arc<SessionHandle>) {
        self.inner.registry.count(&handle);
        drop(handle);
        self.trim();
    }

    /// Evicts unused sessions until the others fit the budget.
    pub(crate) fn trim(&self) {
        let budget = self.cx.settings().daemon.hot_bytes;
        self.inner.registry.trim(usize::try_from(budget).unwrap_or(usize::MAX));
    }
}
