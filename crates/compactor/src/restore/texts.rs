//! The wording with which each kind of content is restored.

use bethink_api::{Agent, Instruction, RestoredKind, Skill};
use bethink_transcript::Seq;

use super::{RestorableFile, RestorableText};

impl RestorableText {
    /// The name of texts about plan mode.
    pub const PLAN_MODE: &str = "plan mode";

    /// Marks the content as shown in this message of the history.
    #[must_use]
    pub fn shown_in(self, seq: Seq) -> Self {
        Self { seq: Some(seq), ..self }
    }

    /// Tells the model that plan mode is on.
    pub fn plan_mode() -> Self {
        let heading = "Plan mode is on: explore and plan, but do not change files or run commands that change anything, \
            until the user approves the plan.";
        Self::new(RestoredKind::Plan, Self::PLAN_MODE, heading.to_owned(), String::new())
    }

    /// Takes back what [`Self::plan_mode`] told the model.
    pub fn plan_mode_ended() -> Self {
        let heading = "Plan mode is off now: you may change files and run commands again.";
        Self::new(RestoredKind::Plan, Self::PLAN_MODE, heading.to_owned(), String::new())
    }

    /// Makes the text of a plan with this name or path; `approved` is the user's answer, if known.
    pub fn plan(name: &str, text: String, approved: Option<bool>) -> Self {
        let answer = match approved {
            Some(true) => ", approved by the user",
            Some(false) => ", which the user did not approve",
            None => "",
        };
        let heading = format!("The plan{answer}, as it was before the compaction ({name}):");
        let again = if name.contains('/') {
            format!("read {name}")
        } else {
            "ask the user for it".to_owned()
        };
        Self { again: Some(again), ..Self::new(RestoredKind::Plan, name, heading, text) }
    }

    /// Makes the text about a background agent. `note` says how to reach it.
    pub fn agent(agent: &Agent, note: &str) -> Self {
        let Agent { id, status, result, read, .. } = agent;
        let name = if agent.name.is_empty() { id } else { &agent.name };
        let id = if id.is_empty() || id == name { String::new() } else { format!(" ({id})") };
        let mut heading = format!("Background agent {name}{id}: {status}.");
        let unread = result.as_deref().filter(|result| !read && !result.is_empty());
        if unread.is_some() {
            heading.push_str(" Its result, which you have not read yet:");
        } else if result.is_some() {
            heading.push_str(" You have read its result.");
        } else if !note.is_empty() {
            heading.push_str(&format!(" {note}"));
        }
        let body = unread.unwrap_or_default().to_owned();
        let again = unread.map(|_| "ask the agent for its result".to_owned());
        Self { again, ..Self::new(RestoredKind::Agent, name, heading, body) }
    }

    pub fn instructions(Instruction { name, text }: &Instruction) -> Self {
        let heading = format!("Instructions of {name}:");
        Self::new(RestoredKind::Instructions, name, heading, text.clone())
    }

    /// Repeats what a client announced, such as the tools that can be searched for.
    pub fn announced(name: &str, text: &str) -> Self {
        let heading = format!("Announced earlier in this session ({name}):");
        Self::new(RestoredKind::Instructions, name, heading, text.to_owned())
    }

    /// Makes the text about a tool that was loaded during the session. The definition may be empty if it is unknown.
    pub fn tool(name: &str, definition: &str) -> Self {
        let heading = format!("Tool {name}, loaded earlier in this session, is available:");
        let again = format!("was loaded earlier; search for `select:{name}` if it is missing");
        let text = Self::new(RestoredKind::Tool, name, heading, definition.to_owned());
        Self { again: Some(again), ..text }
    }

    pub fn hook(name: &str, text: &str) -> Self {
        let heading = format!("Output of the session-start hook {name}:");
        Self::new(RestoredKind::Hook, name, heading, text.to_owned())
    }

    pub fn skill(Skill { name, content }: &Skill) -> Self {
        let heading = format!("Skill {name}, invoked earlier in this session:");
        let again = "invoke it again if you need it".to_owned();
        let text = Self::new(RestoredKind::Skill, name, heading, content.clone());
        Self { again: Some(again), ..text }
    }

    pub(super) fn file(file: &RestorableFile) -> Self {
        let RestorableFile { path, content, shown_in } = file;
        let heading = match shown_in {
            None => format!("{path}, as it is on disk after the compaction:"),
            Some(seq) => format!("{path}, as message {seq} showed it; it may have changed since:"),
        };
        let again = "read the parts that you need".to_owned();
        let content = content.as_deref().map(|content| match content {
            "" => "(The file is empty.)".to_owned(),
            content => content.to_owned(),
        });
        let text = Self::new(RestoredKind::File, path, heading, content.unwrap_or_default());
        Self { again: Some(again), ..text }
    }

    fn new(kind: RestoredKind, name: &str, heading: String, body: String) -> Self {
        Self { kind, name: name.to_owned(), heading, body, seq: None, again: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_says_what_is_new() {
        let agent = |result: Option<&str>, read| Agent {
            id: "a77".into(),
            name: "review".into(),
            status: if result.is_some() { "finished" } else { "running" }.into(),
            result: result.map(Into::into),
            read,
        };
        let check = |agent: &Agent, heading: &str, body: &str| {
            let text = RestorableText::agent(agent, "Its output is in /tmp/a77.");
            assert_eq!((text.heading.as_str(), text.body.as_str()), (heading, body));
        };
        let unread =
            "Background agent review (a77): finished. Its result, which you have not read yet:";
        check(&agent(Some("ok"), false), unread, "ok");
        check(
            &agent(Some("ok"), true),
            "Background agent review (a77): finished. You have read its result.",
            "",
        );
        check(
            &agent(None, false),
            "Background agent review (a77): running. Its output is in /tmp/a77.",
            "",
        );
    }
}
