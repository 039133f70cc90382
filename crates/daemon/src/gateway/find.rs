//! Which session a request continues.
//!
//! The longest beginning that is stored decides. Where it is all that a session has, the request goes on with
//! it; where the session has more, the client dropped or edited what came later, and a fork goes on from there,
//! so that neither conversation is touched by the other. Nothing in common is a new session.

use bethink_lineage::Scope;
use bethink_transcript::{Seq, SessionId};

use super::asked::Asked;
use super::desk::Near;
use super::line::Work;
use crate::{Daemon, Kind, Refusal, Result};

/// How often a conversation is looked for that others change meanwhile.
const TRIES: usize = 8;

/// Where a request belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) session: SessionId,
    pub(super) scope: Scope,
    /// Nothing was decided that a prompt would show.
    pub(super) is_simple: bool,
}

impl Daemon {
    /// The session that the request continues, with what is new of it in line to be stored.
    pub(super) async fn recognise(&self, asked: &Asked) -> Result<Place> {
        if let Some(named) = asked.session {
            return self.recognise_named(asked, named).await;
        }
        if let Some(place) = self.at_hand(asked, asked.scope, false)? {
            return Ok(place);
        }
        let mark = asked.marks.first().copied().unwrap_or_default();
        let _one = self.gateway().stripe(mark).lock().await;
        self.look_further(asked, asked.scope, None).await
    }

    /// The session that a client names, or a fork of it.
    async fn recognise_named(&self, asked: &Asked, named: SessionId) -> Result<Place> {
        let _one = self.gateway().stripe(named.0.as_u128()).lock().await;
        let unknown = |refusal: Refusal| match refusal.kind {
            Kind::NotFound => Refusal { field: Some("x-bethink-session".to_owned()), ..refusal }
                .hint("name a session of `bethink session ls`, or leave the header out"),
            _ => refusal,
        };
        let scope = self.load_named(named, asked.setting()).await.map_err(unknown)?;
        let near = self.gateway().longest(scope, &asked.marks);
        let own = self.gateway().shared_with(named, &asked.marks).filter(|own| own.is_whole);
        if let Some(own) = own.filter(|own| near.is_none_or(|near| near.through <= own.through))
            && (own.through == asked.marks.len() || self.extend(asked, own)?)
        {
            return Ok(self.place(own.session, scope));
        }
        self.look_further(asked, scope, Some(named)).await
    }

    /// Its place, without the disk; none where only the disk can tell.
    fn at_hand(&self, asked: &Asked, scope: Scope, looked: bool) -> Result<Option<Place>> {
        loop {
            let Some(near) = self.gateway().longest(scope, &asked.marks) else { return Ok(None) };
            // It may have gone on: the same request was answered before, and only another answer parts them.
            if near.through == asked.marks.len() {
                return Ok(Some(self.place(near.session, scope)));
            }
            if !near.is_whole || !(looked || asked.only_asks_behind(near.through)) {
                return Ok(None);
            }
            if self.extend(asked, near)? {
                return Ok(Some(self.place(near.session, scope)));
            }
        }
    }

    async fn look_further(
        &self,
        asked: &Asked,
        scope: Scope,
        parent: Option<SessionId>,
    ) -> Result<Place> {
        for _ in 0..TRIES {
            let begun = self.load_longer(asked, scope).await?;
            if let Some(place) = self.at_hand(asked, scope, true)? {
                return Ok(place);
            }
            // Nothing of it was stored before the daemon was killed.
            let empty = begun.map(|session| Near { session, through: 0, is_whole: true });
            if let Some(near) = empty
                && self.gateway().longest(scope, &asked.marks).is_none()
                && self.extend(asked, near)?
            {
                return Ok(self.place(near.session, scope));
            }
            match self.gateway().longest(scope, &asked.marks) {
                Some(near) => drop(self.branch_off(near, scope).await?),
                None => return self.begin(asked, scope, parent).await,
            }
        }
        Err(Refusal::new(Kind::Conflict, "the conversation changes faster than it can be followed"))
    }

    /// The same without making or changing anything; none for a conversation that is not stored.
    pub(super) async fn known_place(&self, asked: &Asked) -> Result<Option<Place>> {
        let scope = match asked.session {
            Some(named) => self.load_named(named, asked.setting()).await?,
            None => asked.scope,
        };
        self.load_longer(asked, scope).await?;
        let near = self.gateway().longest(scope, &asked.marks);
        Ok(near.map(|near| self.place(near.session, scope)))
    }

    /// Puts what is new of the request in line; `false` if the session went on meanwhile.
    pub(super) fn extend(&self, asked: &Asked, near: Near) -> Result<bool> {
        let Near { session, through, .. } = near;
        let messages = asked.new_messages(through, self.now())?;
        let marks = asked.marks.get(through..).unwrap_or_default();
        let done = self.gateway().extend(session, through, marks, Some(&asked.model), |branch| {
            Work::Append {
                after: Seq(through as u64),
                messages,
                marks: marks.to_vec(),
                scope: branch.scope,
                is_shown: branch.is_simple && asked.surely_fits,
            }
        });
        if done {
            self.go_on(session);
        }
        Ok(done)
    }

    /// A fork of the session that ends where a request parts from it.
    pub(super) async fn branch_off(&self, near: Near, scope: Scope) -> Result<Option<Place>> {
        let marks = self.gateway().marks_of(near.session, near.through);
        if marks.len() != near.through {
            return Ok(None);
        }
        let forked = async {
            self.stored_all(near.session).await?;
            let at_seq = Some(near.through as u64);
            let request = bethink_api::ForkRequest { at_seq, ..Default::default() };
            self.fork(near.session, request).await
        };
        match forked.await {
            Ok(fork) => {
                let session = SessionId(fork.id);
                self.take_in(session, scope, marks, true).await?;
                metrics::counter!("bethink_gateway_forks_total").increment(1);
                tracing::info!(from = %near.session, at = near.through, %session, "a client went back: forked");
                Ok(Some(self.place(session, scope)))
            }
            // Deleted, or never stored: the next look knows.
            Err(refusal) if matches!(refusal.kind, Kind::NotFound | Kind::Invalid) => {
                self.gateway().forget(near.session);
                Ok(None)
            }
            Err(refusal) => Err(refusal),
        }
    }

    pub(super) fn place(&self, session: SessionId, scope: Scope) -> Place {
        Place { session, scope, is_simple: self.gateway().is_simple(session) }
    }
}
