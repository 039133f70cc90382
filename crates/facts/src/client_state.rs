//! What a client keeps besides the conversation, as far as the history shows it: invoked skills, background agents, the
//! plan and plan mode, tools and instructions that were announced during the session.

use std::collections::HashMap;

use bethink_transcript::text::beginning;
use bethink_transcript::{Block, Seq, ToolKind, ToolUseId};
use serde::Deserialize;
use serde_json::Value;

use crate::patch;

/// A named text, and the message that shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedText {
    pub seq: Seq,
    pub name: String,
    /// Empty if only the name is known.
    pub text: String,
}

/// An agent that works or worked in the background while the main conversation continues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackgroundAgent {
    /// The ID that the client gave the agent; empty if unknown.
    pub id: String,
    /// The task for which the agent was started.
    pub name: String,
    pub started: Seq,
    /// What the client answered when the agent was started, such as the file with its output.
    pub note: String,
    /// The message that reported the agent's end, and `finished`, `failed` or another word that the client uses.
    pub ended: Option<(Seq, String)>,
    pub result: String,
}

/// The newest plan that an agent showed or wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProposedPlan {
    pub seq: Seq,
    pub text: String,
    /// The file that contains the plan.
    pub path: Option<String>,
    /// Whether the user approved the plan; `None` until they answer.
    pub approved: Option<bool>,
}

/// A file that the session read or changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsedFile {
    pub path: String,
    /// The newest call.
    pub last: Seq,
    /// Whether a call that uses the file has ended without an error.
    pub is_confirmed: bool,
}

/// What a client keeps besides the conversation. Each list is oldest first.
#[derive(Clone, Debug, Default)]
pub struct ClientState {
    files: HashMap<String, UsedFile>,
    pub skills: Vec<NamedText>,
    pub agents: Vec<BackgroundAgent>,
    pub plan: Option<ProposedPlan>,
    /// Whether plan mode is on: the agent may only explore and plan.
    pub plan_mode: bool,
    /// Tools that were loaded by a search, with their definitions if the history has them.
    pub tools: Vec<NamedText>,
    /// Lists of tools, agents and skills, and instructions of MCP servers, that the client announced.
    pub announced: Vec<NamedText>,
    /// Output of hooks at the session's start.
    pub hooks: Vec<NamedText>,
    /// The assistant's newest message. The assistant has read everything before it.
    pub answered: Seq,
    waiting: HashMap<ToolUseId, StateCall>,
    /// The skill that was called last, until its text arrives.
    called_skill: Option<String>,
}

#[derive(Clone, Debug)]
struct StateCall {
    kind: ToolKind,
    name: String,
    /// Whether the call starts an agent in the background.
    background: bool,
    plan: String,
    /// Files that the call reads or changes.
    files: Vec<String>,
}

impl StateCall {
    fn new(kind: ToolKind, name: String) -> Self {
        Self { kind, name, background: false, plan: String::new(), files: Vec::new() }
    }
}

/// Maximum size of a kept text, in bytes. By default, a compaction restores less: at most 5,000 tokens of a skill
/// or a tool.
const TEXT_BYTES: usize = 40_000;
/// Maximum number of entries of each kind.
const ENTRIES: usize = 24;
/// Number of files kept. Once there are twice as many, the least recently used half is dropped.
const FILES: usize = 400;
/// Maximum number of files in one patch.
const PATCHED: usize = 100;
/// Maximum number of calls whose result has not arrived.
const CALLS: usize = 64;
const NOTE_BYTES: usize = 400;
/// Size above which the result of a skill call is the skill's text, in bytes. A shorter result only says that the skill was
/// launched.
const SKILL_BYTES: usize = 200;
/// The directory of Claude Code's plans.
const PLANS: &str = "/.claude/plans/";

const SKILL_BODY: &str = "Base directory for this skill: ";
const REMINDER: &str = "<system-reminder>";
const REMINDER_END: &str = "</system-reminder>";
/// Beginnings of announcements, with the name of what they announce. A later announcement adds to the earlier ones.
const ANNOUNCEMENTS: [(&str, &str); 8] = [
    ("The following deferred tools are", "deferred tools"),
    ("# MCP Server Instructions", "MCP servers"),
    ("The following MCP servers have disconnected", "MCP servers"),
    ("Available agent types for the Agent tool", "agent types"),
    ("New agent types are now available", "agent types"),
    ("The following agent types are no longer available", "agent types"),
    ("The following skills are available", "available skills"),
    ("SessionStart", HOOK),
];
const HOOK: &str = "SessionStart";
const PLAN_MODE_ON: [&str; 3] =
    ["Plan mode is active", "Plan mode still active", "# Plan Mode - System Reminder"];
const PLAN_MODE_OFF: [&str; 3] = [
    "## Exited Plan Mode",
    "You have exited plan mode",
    "Your operational mode has changed from plan to build",
];

/// The input of a call that changes a client's state, under the names that clients use.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StateInput {
    #[serde(alias = "name", alias = "command", alias = "skill_name")]
    skill: Option<String>,
    description: Option<String>,
    #[serde(alias = "agent_name", alias = "agent_type")]
    subagent_type: Option<String>,
    #[serde(alias = "message", alias = "task")]
    prompt: Option<String>,
    run_in_background: bool,
    plan: Option<String>,
    #[serde(alias = "planFilePath")]
    plan_path: Option<String>,
}

/// The input of a call that reads or changes files.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FileInput {
    #[serde(alias = "notebook_path", alias = "filePath", alias = "filename")]
    file_path: Option<String>,
    path: Option<String>,
    #[serde(alias = "input")]
    patch: Option<Value>,
}

impl FileInput {
    /// Returns the file that the call names, or those that a patch in Codex's format writes.
    fn files(self) -> Vec<String> {
        if let Some(path) = self.file_path.or(self.path) {
            return vec![path];
        }
        let patch = self.patch.as_ref().and_then(Value::as_str).unwrap_or_default();
        patch::files(patch).into_iter().map(|file| file.path.to_owned()).take(PATCHED).collect()
    }
}

impl ClientState {
    pub(crate) fn call(&mut self, id: &ToolUseId, tool: &str, json: &str, seq: Seq) {
        let Some(kind) = ToolKind::of(tool) else { return };
        let input = || serde_json::from_str::<StateInput>(json).unwrap_or_default();
        let mut call = StateCall::new(kind, String::new());
        match kind {
            ToolKind::Skill => {
                call.name = input().skill.unwrap_or_default();
                self.called_skill = Some(call.name.clone());
            }
            ToolKind::Agent => {
                let input = input();
                let named = input.description.or(input.prompt).or(input.subagent_type);
                call.name = crate::rows::one_line(named.as_deref().unwrap_or(tool), NOTE_BYTES / 2);
                call.background = input.run_in_background;
            }
            ToolKind::PlanEnd => {
                let input = input();
                call.name = input.plan_path.unwrap_or_default();
                call.plan = input.plan.unwrap_or_default();
            }
            ToolKind::Read | ToolKind::Edit | ToolKind::Write => {
                let input = serde_json::from_str::<FileInput>(json).unwrap_or_default();
                call.files = input.files();
                call.files.iter().for_each(|path| self.used(path, seq));
            }
            ToolKind::AgentResult | ToolKind::PlanStart | ToolKind::ToolSearch => {}
            _ => return,
        }
        if self.waiting.len() >= CALLS {
            // Calls of an interrupted session, whose results never arrive.
            self.waiting.clear();
        }
        self.waiting.insert(id.clone(), call);
    }

    fn used(&mut self, path: &str, seq: Seq) {
        if self.files.len() >= 2 * FILES {
            let mut newest: Vec<Seq> = self.files.values().map(|file| file.last).collect();
            newest.sort_unstable();
            let oldest = newest.get(FILES).copied().unwrap_or(seq);
            self.files.retain(|_, file| file.last >= oldest);
        }
        let file = self.files.entry(path.to_owned()).or_default();
        path.clone_into(&mut file.path);
        file.last = seq;
    }

    /// Returns the files that the session read or changed, most recently used first.
    pub fn used_files(&self) -> Vec<&UsedFile> {
        let mut files: Vec<&UsedFile> = self.files.values().collect();
        files.sort_by(|a, b| b.last.cmp(&a.last).then_with(|| a.path.cmp(&b.path)));
        files
    }

    pub(crate) fn result(&mut self, id: &ToolUseId, is_error: bool, block: &Block, seq: Seq) {
        let Some(call) = self.waiting.remove(id) else { return };
        let text = block.text();
        match call.kind {
            ToolKind::PlanEnd => self.plan_answered(call, is_error, &text, seq),
            _ if is_error => {}
            ToolKind::Skill if text.len() > SKILL_BYTES && !text.starts_with("Launching") => {
                self.called_skill = None;
                self.skill(call.name, &text, seq);
            }
            ToolKind::Skill => self.skill(call.name, "", seq),
            ToolKind::Agent => self.agent_started(call, &text, seq),
            ToolKind::AgentResult => self.agent_asked(&text, seq),
            ToolKind::PlanStart => self.plan_mode = true,
            ToolKind::ToolSearch => self.tools_found(block, &text, seq),
            kind => {
                for path in &call.files {
                    if let Some(file) = self.files.get_mut(path) {
                        file.is_confirmed = true;
                    }
                    if kind.changes_files() && path.contains(PLANS) {
                        self.plan_mut(seq).path = Some(path.clone());
                    }
                }
            }
        }
    }

    /// Reads a text that a client wrote in the user's name.
    pub(crate) fn user_text(&mut self, text: &str, seq: Seq) {
        let words = text.trim_start();
        if let Some(rest) = words.strip_prefix(SKILL_BODY) {
            let directory = rest.lines().next().unwrap_or_default().trim_end_matches('/');
            let of_directory = crate::places::file_name(directory).to_owned();
            let called = self.called_skill.take().filter(|name| !name.is_empty());
            let name = called.unwrap_or(of_directory);
            self.skill(name, words, seq);
        } else if words.starts_with("<skill>") {
            let name = element(words, "name").unwrap_or("skill").to_owned();
            self.skill(name, words, seq);
        }
        for notice in words.split("<task-notification>").skip(1) {
            let (id, status) = (element(notice, "task-id"), element(notice, "status"));
            let result = element(notice, "result").or_else(|| element(notice, "summary"));
            self.agent_ended(id.unwrap_or_default(), status.unwrap_or("finished"), result, seq);
        }
        for notice in words.split("<subagent_notification>").skip(1) {
            let json = notice.split("</subagent_notification>").next().unwrap_or_default();
            self.notified(json, seq);
        }
        for reminder in words.split(REMINDER).skip(1) {
            self.reminder(reminder.split(REMINDER_END).next().unwrap_or_default().trim(), seq);
        }
    }

    /// Reads a text that a client added to the conversation as an instruction, such as a description of the environment
    /// and the available tools.
    pub(crate) fn instruction(&mut self, text: &str, seq: Seq) {
        let begins = |part: &str| ANNOUNCEMENTS.iter().any(|(words, _)| part.starts_with(words));
        let mut rest = text.trim();
        while !rest.is_empty() {
            let mut ends = rest.match_indices("\n\n").map(|(at, gap)| at + gap.len());
            let end = ends.find(|end| begins(&rest[*end..])).unwrap_or(rest.len());
            let (part, after) = rest.split_at(end);
            rest = after;
            match begins(part) {
                true => self.reminder(part.trim(), seq),
                false => self.announce("instructions", part.trim(), seq),
            }
        }
    }

    fn reminder(&mut self, text: &str, seq: Seq) {
        let begins = |with: &[&str]| with.iter().any(|beginning| text.starts_with(beginning));
        if begins(&PLAN_MODE_ON) {
            self.plan_mode = true;
            if let Some(path) = plan_file(text) {
                self.plan_mut(seq).path = Some(path);
            }
        } else if begins(&PLAN_MODE_OFF) {
            self.plan_mode = false;
        }
        let announced = ANNOUNCEMENTS.iter().find(|(beginning, _)| text.starts_with(beginning));
        let Some((_, name)) = announced else { return };
        // bethink's own hook adds its texts again.
        if *name != HOOK || !text.contains("bethink") {
            self.announce(name, text, seq);
        }
    }

    fn announce(&mut self, name: &str, text: &str, seq: Seq) {
        let list = if name == HOOK { &mut self.hooks } else { &mut self.announced };
        if list.iter().all(|known| known.text != text) {
            let text = beginning(text, TEXT_BYTES).to_owned();
            keep(list, NamedText { seq, name: name.to_owned(), text });
        }
    }

    /// Keeps the newest text of a skill. A call without a text only counts if no text is known.
    fn skill(&mut self, name: String, text: &str, seq: Seq) {
        let known = self.skills.iter().position(|known| known.name == name);
        if name.is_empty() || (text.is_empty() && known.is_some()) {
            return;
        }
        if let Some(known) = known {
            self.skills.remove(known);
        }
        keep(
            &mut self.skills,
            NamedText { seq, name, text: beginning(text, TEXT_BYTES).to_owned() },
        );
    }

    fn agent_started(&mut self, call: StateCall, text: &str, seq: Seq) {
        let id = started_id(text);
        let in_background = call.background
            || text.starts_with("Async agent launched")
            || text.starts_with("{\"agent_id\"");
        // If the conversation waited for the agent, this message is already its result.
        if in_background {
            let note = crate::rows::one_line(text, NOTE_BYTES);
            let id = id.unwrap_or_default();
            let name = call.name;
            keep(
                &mut self.agents,
                BackgroundAgent { id, name, started: seq, note, ..Default::default() },
            );
        }
    }

    fn agent_asked(&mut self, text: &str, seq: Seq) {
        const ENDS: [(&str, &str); 5] = [
            ("completed", "finished"),
            ("errored", "failed"),
            ("failed", "failed"),
            ("killed", "stopped"),
            ("stopped", "stopped"),
        ];
        let Some((_, status)) = ENDS.iter().find(|(word, _)| text.contains(word)) else { return };
        let running = self.agents.iter().filter(|agent| agent.ended.is_none());
        let named = running.filter(|agent| !agent.id.is_empty() && text.contains(&agent.id));
        let ids: Vec<String> = named.map(|agent| agent.id.clone()).collect();
        for id in ids {
            self.agent_ended(&id, status, Some(text), seq);
        }
    }

    /// Reads Codex's notice: `{"agent_path":"ID","status":{"completed":"its answer"}}`.
    fn notified(&mut self, json: &str, seq: Seq) {
        let Ok(notice) = serde_json::from_str::<Value>(json.trim()) else { return };
        let id = notice.get("agent_path").or_else(|| notice.get("agent_id"));
        let Some(id) = id.and_then(Value::as_str) else { return };
        match notice.get("status") {
            Some(Value::Object(status)) => {
                let Some((word, result)) = status.iter().next() else { return };
                self.agent_ended(id, word, result.as_str(), seq);
            }
            Some(Value::String(word)) => self.agent_ended(id, word, None, seq),
            _ => {}
        }
    }

    fn agent_ended(&mut self, id: &str, status: &str, result: Option<&str>, seq: Seq) {
        if matches!(status, "running" | "pending") {
            return;
        }
        let Some(agent) = self.agents.iter_mut().rfind(|agent| !id.is_empty() && agent.id == id)
        else {
            return;
        };
        let status = if status == "completed" { "finished" } else { status };
        agent.ended = Some((seq, status.to_owned()));
        agent.result = beginning(result.unwrap_or_default().trim(), TEXT_BYTES).to_owned();
    }

    fn plan_mut(&mut self, seq: Seq) -> &mut ProposedPlan {
        let plan = self.plan.get_or_insert_with(ProposedPlan::default);
        plan.seq = seq;
        plan
    }

    fn plan_answered(&mut self, call: StateCall, is_error: bool, text: &str, seq: Seq) {
        const SAVED: &str = "Your plan has been saved to: ";
        const APPROVED: &str = "## Approved Plan";
        self.plan_mode &= is_error;
        let plan = self.plan_mut(seq);
        plan.approved = Some(!is_error);
        let saved = text.split_once(SAVED).and_then(|(_, rest)| rest.lines().next());
        let path = saved.map(str::trim).filter(|path| !path.is_empty()).map(str::to_owned);
        plan.path =
            path.or_else(|| Some(call.name).filter(|path| !path.is_empty())).or(plan.path.take());
        // A plan that the user edited is in the result.
        let approved = text.split_once(APPROVED).and_then(|(_, rest)| rest.split_once('\n'));
        let words = approved.map_or(call.plan.as_str(), |(_, words)| words).trim();
        if !words.is_empty() {
            plan.text = beginning(words, TEXT_BYTES).to_owned();
        }
    }

    /// Reads definitions, `<function>{…}</function>`, and names, `{"type":"tool_reference","tool_name":"…"}`.
    fn tools_found(&mut self, block: &Block, text: &str, seq: Seq) {
        #[derive(Deserialize)]
        struct Definition {
            name: String,
        }
        for definition in text.split("<function>").skip(1) {
            let json = definition.split("</function>").next().unwrap_or_default().trim();
            if let Ok(Definition { name }) = serde_json::from_str(json) {
                self.tool(NamedText { seq, name, text: beginning(json, TEXT_BYTES).to_owned() });
            }
        }
        if !block.as_str().contains("tool_reference") {
            return;
        }
        let block = serde_json::from_str::<Value>(block.as_str()).unwrap_or_default();
        for part in block.get("content").and_then(Value::as_array).into_iter().flatten() {
            if let Some(name) = part.get("tool_name").and_then(Value::as_str) {
                self.tool(NamedText { seq, name: name.to_owned(), text: String::new() });
            }
        }
    }

    fn tool(&mut self, tool: NamedText) {
        self.tools.retain(|known| known.name != tool.name);
        keep(&mut self.tools, tool);
    }

    /// Returns the approximate size in memory, in bytes.
    pub(crate) fn weight(&self) -> usize {
        let texts = self.skills.iter().chain(&self.tools).chain(&self.announced).chain(&self.hooks);
        let texts: usize = texts.map(|text| text.text.len() + 64).sum();
        let agents: usize = self.agents.iter().map(|agent| agent.result.len() + 512).sum();
        texts
            + agents
            + self.files.len() * 256
            + self.plan.as_ref().map_or(0, |plan| plan.text.len())
    }
}

fn keep<T>(list: &mut Vec<T>, new: T) {
    if list.len() >= ENTRIES {
        list.remove(0);
    }
    list.push(new);
}

/// Returns the content of the first element with this name.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(content, _)| content.trim())
}

/// Returns the ID of an agent from the client's confirmation that the agent was started.
fn started_id(text: &str) -> Option<String> {
    const MARKS: [&str; 4] = ["agentId: ", "\"agent_id\":", "agent_id: ", "task_id: "];
    let rest = MARKS.iter().find_map(|mark| text.split_once(mark)).map(|(_, rest)| rest)?;
    let rest = rest.trim_start_matches([' ', '"']);
    let id: String =
        rest.chars().take_while(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
    (!id.is_empty()).then_some(id)
}

/// Returns the plan file that a plan-mode reminder names.
fn plan_file(text: &str) -> Option<String> {
    let is_edge = |c: char| matches!(c, '`' | '"' | '(' | ')' | ',' | '.');
    let mut words = text.split_whitespace().map(|word| word.trim_matches(is_edge));
    words.find(|word| word.contains(PLANS) && word.ends_with(".md")).map(str::to_owned)
}
