//! Restores content that a cut would lose and the next turn needs, within budgets. Content that can be read in the kept
//! tail is not repeated.

use std::collections::HashSet;

use bethink_api::{Agent, Instruction, RestoredItem, RestoredKind, Skill};
use bethink_context::Attachment;
use bethink_tokens::text_tokens;
use bethink_transcript::Seq;
use bethink_transcript::text::beginning;

use crate::limits::CompactLimits;

/// Content that can be restored, gathered by the daemon, newest first in each list.
#[derive(Clone, Debug, Default)]
pub struct Restorable {
    /// Path and content of recently read files, as they are on disk now; no content if a file is too large to read.
    pub files: Vec<(String, Option<String>)>,
    /// Name or path of the plan, and its text.
    pub plan: Option<(String, String)>,
    pub skills: Vec<Skill>,
    pub agents: Vec<Agent>,
    /// Definitions of deferred tools: name and JSON.
    pub tools: Vec<(String, String)>,
    /// Instructions of agents and MCP servers.
    pub instructions: Vec<Instruction>,
    /// Output of session-start hooks.
    pub hooks: Vec<Instruction>,
}

/// Chooses content within the budgets, and within `room` tokens in total: state first, files last.
pub fn select(
    what: &Restorable,
    visible: &HashSet<String>,
    after: Seq,
    limits: &CompactLimits,
    room: u64,
) -> (Vec<Attachment>, Vec<RestoredItem>) {
    let mut picked = Selection { after, room, attachments: Vec::new(), items: Vec::new() };
    if let Some((name, text)) = &what.plan {
        let text = format!("The plan as it was before the compaction ({name}):\n{text}");
        picked.add(RestoredKind::Plan, name, &text, room / 2);
    }
    let mut agents: Vec<&Agent> = what.agents.iter().collect();
    agents.sort_by_key(|a| (a.result.is_none() || a.read, a.status == "finished"));
    for agent in agents {
        let name = if agent.name.is_empty() { &agent.id } else { &agent.name };
        picked.add(RestoredKind::Agent, name, &agent_text(name, agent), limits.skill_tokens);
    }
    let instructions = what.instructions.iter().filter(|i| !visible.contains(&i.text));
    for Instruction { name, text } in instructions {
        let text = format!("Instructions of {name}:\n{text}");
        picked.add(RestoredKind::Instructions, name, &text, limits.skills_tokens);
    }
    for (name, json) in &what.tools {
        let text =
            format!("Tool {name}, discovered earlier in this session, is available:\n{json}");
        picked.add(RestoredKind::Tool, name, &text, limits.skill_tokens);
    }
    for Instruction { name, text } in &what.hooks {
        let text = format!("Output of the session-start hook {name}:\n{text}");
        picked.add(RestoredKind::Hook, name, &text, limits.skill_tokens);
    }
    let mut skills_left = limits.skills_tokens;
    for Skill { name, content } in &what.skills {
        let text = format!("Skill {name}, invoked earlier in this session:\n{content}");
        skills_left -=
            picked.add(RestoredKind::Skill, name, &text, limits.skill_tokens.min(skills_left));
    }
    let mut files_left = limits.files_tokens;
    let files = what.files.iter().filter(|(path, _)| !visible.contains(path));
    for (path, content) in files.take(limits.files) {
        files_left -= picked.file(path, content.as_deref(), limits.file_tokens.min(files_left));
    }
    (picked.attachments, picked.items)
}

fn agent_text(name: &str, Agent { status, result, read, .. }: &Agent) -> String {
    match result {
        Some(result) if !read => {
            format!(
                "Background agent {name}: {status}. Its result, which you have not read yet:\n{result}"
            )
        }
        Some(_) => format!("Background agent {name}: {status}; you have read its result."),
        None => format!("Background agent {name}: {status}."),
    }
}

struct Selection {
    after: Seq,
    room: u64,
    attachments: Vec<Attachment>,
    items: Vec<RestoredItem>,
}

impl Selection {
    /// Adds as much of the beginning of the text as `limit` and the room allow; returns the tokens spent.
    fn add(&mut self, kind: RestoredKind, name: &str, text: &str, limit: u64) -> u64 {
        let limit = limit.min(self.room);
        let whole = u64::from(text_tokens(text));
        let truncated = whole + FRAME_TOKENS > limit;
        if !truncated {
            return self.push(kind, name, text, false);
        }
        if limit < WORTH_TOKENS {
            return 0;
        }
        let bytes = usize::try_from((limit - WORTH_TOKENS / 2) * 3).unwrap_or(usize::MAX);
        let head = format!("{}\n[Shortened to fit]", beginning(text, bytes));
        self.push(kind, name, &head, true)
    }

    /// Adds the whole file, or only its path if it is over its budget.
    fn file(&mut self, path: &str, content: Option<&str>, limit: u64) -> u64 {
        if let Some(content) = content {
            let text = format!("{path}, as it is on disk after the compaction:\n{content}");
            if u64::from(text_tokens(&text)) + FRAME_TOKENS <= limit.min(self.room) {
                return self.push(RestoredKind::File, path, &text, false);
            }
        }
        let note = format!(
            "{path} was read before the compaction; it is too large to restore. Read the parts you need."
        );
        if self.room < WORTH_TOKENS {
            return 0;
        }
        self.push(RestoredKind::File, path, &note, true)
    }

    fn push(&mut self, kind: RestoredKind, name: &str, text: &str, truncated: bool) -> u64 {
        let text = format!("<system-reminder>\n{text}\n</system-reminder>");
        let tokens = text_tokens(&text);
        let spent = u64::from(tokens).min(self.room);
        self.room -= spent;
        self.items.push(RestoredItem {
            kind,
            name: name.to_owned(),
            tokens: u64::from(tokens),
            truncated,
        });
        self.attachments.push(Attachment {
            after: self.after,
            what: kind.to_string(),
            name: name.to_owned(),
            text,
            tokens,
        });
        spent
    }
}

/// Tokens of the tags around a text.
const FRAME_TOKENS: u64 = 20;
/// Minimum size of a shortened text, in tokens.
const WORTH_TOKENS: u64 = 80;

#[cfg(test)]
mod tests {
    use super::*;

    fn names(what: &Restorable, visible: &[&str], room: u64) -> Vec<String> {
        let visible = visible.iter().map(|v| (*v).to_owned()).collect();
        let limits = CompactLimits::default();
        let (attachments, items) = select(what, &visible, Seq(9), &limits, room);
        let spent: u64 = attachments.iter().map(|a| u64::from(a.tokens)).sum();
        assert!(spent <= room, "{spent} of {room}");
        items
            .iter()
            .map(|i| format!("{}:{}{}", i.kind, i.name, if i.truncated { "…" } else { "" }))
            .collect()
    }

    #[test]
    fn files_are_restored_in_full_and_only_once() {
        let files = (1..=7).map(|n| (format!("f{n}"), Some("x".repeat(100)))).collect();
        let what = Restorable { files, ..Restorable::default() };
        assert_eq!(
            names(&what, &["f2"], 9_000),
            ["file:f1", "file:f3", "file:f4", "file:f5", "file:f6"]
        );
    }

    #[test]
    fn of_a_large_file_the_name_and_of_a_large_skill_the_beginning_is_restored() {
        let what = Restorable {
            files: vec![
                ("huge".into(), None),
                ("big".into(), Some("x".repeat(40_000))),
                ("small".into(), Some("y".into())),
            ],
            skills: vec![Skill { name: "s".into(), content: "z".repeat(40_000) }],
            ..Restorable::default()
        };
        assert_eq!(
            names(&what, &[], 50_000),
            ["skill:s…", "file:huge…", "file:big…", "file:small"]
        );
    }

    #[test]
    fn finished_unread_agents_come_first() {
        let agent = |name: &str, status: &str, result: Option<&str>, read| Agent {
            id: name.into(),
            name: String::new(),
            status: status.into(),
            result: result.map(Into::into),
            read,
        };
        let what = Restorable {
            agents: vec![
                agent("running", "running", None, false),
                agent("old", "finished", Some("r"), true),
                agent("new", "finished", Some("r"), false),
            ],
            ..Restorable::default()
        };
        assert_eq!(names(&what, &[], 9_000), ["agent:new", "agent:running", "agent:old"]);
    }

    #[test]
    fn no_room_restores_nothing() {
        let what = Restorable {
            plan: Some(("p".into(), "x".repeat(9_000))),
            files: vec![("f".into(), Some("y".into()))],
            ..Restorable::default()
        };
        assert_eq!(names(&what, &[], 0), Vec::<String>::new());
    }
}
