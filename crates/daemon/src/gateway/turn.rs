//! A prompt that is made from decisions, as pieces of the client's request and texts of ours.

use std::sync::Arc;

use bethink_context::Entry;
use bethink_transcript::Seq;

use super::asked::Asked;
use super::find::Place;
use super::pieces::{Sources, pieces};
use super::{Prepared, Prompt};
use crate::hot::{ESTIMATOR, HotGuard, Slot};
use crate::memory::Inject;
use crate::recall::Asked as Recall;
use crate::turn::{Made, Ready, Wanted};
use crate::{Daemon, Kind, Refusal, Result};

/// How often a fork is made for a conversation that others continue meanwhile.
const TRIES: usize = 4;

impl Daemon {
    /// Runs the pipeline over what is stored now.
    pub(super) async fn turn_for(&self, asked: &Arc<Asked>, place: Place) -> Result<Prepared> {
        let (place, slot, hot) = self.own_history(asked, place).await?;
        let inject = asked.inject;
        let wanted = Wanted {
            given: &asked.given,
            inject,
            asked: Recall::of(None, None),
            may_compact: self.settings().context.auto_compact,
            reminds: inject == Inject::Full,
        };
        let Ready { mut hot, made, frame } = self.ready(&slot, hot, wanted).await?;
        let sources = Sources { asked, history: &hot.history };
        let prompt = prompt_of(&sources, &made, frame.added());
        self.handed_out(&slot, &mut hot, made, frame.sent());
        if !hot.decisions.is_plain() {
            self.gateway().edited(place.session);
        }
        drop(hot);
        self.registry().trim(self.hot_budget());
        Ok(asked.prepared(&place, prompt))
    }

    /// The session whose history is the request's, and no more.
    async fn own_history(
        &self,
        asked: &Asked,
        mut place: Place,
    ) -> Result<(Place, Arc<Slot>, HotGuard)> {
        let through = asked.marks.len();
        for _ in 0..TRIES {
            self.stored_all(place.session).await?;
            let own = self.gateway().shared_with(place.session, &asked.marks);
            let Some(near) = own.filter(|own| own.through == through) else {
                // It could not be stored as it was meant: somebody else appended.
                place = self.recognise(asked).await?;
                continue;
            };
            if near.is_whole {
                let slot = self.hot(place.session).await?;
                let hot = slot.lock(self).await?;
                if hot.session.last_seq == Seq(through as u64) {
                    return Ok((place, slot, hot));
                }
            }
            // Said before, and said again: the last request's fork goes on, or each request would make one more.
            let last = self.gateway().longest_whole(place.scope, &asked.marks);
            if let Some(last) = last.filter(|last| asked.only_asks_behind(last.through))
                && self.extend(asked, last)?
            {
                place = self.place(last.session, place.scope);
                continue;
            }
            if let Some(own) = self.branch_off(near, place.scope).await? {
                place = own;
            }
        }
        Err(Refusal::new(Kind::Conflict, "the conversation changes faster than it can be followed"))
    }

    /// The prompt that the request would get from a stored session, without a compaction.
    pub(super) async fn foreseen_for(&self, asked: &Asked, place: &Place) -> Result<Prompt> {
        self.stored_all(place.session).await?;
        let slot = self.hot(place.session).await?;
        let mut hot = slot.lock(self).await?;
        let Ok(known) = usize::try_from(hot.session.last_seq.0) else {
            return Ok(Prompt::Unchanged);
        };
        if known > asked.marks.len() {
            // It parts from the session: a fork would begin without decisions of what came later.
            return Ok(Prompt::Unchanged);
        }
        let project = self.project_of(&hot, asked.inject).await?;
        let frame = self.frame(&hot, &slot, project.as_deref(), &asked.given, asked.inject).await?;
        let new = asked.new_messages(known, self.now())?;
        // Put there to be looked at, and taken away again.
        let history = hot.history.clone();
        for (at, mut message) in new.into_iter().enumerate() {
            message.seq = Seq((known + at + 1) as u64);
            hot.history.push(Entry::new(Arc::new(message), &ESTIMATOR));
        }
        let made = self.foreseen(&hot, &frame);
        let longer = std::mem::replace(&mut hot.history, history);
        Ok(prompt_of(&Sources { asked, history: &longer }, &made?, frame.added()))
    }
}

fn prompt_of(sources: &Sources<'_>, made: &Made, system_added: Option<String>) -> Prompt {
    match (pieces(sources, &made.prompt), system_added) {
        (None, None) => Prompt::Unchanged,
        (Some(messages), system_added) => Prompt::Changed { system_added, messages },
        (None, system_added) => {
            let all = (0..sources.asked.messages.len()).map(super::Piece::Client).collect();
            Prompt::Changed { system_added, messages: all }
        }
    }
}
