//! Content that a compaction can restore. For each kind, it is what a client set, or else what the history shows.

use bethink_api::{self as api, RestoredKind};
use bethink_compactor::{Restorable, RestorableText};
use bethink_context::Attachment;
use bethink_context::decision::restored;
use bethink_facts::{BackgroundAgent, ClientState, Facts, NamedText};
use bethink_service::Result;
use bethink_transcript::text::beginning;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::kept_state::KeptState;
use crate::loaded::LoadedSession;
use crate::service::SessionService;

impl SessionService {
    pub(super) async fn restorable(
        &self,
        loaded: &LoadedSession,
        facts: &Facts,
    ) -> Result<Restorable> {
        let state = KeptState::parse(&loaded.session.state);
        let log = self.decision_log(loaded.session.id).await?;
        let shown: Vec<&Attachment> = restored(&log).collect();
        let found = self.read_again(loaded, &state, facts).await;
        let mut texts: Vec<RestorableText> = found.plan.into_iter().collect();
        let client = &facts.client;
        let in_plan_mode = state.plan.as_ref().map_or(client.plan_mode, |plan| plan.active);
        texts.extend(in_plan_mode.then(RestorableText::plan_mode));
        match &state.agents {
            Some(set) => texts.extend(agents_set(set, client, &shown)),
            None => texts.extend(agents_seen(client)),
        }
        match &state.instructions {
            Some(set) => texts.extend(set.instructions.iter().map(RestorableText::instructions)),
            None => texts.extend(client.announced.iter().map(announced)),
        }
        match &state.tools {
            Some(set) => texts.extend(set.tools.iter().map(|tool| defined(tool))),
            None => texts.extend(client.tools.iter().map(loaded_tool)),
        }
        match &state.hooks {
            Some(set) => texts.extend(set.instructions.iter().map(hook)),
            None => texts.extend(client.hooks.iter().map(hook_output)),
        }
        match &state.skills {
            Some(set) => texts.extend(set.skills.iter().rev().map(RestorableText::skill)),
            None => texts.extend(client.skills.iter().rev().map(skill)),
        }
        Ok(Restorable { texts, files: found.files })
    }
}

/// Returns the agents that a client set: those with unread results first, running ones next. A result is unread until
/// the history contains it or a compaction has shown it.
fn agents_set(
    set: &api::Agents,
    client: &ClientState,
    shown: &[&Attachment],
) -> Vec<RestorableText> {
    let mut agents = set.agents.clone();
    for agent in &mut agents {
        agent.read = agent.read || is_in_history(agent, client) || was_shown(agent, shown);
    }
    agents.sort_by_key(|a| (a.result.is_none() || a.read, a.result.is_some()));
    agents.iter().map(|agent| RestorableText::agent(agent, "")).collect()
}

fn is_in_history(agent: &api::Agent, client: &ClientState) -> bool {
    let same = |known: &&BackgroundAgent| {
        let is_named = |name: &str, other: &str| !name.is_empty() && name == other;
        is_named(&known.id, &agent.id) || is_named(&known.name, &agent.name)
    };
    client.agents.iter().filter(same).any(|known| is_read(known, client))
}

fn was_shown(agent: &api::Agent, shown: &[&Attachment]) -> bool {
    /// Number of bytes that are compared: results that begin with the same bytes are taken to be the same.
    const SAME_BYTES: usize = 200;
    let Some(result) = &agent.result else { return false };
    let start = beginning(result, SAME_BYTES);
    let kind = RestoredKind::Agent.to_string();
    shown.iter().any(|a| a.what == kind && a.text.contains(start))
}

/// Whether the assistant has answered since the agent's result arrived.
fn is_read(agent: &BackgroundAgent, client: &ClientState) -> bool {
    agent.ended.as_ref().is_some_and(|(at, _)| *at < client.answered)
}

/// Returns the agents that the history shows: those with unread results first, then running ones. A result that was
/// read is not shown again.
fn agents_seen(client: &ClientState) -> Vec<RestorableText> {
    let mut agents: Vec<_> = client.agents.iter().rev().filter(|a| !is_read(a, client)).collect();
    agents.sort_by_key(|agent| agent.ended.is_none());
    let text = |agent: &BackgroundAgent| {
        let (seq, status) = match &agent.ended {
            Some((at, status)) => (*at, status.clone()),
            None => (agent.started, "running".to_owned()),
        };
        let known = api::Agent {
            id: agent.id.clone(),
            name: agent.name.clone(),
            status,
            result: agent.ended.as_ref().map(|_| agent.result.clone()),
            read: false,
        };
        let note = format!("It was started in message {}: {}", agent.started, agent.note);
        RestorableText::agent(&known, &note).shown_in(seq)
    };
    agents.into_iter().map(text).collect()
}

fn skill(seen: &NamedText) -> RestorableText {
    let skill = api::Skill { name: seen.name.clone(), content: seen.text.clone() };
    RestorableText::skill(&skill).shown_in(seen.seq)
}

fn announced(seen: &NamedText) -> RestorableText {
    RestorableText::announced(&seen.name, &seen.text).shown_in(seen.seq)
}

fn loaded_tool(seen: &NamedText) -> RestorableText {
    RestorableText::tool(&seen.name, &seen.text).shown_in(seen.seq)
}

fn hook_output(seen: &NamedText) -> RestorableText {
    RestorableText::hook(&seen.name, &seen.text).shown_in(seen.seq)
}

fn hook(set: &api::Instruction) -> RestorableText {
    RestorableText::hook(&set.name, &set.text)
}

fn defined(json: &RawValue) -> RestorableText {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    let named = serde_json::from_str::<Named>(json.get());
    RestorableText::tool(&named.map_or_else(|_| "unnamed".to_owned(), |t| t.name), json.get())
}
