//! Finds the session that a request continues.
//!
//! The longest stored prefix of the request decides the outcome. If this prefix is a whole session, the request continues that
//! session. If the session has more messages, the client dropped or edited them, and the request continues in a fork. If no
//! prefix is stored, the request begins a new session.

use std::sync::Arc;

use bethink_prefix_match::{Chain, ChainScope, LikenessReader};
use bethink_service::{ErrorKind, Result, ServiceError, next_batch};
use bethink_sessions::model_of;
use bethink_store::{Lineage, SessionChange};
use bethink_transcript::{Seq, SessionId};

use super::begin::EXPLORATION;
use super::cache::{CachedConversation, ConversationPlace, SharedPrefix};
use super::queue::{StorageQueue, StorageTask};
use super::read_request::ReadRequest;
use super::service::GatewayService;

/// Maximum number of searches, if other requests change the conversation at the same time.
const TRIES: usize = 8;

impl GatewayService {
    /// Returns the session that the request continues, and enqueues its new messages.
    pub(super) async fn recognize(&self, request: &ReadRequest) -> Result<ConversationPlace> {
        if let Some(named) = request.session {
            return self.recognize_named(request, named).await;
        }
        if let Some(place) = self.recognize_side_agent(request).await? {
            return Ok(place);
        }
        let place = match self.in_cache(request, request.scope, false)? {
            Some(place) => place,
            None => {
                let mark = request.marks.first().copied().unwrap_or_default();
                let _one = self.cache.stripe(mark).lock().await;
                self.find_stored(request, request.scope, None).await?
            }
        };
        self.cache.set_agent(place.session, request.agent);
        Ok(place)
    }

    /// Returns a fork for a request in which another agent continues the conversation, so that the main agent does not
    /// find the other agent's messages in its session. `None` for any other request.
    async fn recognize_side_agent(
        &self,
        request: &ReadRequest,
    ) -> Result<Option<ConversationPlace>> {
        let Some(shared) = self.cache.longest(request.scope, &request.marks) else {
            return Ok(None);
        };
        if !self.cache.is_of_other(shared.session, request.agent) {
            return Ok(None);
        }
        let scope = request.agent.scope_in(request.scope);
        if let Some(place) = self.in_cache(request, scope, true)? {
            return Ok(Some(place));
        }
        let _one = self.cache.stripe(u128::from(scope.0)).lock().await;
        if let Some(fork) = self.fork_at(shared, scope).await? {
            let change = SessionChange {
                tags: Some(vec![EXPLORATION.to_owned()]),
                updated_at: self.cx.now(),
                ..SessionChange::default()
            };
            self.cx.store().update_session(fork.session, change).await?;
        }
        self.in_cache(request, scope, true)
    }

    /// Returns the session that a client names, or a fork of it.
    async fn recognize_named(
        &self,
        request: &ReadRequest,
        named: SessionId,
    ) -> Result<ConversationPlace> {
        let _one = self.cache.stripe(named.0.as_u128()).lock().await;
        let unknown = |error: ServiceError| match error.kind {
            ErrorKind::NotFound => {
                ServiceError { field: Some("x-bethink-session".to_owned()), ..error }.hint(
                    "send the full ID, as shown by `bethink session show`, or leave the header out",
                )
            }
            _ => error,
        };
        let scope = self.load_named(named, request.setting()).await.map_err(unknown)?;
        let shared = self.cache.longest(scope, &request.marks);
        let own = self.cache.shared_with(named, &request.marks).filter(|own| own.is_whole);
        if let Some(own) =
            own.filter(|own| shared.is_none_or(|shared| shared.through <= own.through))
            && (own.through == request.marks.len() || self.extend(request, own)?)
        {
            return Ok(self.place(own.session, scope));
        }
        self.find_stored(request, scope, Some(named)).await
    }

    /// Finds the session in the cache; `None` if the store must be searched. `looked` says whether the store has already been
    /// searched.
    fn in_cache(
        &self,
        request: &ReadRequest,
        scope: ChainScope,
        looked: bool,
    ) -> Result<Option<ConversationPlace>> {
        loop {
            let Some(shared) = self.cache.longest(scope, &request.marks) else { return Ok(None) };
            // The session may have more messages, because this request was answered before. Only a different answer
            // creates a fork.
            if shared.through == request.marks.len() {
                return Ok(Some(self.place(shared.session, scope)));
            }
            if !shared.is_whole || !(looked || request.only_user_messages_after(shared.through)) {
                return Ok(None);
            }
            if self.extend(request, shared)? {
                return Ok(Some(self.place(shared.session, scope)));
            }
        }
    }

    async fn find_stored(
        &self,
        request: &ReadRequest,
        scope: ChainScope,
        parent: Option<SessionId>,
    ) -> Result<ConversationPlace> {
        for _ in 0..TRIES {
            let begun = self.load_longer(request, scope).await?;
            if let Some(place) = self.in_cache(request, scope, true)? {
                return Ok(place);
            }
            // A session without messages: the daemon was killed between storing the session and its first message.
            let empty = begun.map(|session| SharedPrefix { session, through: 0, is_whole: true });
            if let Some(shared) = empty
                && self.cache.longest(scope, &request.marks).is_none()
                && self.extend(request, shared)?
            {
                return Ok(self.place(shared.session, scope));
            }
            match self.cache.longest(scope, &request.marks) {
                Some(shared) => drop(self.fork_at(shared, scope).await?),
                None => return self.begin(request, scope, parent).await,
            }
        }
        Err(ServiceError::conflict("other requests keep changing this conversation; try again"))
    }

    /// Like [`Self::recognize`], but changes nothing; `None` if the conversation is not stored.
    pub(super) async fn existing_place(
        &self,
        request: &ReadRequest,
    ) -> Result<Option<ConversationPlace>> {
        let scope = match request.session {
            Some(named) => self.load_named(named, request.setting()).await?,
            None => request.scope,
        };
        self.load_longer(request, scope).await?;
        let shared = self.cache.longest(scope, &request.marks);
        Ok(shared.map(|shared| self.place(shared.session, scope)))
    }

    /// Enqueues the new messages of the request; `false` if the session has continued in the meantime.
    pub(super) fn extend(&self, request: &ReadRequest, shared: SharedPrefix) -> Result<bool> {
        let SharedPrefix { session, through, .. } = shared;
        let messages = request.new_messages(through, self.cx.now())?;
        let marks = request.marks.get(through..).unwrap_or_default();
        let done =
            self.cache.extend(session, through, marks, Some(&request.model), |conversation| {
                StorageTask::Append {
                    after: Seq(through as u64),
                    messages,
                    marks: marks.to_vec(),
                    scope: conversation.scope,
                    is_shown: conversation.is_unedited && request.surely_fits,
                }
            });
        if done {
            self.store_in_background(session);
        }
        Ok(done)
    }

    /// Forks a session after the prefix it shares with a request.
    pub(super) async fn fork_at(
        &self,
        shared: SharedPrefix,
        scope: ChainScope,
    ) -> Result<Option<ConversationPlace>> {
        let marks = self.cache.marks_of(shared.session, shared.through);
        if marks.len() != shared.through {
            return Ok(None);
        }
        let forked = async {
            self.wait_until_stored(shared.session).await?;
            let at_seq = Some(shared.through as u64);
            let fork = bethink_api::ForkRequest { at_seq, ..Default::default() };
            self.sessions.fork(shared.session, fork, None).await
        };
        match forked.await {
            Ok(fork) => {
                let session = SessionId(fork.id);
                self.add_to_cache(session, scope, marks, true).await?;
                metrics::counter!("bethink_gateway_forks_total").increment(1);
                tracing::info!(from = %shared.session, at = shared.through, %session, "forked a session, because the client continued from an earlier message");
                Ok(Some(self.place(session, scope)))
            }
            // The session was deleted or never stored; the next attempt reads the store.
            Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Invalid) => {
                self.cache.forget(shared.session);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn place(&self, session: SessionId, scope: ChainScope) -> ConversationPlace {
        ConversationPlace { session, scope, is_unedited: self.cache.is_unedited(session) }
    }

    /// Loads a stored session that shares a longer prefix with the request than any cached session does, if there is
    /// one.
    async fn load_longer(
        &self,
        request: &ReadRequest,
        scope: ChainScope,
    ) -> Result<Option<SessionId>> {
        let in_cache = self.cache.longest(scope, &request.marks).map_or(0, |shared| shared.through);
        let longer = request.marks.get(in_cache..).unwrap_or_default();
        let Some(first) = request.marks.first().filter(|_| !longer.is_empty()) else {
            return Ok(None);
        };
        // The first mark contains the model and the tools. A client that has answers may have changed them since it began.
        if in_cache == 0 && !request.has_answers() && !self.is_begun(scope, *first).await? {
            return Ok(None);
        }
        let found = self.cx.store().relatives(scope.0, longer.to_vec()).await?;
        let found = found.iter().find(|relative| !self.cache.knows(relative.session));
        let Some(relative) = found else { return Ok(None) };
        self.load(relative.session, scope, request.setting()).await?;
        Ok(Some(relative.session))
    }

    /// Returns whether any stored conversation begins with this mark. Rules out most new conversations without reading
    /// the disk.
    async fn is_begun(&self, scope: ChainScope, first: u128) -> Result<bool> {
        if self.cx.store().is_shared() {
            // Another daemon may have stored it since they were read.
            return Ok(true);
        }
        if let Some(known) = self.cache.is_begun(scope, first) {
            return Ok(known);
        }
        self.cache.set_beginnings(self.cx.store().beginnings().await?);
        Ok(self.cache.is_begun(scope, first).unwrap_or(true))
    }

    /// Loads a session that a client names, and returns its scope.
    async fn load_named(&self, id: SessionId, setting: [&str; 2]) -> Result<ChainScope> {
        if let Some(scope) = self.cache.scope(id) {
            return Ok(scope);
        }
        let lineage = self.cx.store().lineage(id).await?;
        let own = ChainScope::of(&["session", &id.to_string()]);
        let scope = lineage.map_or(own, |lineage| ChainScope(lineage.scope));
        self.load(id, scope, setting).await?;
        Ok(scope)
    }

    pub(super) async fn load(
        &self,
        id: SessionId,
        scope: ChainScope,
        setting: [&str; 2],
    ) -> Result<()> {
        let session = self.cx.store().session(id).await?;
        let stored =
            self.cx.store().lineage(id).await?.map_or_else(Vec::new, |stored| stored.marks);
        let last = usize::try_from(session.last_seq.0).unwrap_or(usize::MAX);
        if stored.len() >= last {
            // Marks are written before their messages, so a daemon that was killed in between left too many.
            let marks = stored.into_iter().take(last).collect();
            return self.add_to_cache(id, scope, marks, false).await;
        }
        // Another writer appended, or the session was not made by the gateway.
        let marks = self.marks_of(id, setting).await?;
        self.add_to_cache(id, scope, marks, true).await
    }

    /// Computes the marks of a session's history as if the history had been sent in a request with this setting.
    async fn marks_of(&self, id: SessionId, setting: [&str; 2]) -> Result<Vec<u128>> {
        let mut chain = Chain::new(&setting);
        let (mut reader, mut marks, mut after) = (LikenessReader::default(), Vec::new(), Seq::ZERO);
        loop {
            let batch = self.cx.store().messages(id, next_batch(after)).await?;
            let Some(last) = batch.last() else { return Ok(marks) };
            after = last.seq;
            for message in &batch {
                // An unreadable message matches nothing that a client sends.
                let Ok(reading) = reader.read(&message.raw) else { return Ok(marks) };
                marks.push(chain.push(&reading));
            }
        }
    }

    /// Adds a stored session to the cache, and stores its marks if `writes` is set.
    pub(super) async fn add_to_cache(
        &self,
        id: SessionId,
        scope: ChainScope,
        marks: Vec<u128>,
        writes: bool,
    ) -> Result<()> {
        if writes {
            let lineage = Lineage { session: id, scope: scope.0, marks: marks.clone() };
            self.cx.store().put_lineage(lineage, Seq::ZERO).await?;
        }
        let model = model_of(&self.cx.store().session(id).await?);
        let is_unedited = self.has_no_edits(id).await?;
        let queue = Arc::new(StorageQueue::default());
        let conversation = CachedConversation {
            scope,
            marks,
            is_unedited,
            model,
            queue,
            frame: None,
            agent: None,
            last_used: 0,
        };
        self.cache.insert(id, conversation);
        Ok(())
    }

    /// Returns whether prompts show the session's history unchanged.
    async fn has_no_edits(&self, id: SessionId) -> Result<bool> {
        let decisions = self.cx.store().decisions(id).await?;
        let compactions = self.cx.store().compactions(id).await?;
        Ok(decisions.iter().all(|decision| decision.kind == "shown")
            && compactions.iter().all(|compaction| compaction.undone_at.is_some()))
    }
}
