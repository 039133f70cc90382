//! Searches a session or a whole project: looks up the positions of terms in the store, and lets `recall` rank the
//! messages.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bethink_api as api;
use bethink_recall::days::{DAYS_AFTER, Day, day_of};
use bethink_recall::question::FAMILY_SPREAD;
use bethink_recall::{Evidence, Question, RankedMessage, SessionExtent, Weights, marks};
use bethink_service::{Result, ServiceError, blocking, parse_rfc3339, parse_stored};
use bethink_store::{
    Family, IndexLookup, Posting, SearchScope, StoredMessage, TeamScope, TermPlaces,
};
use bethink_transcript::{Message, Role, Seq, SessionId, UnixMicros};

use crate::SearchService;
use crate::hit::{self, Hits};

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
/// Maximum length, in days, of a period whose days are looked up one by one.
const MAX_FILTER_DAYS: i64 = 100;

/// Number of groups of marks before those of the filters.
const EVIDENCE_GROUPS: usize = 4;

/// Which history to search.
#[derive(Clone, Debug)]
enum SearchedHistory {
    Own(SearchScope),
    /// What people share with the team.
    Team(TeamScope),
}

/// Conditions that a hit must meet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    role: Option<Role>,
    tool: Option<String>,
    path: Option<String>,
    after: Option<UnixMicros>,
    before: Option<UnixMicros>,
}

/// The terms to look up, grouped by their purpose.
struct TermPlan {
    words: Vec<String>,
    /// In this order: marks that every search needs, speakers, days, and the days after them; then the filter groups. A hit
    /// must have one mark from each filter group.
    groups: Vec<Vec<String>>,
    families: Vec<Family>,
    literal: bool,
}

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

    /// Searches all sessions of a project, or of all projects.
    pub async fn search_sessions(
        &self,
        project_dir: Option<String>,
        request: &api::SearchQuery,
    ) -> Result<api::SearchHits> {
        let scope = project_dir.map_or(SearchScope::All, SearchScope::Project);
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
        let filter = Filter::of(request)?;
        let question = Question::new(&request.q);
        let plan = TermPlan::new(&question, &request.q, &filter, day_of(self.cx.now()));
        let (found, complete) = self.look_up(&history, &plan).await?;
        let unapplied = plan.unapplied_filters(&found);
        // Some ranked messages may be dropped after they are read.
        let selective = filter.must_be_read()
            || !unapplied.is_empty()
            || (question.needs_phrases && !question.phrases.is_empty());
        let step = limit + SECOND_LOOK;
        let depth = if selective { step * FILTERED_HITS } else { step };
        let sessions: Vec<SessionId> = found.sessions.iter().map(|one| one.session).collect();
        let ranked = ranked_within(found, plan, depth).await?;
        let mut hits = Hits::new(&question, !history.is_one_session());
        for places in ranked.chunks(step) {
            for (session, message, score) in
                self.read(&history, places, &sessions, &filter, &unapplied).await?
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

    async fn read(
        &self,
        history: &SearchedHistory,
        ranked: &[RankedMessage],
        sessions: &[SessionId],
        filter: &Filter,
        unapplied: &[Vec<String>],
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
        if filter.path.is_none() && unapplied.is_empty() {
            return Ok(read);
        }
        let calls = self.calls_before(history, &read).await?;
        read.retain(|(session, message, _)| {
            let call = calls.get(&(*session, message.seq));
            let mut about = [Some(message), call].into_iter().flatten().flat_map(marks::paths_of);
            let is_about = filter
                .path
                .as_ref()
                .is_none_or(|path| about.any(|named| marks::path_holds(&named, path)));
            is_about && (unapplied.is_empty() || has_marks(&marks::marks(message, call), unapplied))
        });
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
    async fn add_calls(
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
    async fn add_sessions(
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

impl SearchedHistory {
    fn is_one_session(&self) -> bool {
        matches!(self, Self::Own(SearchScope::Session(_)))
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

impl Filter {
    fn of(request: &api::SearchQuery) -> Result<Self> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let role = match given(&request.role).as_deref() {
            None => None,
            Some("user") => Some(Role::User),
            Some("assistant") => Some(Role::Assistant),
            Some(other) => {
                let problem = format!("{other:?} is not a role: use \"user\" or \"assistant\"");
                return Err(ServiceError::invalid("role", problem));
            }
        };
        Ok(Self {
            role,
            tool: given(&request.tool),
            path: given(&request.path),
            after: time("after", given(&request.after))?,
            before: time("before", given(&request.before))?,
        })
    }

    /// Returns whether messages must be read to apply the filter. Marks contain neither the hour nor the order of a
    /// path's parts.
    fn must_be_read(&self) -> bool {
        self.path.is_some() || self.after.is_some() || self.before.is_some()
    }

    fn admits(&self, stored: &StoredMessage) -> bool {
        self.after.is_none_or(|after| stored.created_at >= after)
            && self.before.is_none_or(|before| stored.created_at < before)
    }

    /// Returns groups of marks. A hit must have one mark from each group.
    fn marks(&self, today: Day) -> Vec<Vec<String>> {
        let mut groups = Vec::new();
        groups.extend(self.role.map(|role| vec![marks::by_role(role)]));
        groups.extend(self.tool.as_deref().map(|tool| vec![marks::by_tool(tool)]));
        if let Some(path) = &self.path {
            groups.extend(marks::path_parts(path).map(|part| vec![marks::by_path_part(part)]));
        }
        groups.extend(self.days(today));
        groups
    }

    /// Returns the days of the period, or `None` if there are too many to list. Such a long period excludes little.
    fn days(&self, today: Day) -> Option<Vec<String>> {
        let first = day_of(self.after?);
        // The clock of another machine may be ahead.
        let last = self.before.map_or(Day(today.0 + 1), day_of);
        let count = last.0.checked_sub(first.0)?;
        let listed = (first.0..=last.0).map(|day| marks::by_day(Day(day)));
        (count < MAX_FILTER_DAYS).then(|| listed.collect())
    }
}

fn time(field: &'static str, text: Option<String>) -> Result<Option<UnixMicros>> {
    let wrong = "must be an RFC 3339 time such as 2026-01-31T12:00:00Z";
    let read =
        |text: String| parse_rfc3339(&text).ok_or_else(|| ServiceError::invalid(field, wrong));
    text.map(read).transpose()
}

impl TermPlan {
    fn new(question: &Question, text: &str, filter: &Filter, today: Day) -> Self {
        // The empty term matches nothing. It only takes a place, so that the other terms keep their positions.
        let when = if question.asks_when { marks::TELLS_WHEN } else { "" };
        let marks = [marks::BEGINS, marks::ASKS, marks::ENDS_ASKING, when].map(str::to_owned);
        let speakers = question.words.iter().map(|word| marks::by_speaker(word)).collect();
        let days = bethink_recall::days::named_days(text, today);
        let most = usize::try_from(MAX_FILTER_DAYS).unwrap_or(0);
        let days_of = |first: Day, last: Day| {
            (first.0..=last.0).take(most).map(|day| marks::by_day(Day(day))).collect::<Vec<_>>()
        };
        let (days, after) = days.map_or_else(Default::default, |days| {
            let (first, last) = (*days.start(), *days.end());
            (days_of(first, last), days_of(Day(last.0 + 1), Day(last.0 + DAYS_AFTER)))
        });
        let mut groups = vec![marks.into(), speakers, days, after];
        groups.extend(filter.marks(today));
        let words = question.terms.clone();
        Self { words, groups, families: families(question), literal: question.is_keywords }
    }

    /// Returns the filter groups that the ranking cannot apply, because a list is too long to read.
    fn unapplied_filters(&self, found: &TermPlaces) -> Vec<Vec<String>> {
        let mut lists = found.marks.iter();
        let groups = self.groups.iter().enumerate().filter(|(at, group)| {
            let unread = lists.by_ref().take(group.len()).filter(|list| list.is_none()).count();
            *at >= EVIDENCE_GROUPS && unread > 0
        });
        groups.map(|(_, group)| group.clone()).collect()
    }

    fn rank(&self, found: &TermPlaces, limit: usize) -> Vec<RankedMessage> {
        let sessions: Vec<SessionExtent> = found
            .sessions
            .iter()
            .map(|one| SessionExtent {
                last: u32::try_from(one.indexed.0).unwrap_or(u32::MAX),
                messages: one.messages,
                terms: one.terms,
            })
            .collect();
        let terms = found.lists.iter().map(|list| list.as_deref()).collect();
        let mut marks = found.marks.iter().map(|list| list.as_deref());
        let mut groups =
            self.groups.iter().map(|group| marks.by_ref().take(group.len()).collect::<Vec<_>>());
        let mut next = || -> Vec<&[Posting]> {
            let group = groups.next().unwrap_or_default();
            group.into_iter().map(Option::unwrap_or_default).collect()
        };
        let [begins, asks, ends_asking, tells_when] = next()[..] else { return Vec::new() };
        let (speakers, days, days_after) = (next(), next(), next());
        // Those with a list that is too long are applied when messages are read.
        let filters = groups.filter_map(|group| group.into_iter().collect()).collect();
        let families = found.families.iter().flatten().map(Vec::as_slice).collect();
        let evidence = Evidence {
            sessions: &sessions,
            terms,
            families,
            begins,
            asks,
            ends_asking,
            tells_when,
            speakers,
            days,
            days_after,
            literal: self.literal,
            filters,
        };
        bethink_recall::rank(&evidence, &Weights::default(), limit)
    }
}

/// Whether a message with these marks has one of each group.
fn has_marks(marks: &str, groups: &[Vec<String>]) -> bool {
    groups.iter().all(|group| marks.split(' ').any(|mark| group.iter().any(|one| one == mark)))
}

fn families(question: &Question) -> Vec<Family> {
    let family = |(number, start): &(usize, String)| {
        let term = question.terms.get(*number)?;
        let lengths = term.len().saturating_sub(FAMILY_SPREAD)..=term.len() + FAMILY_SPREAD;
        Some(Family { start: start.clone(), except: term.clone(), lengths })
    };
    question.families.iter().filter_map(family).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

    use bethink_store::{Counts, IndexedSession};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_filter_whose_list_is_too_long_is_applied_later() {
        let filter = Filter { role: Some(Role::User), ..Filter::default() };
        let plan = TermPlan::new(&Question::new("mill"), "mill", &filter, Day(1));
        let posting = Posting { session: 0, seq: 3, counts: Counts(1), length: 9 };
        let session = IndexedSession {
            session: SessionId(Uuid::nil()),
            indexed: Seq(9),
            last: Seq(9),
            messages: 9,
            terms: 90,
        };
        let mut found = TermPlaces {
            sessions: vec![session],
            lists: vec![Some(vec![posting])],
            families: Vec::new(),
            marks: vec![Some(Vec::new()); plan.groups.concat().len()],
        };
        assert_eq!(plan.rank(&found, 5), [], "no message is the user's");
        assert_eq!(plan.unapplied_filters(&found), Vec::<Vec<String>>::new());
        *found.marks.last_mut().unwrap() = None;
        assert_eq!(plan.rank(&found, 5).len(), 1);
        let unapplied = plan.unapplied_filters(&found);
        assert_eq!(unapplied, [vec![marks::by_role(Role::User)]]);
        assert!(has_marks(&format!(":begins {}", marks::by_role(Role::User)), &unapplied));
        assert!(!has_marks(&marks::by_role(Role::Assistant), &unapplied));
        // Lists of other marks only help to rank.
        found.marks[0] = None;
        assert_eq!(plan.unapplied_filters(&found), unapplied);
    }
}
