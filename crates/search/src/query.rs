//! Searches a session or a whole project: looks up the positions of terms in the store, and lets `recall` rank the
//! messages.

use std::time::{Duration, Instant};

use bethink_api as api;
use bethink_recall::days::day_of;
use bethink_recall::{Question, RankedMessage};
use bethink_service::{Result, ServiceError, blocking};
use bethink_store::{IndexLookup, SearchScope, SessionLocation, TeamScope, TermPlaces};
use bethink_transcript::{Seq, SessionId};

use crate::SearchService;
use crate::filter::Filter;
use crate::hit::Hits;
use crate::plan::TermPlan;
use crate::read::SearchedHistory;

/// Default number of hits.
const HITS: usize = 10;
/// Maximum number of hits.
pub const MAX_HITS: usize = 100;
/// Maximum length of a query, in bytes.
pub const MAX_QUERY: usize = 10_000;
/// Maximum number of postings that one search reads, which take about 15 MB. This is enough for all words in a history of
/// a million messages, except for very common ones, which are left out if there are rarer ones.
const POSTINGS: usize = 1_200_000;
/// How long a search waits for an incomplete index before it reports an incomplete result.
const FINISH_INDEX: Duration = Duration::from_secs(8);
/// Number of messages that are read in addition to the requested hits, because a match of adjacent words may move one
/// of these messages up.
const SECOND_LOOK: usize = 10;
/// If some hits may be dropped after they are read, this many times the requested number of hits are ranked.
const FILTERED_HITS: usize = 20;

impl SearchService {
    /// Searches the whole history of a session, including summarized messages.
    pub async fn search(
        &self,
        id: SessionId,
        request: &api::SearchQuery,
    ) -> Result<api::SearchHits> {
        self.cx.store().session(id).await?;
        self.search_in(SearchedHistory::Own(SearchScope::Session(id)), request).await
    }

    /// Searches all sessions that began there, or anywhere.
    pub async fn search_sessions(
        &self,
        location: Option<SessionLocation>,
        request: &api::SearchQuery,
    ) -> Result<api::SearchHits> {
        let scope = location.map_or(SearchScope::All, SearchScope::Location);
        self.search_in(SearchedHistory::Own(scope), request).await
    }

    /// Searches what people share with the team.
    pub async fn search_team(
        &self,
        scope: api::TeamHistoryScope,
        request: &api::SearchQuery,
    ) -> Result<api::SearchHits> {
        let api::TeamHistoryScope { project, person } = scope;
        self.search_in(SearchedHistory::Team(TeamScope { project, person }), request).await
    }

    async fn search_in(
        &self,
        history: SearchedHistory,
        request: &api::SearchQuery,
    ) -> Result<api::SearchHits> {
        let limit = limit_of(request)?;
        let mut filter = Filter::of(request)?;
        let question = Question::new(&request.q);
        let plan = TermPlan::new(&question, &request.q, &filter, day_of(self.cx.now()));
        let (found, complete) = self.look_up(&history, &plan).await?;
        filter.unranked = plan.unranked_filters(&found);
        // Some ranked messages may be dropped after they are read.
        let selective =
            filter.must_be_read() || (question.needs_phrases && !question.phrases.is_empty());
        let step = limit + SECOND_LOOK;
        let depth = if selective { step * FILTERED_HITS } else { step };
        let sessions: Vec<SessionId> = found.sessions.iter().map(|one| one.session).collect();
        let ranked = ranked_within(found, plan, depth).await?;
        let mut hits = Hits::new(&question, !history.is_one_session());
        for places in ranked.chunks(step) {
            for (session, message, score) in self.read(&history, places, &sessions, &filter).await?
            {
                hits.look_at(session, message, score);
            }
            if hits.len() >= limit {
                break;
            }
        }
        let mut hits = hits.best(limit);
        self.add_calls(&history, &mut hits).await?;
        self.add_sessions(&history, &mut hits).await?;
        Ok(api::SearchHits { hits, complete })
    }

    /// Returns the numbers of the best messages of a session, best first.
    pub async fn find(&self, id: SessionId, q: &str, limit: usize) -> Result<Vec<Seq>> {
        let plan = TermPlan::new(&Question::new(q), q, &Filter::default(), day_of(self.cx.now()));
        let history = SearchedHistory::Own(SearchScope::Session(id));
        let (found, _) = self.look_up(&history, &plan).await?;
        let ranked = ranked_within(found, plan, limit).await?;
        Ok(ranked.into_iter().map(|hit| Seq(u64::from(hit.seq))).collect())
    }

    /// Completes the index, so that every acknowledged message is found, and returns the positions of terms. If the
    /// index is far behind, as after an upgrade or a recovery, this does not wait until the index is complete. The
    /// second value states whether it was complete.
    async fn look_up(
        &self,
        history: &SearchedHistory,
        plan: &TermPlan,
    ) -> Result<(TermPlaces, bool)> {
        let TermPlan { words, groups, families, .. } = plan;
        let (terms, marks, families) = (words.clone(), groups.concat(), families.clone());
        let lookup = |scope| IndexLookup { scope, terms, families, marks, most: POSTINGS };
        let lookup = match history {
            SearchedHistory::Own(scope) => lookup(scope.clone()),
            // Messages are shared together with their terms.
            SearchedHistory::Team(scope) => {
                let lookup = lookup(SearchScope::All);
                return Ok((self.cx.store().team_lookup(scope.clone(), lookup).await?, true));
            }
        };
        let found = self.cx.store().lookup(lookup.clone()).await?;
        let lagging = lagging(&found);
        if lagging.is_empty() {
            return Ok((found, true));
        }
        let complete = match self.finish_indexes(&lagging, FINISH_INDEX).await {
            // A search must not fail because the index cannot be written.
            Err(refusal) if refusal.kind.is_of_the_disk() => false,
            finished => finished?,
        };
        Ok((self.cx.store().lookup(lookup).await?, complete))
    }

    pub(crate) async fn finish_indexes(
        &self,
        sessions: &[SessionId],
        within: Duration,
    ) -> Result<bool> {
        let started = Instant::now();
        for session in sessions {
            while self.index_batch(*session).await?.is_some() {
                if started.elapsed() > within {
                    self.index_later(sessions).await?;
                    self.cx.jobs().wake();
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

fn limit_of(request: &api::SearchQuery) -> Result<usize> {
    let q = &request.q;
    if q.len() > MAX_QUERY {
        return Err(ServiceError::invalid("q", format!("must have at most {MAX_QUERY} bytes"))
            .bounded(MAX_QUERY as u64, q.len() as u64)
            .hint("keep only the query's most distinctive words"));
    }
    if q.trim().is_empty() {
        return Err(ServiceError::invalid("q", "must not be empty")
            .hint("ask a question, or use words from the conversation"));
    }
    match request.limit.unwrap_or(HITS) {
        n @ 1..=MAX_HITS => Ok(n),
        n => Err(ServiceError::invalid("limit", format!("must be from 1 to {MAX_HITS}"))
            .bounded(n.clamp(1, MAX_HITS) as u64, n as u64)),
    }
}

fn lagging(found: &TermPlaces) -> Vec<SessionId> {
    found.sessions.iter().filter(|one| one.indexed < one.last).map(|one| one.session).collect()
}

/// Ranks on another thread, because ranking a long history takes some milliseconds.
async fn ranked_within(
    found: TermPlaces,
    plan: TermPlan,
    limit: usize,
) -> Result<Vec<RankedMessage>> {
    if plan.words.is_empty() {
        return Ok(Vec::new());
    }
    blocking(move || Ok(plan.rank(&found, limit))).await
}
