//! Reads ranked messages, applies what the index cannot, and adds to hits what is known about them.

use std::collections::HashMap;

use bethink_api as api;
use bethink_recall::RankedMessage;
use bethink_service::{Result, parse_stored};
use bethink_store::{SearchScope, TeamScope};
use bethink_transcript::{Message, Seq, SessionId};

use crate::SearchService;
use crate::filter::Filter;
use crate::hit;

/// Which history to search.
#[derive(Clone, Debug)]
pub(crate) enum SearchedHistory {
    Own(SearchScope),
    /// What people share with the team.
    Team(TeamScope),
}

impl SearchedHistory {
    pub(crate) fn is_one_session(&self) -> bool {
        matches!(self, Self::Own(SearchScope::Session(_)))
    }
}

impl SearchService {
    async fn messages_at(
        &self,
        history: &SearchedHistory,
        places: Vec<(SessionId, Seq)>,
        filter: &Filter,
    ) -> Result<Vec<(SessionId, Message)>> {
        let mut stored = match history {
            SearchedHistory::Own(_) => self.cx.store().messages_at(places).await?,
            SearchedHistory::Team(_) => self.cx.store().team_messages_at(places).await?,
        };
        stored.retain(|(_, stored)| filter.admits(stored));
        let read = |(session, stored)| Ok((session, parse_stored(stored)?));
        let read = stored.into_iter().map(read);
        match history {
            SearchedHistory::Own(_) => read.collect(),
            // Other programs can write rows that are not messages; they are skipped.
            SearchedHistory::Team(_) => Ok(read.filter_map(Result::ok).collect()),
        }
    }

    /// Reads ranked messages, without those that the filter excludes.
    pub(crate) async fn read(
        &self,
        history: &SearchedHistory,
        ranked: &[RankedMessage],
        sessions: &[SessionId],
        filter: &Filter,
    ) -> Result<Vec<(SessionId, Message, f32)>> {
        let place = |hit: &RankedMessage| {
            let session = sessions.get(hit.session as usize)?;
            Some((*session, Seq(u64::from(hit.seq))))
        };
        let scores: HashMap<_, _> =
            ranked.iter().filter_map(|hit| Some((place(hit)?, hit.score))).collect();
        let places = ranked.iter().filter_map(place).collect();
        let stored = self.messages_at(history, places, filter).await?;
        let mut read = Vec::with_capacity(stored.len());
        for (session, message) in stored {
            let score = scores.get(&(session, message.seq)).copied().unwrap_or_default();
            read.push((session, message, score));
        }
        if filter.needs_calls() {
            let calls = self.calls_before(history, &read).await?;
            read.retain(|(session, message, _)| {
                filter.admits_content(message, calls.get(&(*session, message.seq)))
            });
        }
        Ok(read)
    }

    /// Returns, for each message with tool results, the previous message, which contains the calls.
    async fn calls_before(
        &self,
        history: &SearchedHistory,
        read: &[(SessionId, Message, f32)],
    ) -> Result<HashMap<(SessionId, Seq), Message>> {
        let places = read
            .iter()
            .filter(|(_, message, _)| message.tool_results().next().is_some())
            .map(|(session, message, _)| (*session, Seq(message.seq.0.saturating_sub(1))))
            .collect();
        let calls = self.messages_at(history, places, &Filter::default()).await?;
        let call = |(session, call): (SessionId, Message)| ((session, call.seq.next()), call);
        Ok(calls.into_iter().map(call).collect())
    }

    /// Adds the tool calls to hits that are results: a result means little without its call.
    pub(crate) async fn add_calls(
        &self,
        history: &SearchedHistory,
        hits: &mut [api::SearchHit],
    ) -> Result<()> {
        let results = hits.iter().filter(|hit| hit.answers.is_some());
        let places = results
            .map(|hit| (SessionId(hit.session_id), Seq(hit.seq.saturating_sub(1))))
            .collect();
        for (session, call) in self.messages_at(history, places, &Filter::default()).await? {
            for hit in hits.iter_mut() {
                if hit.session_id == session.0 && hit.seq == call.seq.0 + 1 {
                    hit::name_call(hit, &call);
                }
            }
        }
        hits.iter_mut().for_each(hit::drop_unnamed_call);
        Ok(())
    }

    /// Adds to hits what is known about their sessions, if several were searched.
    pub(crate) async fn add_sessions(
        &self,
        history: &SearchedHistory,
        hits: &mut [api::SearchHit],
    ) -> Result<()> {
        match history {
            SearchedHistory::Own(SearchScope::Session(_)) => Ok(()),
            SearchedHistory::Own(_) => self.add_titles(hits).await,
            SearchedHistory::Team(_) => self.add_people(hits).await,
        }
    }

    async fn add_titles(&self, hits: &mut [api::SearchHit]) -> Result<()> {
        let mut titles: HashMap<SessionId, Option<String>> = HashMap::new();
        for hit in hits {
            let id = SessionId(hit.session_id);
            hit.title = match titles.get(&id) {
                Some(title) => title.clone(),
                // A session that was deleted in the meantime has no title.
                None => {
                    let title =
                        self.cx.store().session(id).await.ok().and_then(|found| found.title);
                    titles.entry(id).or_insert(title).clone()
                }
            };
        }
        Ok(())
    }

    async fn add_people(&self, hits: &mut [api::SearchHit]) -> Result<()> {
        let mut ids: Vec<SessionId> = hits.iter().map(|hit| SessionId(hit.session_id)).collect();
        ids.sort_unstable();
        ids.dedup();
        for session in self.cx.store().team_sessions_at(ids).await? {
            for hit in hits.iter_mut().filter(|hit| hit.session_id == session.id.0) {
                hit.title.clone_from(&session.title);
                hit.person = Some(session.person.clone());
                hit.project = Some(session.project.clone());
            }
        }
        Ok(())
    }
}
