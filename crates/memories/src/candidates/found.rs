//! Decides which candidates of an extraction are stored, and which are kept immediately.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use bethink_api::MemoryAuthor;
use bethink_extractor::Meaning;
use bethink_extractor::embedded::gates::overrides_instructions;
use bethink_extractor::embedded::{FoundCandidate, MAX_CANDIDATES};
use bethink_memdir::{Hash, Name, Scope};
use bethink_service::{Result, at_low_priority, if_found};
use bethink_store::{
    CandidateFilter, CandidateState, ExtractedCandidates, PlannedWrite, SessionRecord,
    StoredCandidate, StoredMessage,
};
use bethink_transcript::{Seq, SessionId};
use uuid::Uuid;

use super::topic::{TopicWording, topic};
use crate::project::MemoryProject;
use crate::service::MemoryService;

impl MemoryService {
    /// Decides for each statement whether it is stored as a candidate, written to memory because the user said the same
    /// thing in another session, or left out because it is already known. `writes` are the writes of the extraction;
    /// those of kept candidates are added.
    pub(crate) async fn candidates_of(
        &self,
        session: &SessionRecord,
        project: &MemoryProject,
        found: Vec<FoundCandidate>,
        writes: &mut Vec<PlannedWrite>,
    ) -> Result<ExtractedCandidates> {
        let mut out = ExtractedCandidates::default();
        if found.is_empty() && writes.is_empty() {
            return Ok(out);
        }
        let project_dir = project.root.display().to_string();
        let filter =
            CandidateFilter { project_dir: Some(project_dir), ..CandidateFilter::default() };
        let known = self.cx.store().candidates(filter).await?;
        let with_meaning = move || {
            let known = known.into_iter().map(|one| (Meaning::of(&one.sentence), one));
            known.collect::<Vec<(Meaning, StoredCandidate)>>()
        };
        let mut known = at_low_priority(with_meaning).await?;
        let sure: Vec<(Meaning, String)> = writes
            .iter()
            .filter_map(|write| Some((Meaning::of(write.sentence.as_ref()?), write.name.clone())))
            .collect();
        // A candidate that is written now no longer waits.
        known.retain(|(meaning, one)| {
            let written = sure.iter().find(|(said, _)| said.same(meaning));
            if let Some((_, name)) = written.filter(|_| one.state == CandidateState::Waiting) {
                out.decided.push(self.kept_by_extraction(one.clone(), name));
            }
            written.is_none()
        });
        let taken = self.taken_names(project, writes).await?;
        let mut names = taken;
        for new in self.as_candidates(session, project, found).await? {
            let meaning = Meaning::of(&new.sentence);
            if sure.iter().any(|(said, _)| said.same(&meaning)) {
                continue;
            }
            let is_same = |(said, one): &(Meaning, StoredCandidate)| match one.state {
                CandidateState::Dropped => meaning.repeats(said),
                _ => meaning.same(said),
            };
            let same = known.iter().position(is_same);
            let Some(at) = same else {
                known.push((meaning, new.clone()));
                out.new.push(new);
                continue;
            };
            let before = &known[at].1;
            if before.state != CandidateState::Waiting
                || !self.is_said_again(&new, before, session).await?
            {
                continue;
            }
            let Some((text, description, _)) = topic(&[&new, before], &TopicWording::default())
            else {
                continue;
            };
            let name = free_name(&description, &mut names);
            out.decided.push(self.kept_by_extraction(before.clone(), name.as_str()));
            known[at].1.state = CandidateState::Kept;
            writes.push(PlannedWrite {
                name: name.to_string(),
                over: None,
                text,
                sentence: Some(new.sentence),
                seq: Some(new.seq),
            });
        }
        keep_best(&mut out, known.into_iter().map(|(_, one)| one), session.id);
        Ok(out)
    }

    fn kept_by_extraction(&self, one: StoredCandidate, topic: &str) -> StoredCandidate {
        StoredCandidate {
            state: CandidateState::Kept,
            decided_at: Some(self.cx.now()),
            decided_by: Some(MemoryAuthor::Extraction),
            topic: Some(topic.to_owned()),
            ..one
        }
    }

    /// Whether the user made the statement in two conversations. Sessions that share a message count as one
    /// conversation, for example a session and its fork, or a transcript and the copy from which a client resumed it. A
    /// subagent and its parent count as one conversation, too.
    async fn is_said_again(
        &self,
        new: &StoredCandidate,
        before: &StoredCandidate,
        session: &SessionRecord,
    ) -> Result<bool> {
        if new.session == before.session || (new.message.is_some() && new.message == before.message)
        {
            return Ok(false);
        }
        let other = if_found(self.cx.store().session(before.session).await)?;
        Ok(other.is_none_or(|other| conversation(&other) != conversation(session)))
    }

    /// Returns the statements that may be stored, as candidates.
    async fn as_candidates(
        &self,
        session: &SessionRecord,
        project: &MemoryProject,
        found: Vec<FoundCandidate>,
    ) -> Result<Vec<StoredCandidate>> {
        let found: Vec<FoundCandidate> =
            found.into_iter().filter(|one| may_be_stored(&one.sentence)).collect();
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let places = found.iter().map(|one| (session.id, one.seq)).collect();
        let messages = self.cx.store().messages_at(places).await?;
        let messages: HashMap<Seq, StoredMessage> =
            messages.into_iter().map(|(_, message)| (message.seq, message)).collect();
        let now = self.cx.now();
        let new = found.into_iter().map(|one| {
            let message = messages.get(&one.seq);
            StoredCandidate {
                id: id_of(session.id, one.seq, &one.sentence),
                project_dir: project.root.display().to_string(),
                session: session.id,
                seq: one.seq,
                message: message.map(|message| message.id.clone()),
                context: one.before.filter(|before| may_be_stored(before)),
                sentence: one.sentence,
                kind: one.kind,
                rule: one.rule.to_owned(),
                score: one.score.into(),
                said_at: one.at,
                found_at: now,
                state: CandidateState::Waiting,
                decided_at: None,
                decided_by: None,
                topic: None,
                offers: Vec::new(),
            }
        });
        Ok(new.collect())
    }

    /// Returns the names that a new topic cannot have.
    async fn taken_names(
        &self,
        project: &MemoryProject,
        writes: &[PlannedWrite],
    ) -> Result<HashSet<String>> {
        let shown = self.snapshot(project.directory(Scope::Private)).await?;
        let planned = writes.iter().filter_map(|write| Name::parse(&write.name).ok());
        Ok(shown.topics.keys().map(Name::folded).chain(planned.map(|name| name.folded())).collect())
    }
}

/// Keeps the best [`MAX_CANDIDATES`] of a session. Of two equally good candidates, the earlier one is kept.
fn keep_best(
    found: &mut ExtractedCandidates,
    known: impl Iterator<Item = StoredCandidate>,
    session: SessionId,
) {
    let mut own: Vec<StoredCandidate> = known
        .filter(|one| one.session == session && one.state == CandidateState::Waiting)
        .collect();
    own.sort_by_key(|one| (Reverse(one.score), one.seq));
    for one in own.into_iter().skip(MAX_CANDIDATES) {
        let count = found.new.len();
        found.new.retain(|new| new.id != one.id);
        if found.new.len() == count {
            found.replaced.push(one.id);
        }
    }
}

fn free_name(description: &str, taken: &mut HashSet<String>) -> Name {
    let wanted = Name::suggest(description);
    let names = std::iter::once(wanted.clone()).chain((2..).map(|number| wanted.numbered(number)));
    let name = names.take(taken.len() + 1).find(|name| !taken.contains(&name.folded()));
    let name = name.unwrap_or(wanted);
    taken.insert(name.folded());
    name
}

/// The session that a subagent or a fork comes from, or else the session itself.
fn conversation(session: &SessionRecord) -> SessionId {
    session.parent.unwrap_or(session.id)
}

/// Returns an id that depends only on the statement and on where it was made.
fn id_of(session: SessionId, seq: Seq, sentence: &str) -> Uuid {
    let hash = Hash::of(format!("{session} {seq} {sentence}").as_bytes()).to_string();
    let digits = hash.get(..32).and_then(|digits| Uuid::parse_str(digits).ok());
    uuid::Builder::from_custom_bytes(digits.unwrap_or_default().into_bytes()).into_uuid()
}

/// Whether a sentence may be stored and shown to an agent: it contains no secret, no invisible character, and no
/// attempt to override the agent's own instructions.
fn may_be_stored(sentence: &str) -> bool {
    bethink_secrets::gate("", sentence).is_ok() && !overrides_instructions(sentence)
}
