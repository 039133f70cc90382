//! Which session a request continues.
//!
//! The longest beginning that is stored decides. Where it is all that a session has, the request goes on with
//! it; where the session has more, the client dropped or edited what came later, and a fork goes on from there,
//! so that neither conversation is touched by the other. Nothing in common is a new session.

use std::sync::Arc;

use bethink_prefix_match::{Chain, ChainScope, LikenessReader};
use bethink_service::{ErrorKind, READ_BATCH, Result, ServiceError};
use bethink_sessions::model_of;
use bethink_store::{Lineage, SeqRange};
use bethink_transcript::{Seq, SessionId};

use super::cache::{CachedConversation, ConversationPlace, SharedPrefix};
use super::queue::{StorageQueue, StorageTask};
use super::read_request::ReadRequest;
use super::service::GatewayService;

/// How often a conversation is looked for that others change meanwhile.
const TRIES: usize = 8;

impl GatewayService {
    /// The session that the request continues, with what is new of it in the queue to be stored.
    pub(super) async fn recognise(&self, request: &ReadRequest) -> Result<ConversationPlace> {
        if let Some(named) = request.session {
            return self.recognise_named(request, named).await;
        }
        if let Some(place) = self.at_hand(request, request.scope, false)? {
            return Ok(place);
        }
        let mark = request.marks.first().copied().unwrap_or_default();
        let _one = self.cache.stripe(mark).lock().await;
        self.look_further(request, request.scope, None).await
    }

    /// The session that a client names, or a fork of it.
    async fn recognise_named(
        &self,
        request: &ReadRequest,
        named: SessionId,
    ) -> Result<ConversationPlace> {
        let _one = self.cache.stripe(named.0.as_u128()).lock().await;
        let unknown = |error: ServiceError| match error.kind {
            ErrorKind::NotFound => {
                ServiceError { field: Some("x-bethink-session".to_owned()), ..error }
                    .hint("name a session of `bethink session ls`, or leave the header out")
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
        self.look_further(request, scope, Some(named)).await
    }

    /// Its place, without the disk; none where only the disk can tell.
    fn at_hand(
        &self,
        request: &ReadRequest,
        scope: ChainScope,
        looked: bool,
    ) -> Result<Option<ConversationPlace>> {
        loop {
            let Some(shared) = self.cache.longest(scope, &request.marks) else { return Ok(None) };
            // It may have gone on: the same request was answered before, and only another answer parts them.
            if shared.through == request.marks.len() {
                return Ok(Some(self.place(shared.session, scope)));
            }
            if !shared.is_whole || !(looked || request.only_asks_behind(shared.through)) {
                return Ok(None);
            }
            if self.extend(request, shared)? {
                return Ok(Some(self.place(shared.session, scope)));
            }
        }
    }

    async fn look_further(
        &self,
        request: &ReadRequest,
        scope: ChainScope,
        parent: Option<SessionId>,
    ) -> Result<ConversationPlace> {
        for _ in 0..TRIES {
            let begun = self.load_longer(request, scope).await?;
            if let Some(place) = self.at_hand(request, scope, true)? {
                return Ok(place);
            }
            // Nothing of it was stored before the daemon was killed.
            let empty = begun.map(|session| SharedPrefix { session, through: 0, is_whole: true });
            if let Some(shared) = empty
                && self.cache.longest(scope, &request.marks).is_none()
                && self.extend(request, shared)?
            {
                return Ok(self.place(shared.session, scope));
            }
            match self.cache.longest(scope, &request.marks) {
                Some(shared) => drop(self.branch_off(shared, scope).await?),
                None => return self.begin(request, scope, parent).await,
            }
        }
        Err(ServiceError::conflict("the conversation changes faster than it can be followed"))
    }

    /// The same without making or changing anything; none for a conversation that is not stored.
    pub(super) async fn known_place(
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

    /// Enqueues what is new of the request; `false` if the session went on meanwhile.
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
                    is_shown: conversation.is_simple && request.surely_fits,
                }
            });
        if done {
            self.store_soon(session);
        }
        Ok(done)
    }

    /// A fork of the session that ends where a request parts from it.
    pub(super) async fn branch_off(
        &self,
        shared: SharedPrefix,
        scope: ChainScope,
    ) -> Result<Option<ConversationPlace>> {
        let marks = self.cache.marks_of(shared.session, shared.through);
        if marks.len() != shared.through {
            return Ok(None);
        }
        let forked = async {
            self.stored_all(shared.session).await?;
            let at_seq = Some(shared.through as u64);
            let fork = bethink_api::ForkRequest { at_seq, ..Default::default() };
            self.sessions.fork(shared.session, fork).await
        };
        match forked.await {
            Ok(fork) => {
                let session = SessionId(fork.id);
                self.take_in(session, scope, marks, true).await?;
                metrics::counter!("bethink_gateway_forks_total").increment(1);
                tracing::info!(from = %shared.session, at = shared.through, %session, "a client went back: forked");
                Ok(Some(self.place(session, scope)))
            }
            // Deleted, or never stored: the next look knows.
            Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Invalid) => {
                self.cache.forget(shared.session);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn place(&self, session: SessionId, scope: ChainScope) -> ConversationPlace {
        ConversationPlace { session, scope, is_simple: self.cache.is_simple(session) }
    }

    /// Takes a stored session to hand that shares more with the request than those at hand.
    async fn load_longer(
        &self,
        request: &ReadRequest,
        scope: ChainScope,
    ) -> Result<Option<SessionId>> {
        let at_hand = self.cache.longest(scope, &request.marks).map_or(0, |shared| shared.through);
        let longer = request.marks.get(at_hand..).unwrap_or_default();
        let Some(first) = request.marks.first().filter(|_| !longer.is_empty()) else {
            return Ok(None);
        };
        if at_hand == 0 && !self.is_begun(scope, *first).await? {
            return Ok(None);
        }
        let found = self.cx.store().relatives(scope.0, longer.to_vec()).await?;
        let found = found.iter().find(|relative| !self.cache.knows(relative.session));
        let Some(relative) = found else { return Ok(None) };
        self.load(relative.session, scope, request.setting()).await?;
        Ok(Some(relative.session))
    }

    /// Most new conversations are told from all stored ones without the disk.
    async fn is_begun(&self, scope: ChainScope, first: u128) -> Result<bool> {
        if let Some(known) = self.cache.is_begun(scope, first) {
            return Ok(known);
        }
        self.cache.begins_with(self.cx.store().beginnings().await?);
        Ok(self.cache.is_begun(scope, first).unwrap_or(true))
    }

    /// Takes a session to hand that a client names, and tells whose requests continue it.
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
            // Marks are written before their messages; a daemon that was killed in between left some.
            let marks = stored.into_iter().take(last).collect();
            return self.take_in(id, scope, marks, false).await;
        }
        // Somebody else appended, or the session did not come by the gateway.
        let marks = self.marks_of(id, setting).await?;
        self.take_in(id, scope, marks, true).await
    }

    /// Of a session's history, as if a request of this setting had sent it.
    async fn marks_of(&self, id: SessionId, setting: [&str; 2]) -> Result<Vec<u128>> {
        let mut chain = Chain::new(&setting);
        let (mut reader, mut marks, mut after) = (LikenessReader::default(), Vec::new(), Seq::ZERO);
        loop {
            let range = SeqRange { after: Some(after), limit: READ_BATCH, ..SeqRange::all() };
            let batch = self.cx.store().messages(id, range).await?;
            let Some(last) = batch.last() else { return Ok(marks) };
            after = last.seq;
            for message in &batch {
                // What can't be read is like nothing that a client sends.
                let Ok(reading) = reader.read(&message.raw) else { return Ok(marks) };
                marks.push(chain.push(&reading));
            }
        }
    }

    /// Takes a stored session to hand; `writes` where the store does not have its marks.
    pub(super) async fn take_in(
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
        let is_simple = self.shows_itself(id).await?;
        let queue = Arc::new(StorageQueue::default());
        let conversation =
            CachedConversation { scope, marks, is_simple, model, queue, frame: None, touched: 0 };
        self.cache.insert(id, conversation);
        Ok(())
    }

    /// Its prompts show its history as it is.
    async fn shows_itself(&self, id: SessionId) -> Result<bool> {
        let decisions = self.cx.store().decisions(id).await?;
        let compactions = self.cx.store().compactions(id).await?;
        Ok(decisions.iter().all(|decision| decision.kind == "shown")
            && compactions.iter().all(|compaction| compaction.undone_at.is_some()))
    }
}
