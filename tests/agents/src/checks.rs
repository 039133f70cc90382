//! What must hold for an agent: alone, through the gateway, and with bethink installed.

use std::process::Command;
use std::time::{Duration, Instant};

use bethink_harness::daemon::binary;
use bethink_harness::{Daemon, Home, until};
use bethink_model_server::{Script, Seen, Server};
use bethink_test_clients::Installed;
use serde_json::{Value, json};

use crate::agent::{Agent, Place, settings};
use crate::table::{AgentRow, Outcome};

const PROMPT: &str = "How is the boathouse painted?";
const FACT: &str = "The boathouse is painted green every spring.";
const PATIENCE: Duration = Duration::from_secs(20);

/// An agent with a daemon and a model.
struct World<'a> {
    agent: Agent,
    kit: &'a Installed,
    server: Server,
    daemon: Daemon,
    place: Place,
}

pub(crate) fn run(agent: Agent, kit: &Installed, starts: usize) -> AgentRow {
    let world = World::new(agent, kit);
    let direct = world.address();
    world.agent.configure(&world.place, &direct);
    let (alone, sent) = world.asks(&direct);
    let (through, gateway) = world.through_gateway(sent.len());
    world.agent.configure(&world.place, &direct);
    let before = settings(agent, &world.place.person);
    let plain = world.start_time(&direct, starts);
    let installed = world.bethink(&["install", agent.name()]);
    let remembered = world.remembers(&direct);
    let with_all = world.start_time(&direct, starts);
    let removed = world.bethink(&["uninstall", agent.name()]);
    let after = settings(agent, &world.place.person);
    let is_same = Outcome::of(after == before, || "its settings are not as before".to_owned());
    let checks = vec![
        ("direct", alone),
        ("gateway", through),
        ("session", gateway),
        ("install", installed.and(remembered)),
        ("uninstall", removed.and(is_same)),
    ];
    AgentRow { agent, checks, plain, with_all }
}

impl<'a> World<'a> {
    fn new(agent: Agent, kit: &'a Installed) -> Self {
        let server = Server::start(Script::good()).expect("a model server");
        let home = Home::new()
            .with("BETHINK_GATEWAY__ANTHROPIC_URL", &server.url())
            .with("BETHINK_GATEWAY__OPENAI_URL", &server.url());
        let daemon = home.start();
        let scratch = daemon.home.scratch();
        let place = Place {
            person: scratch.join("person"),
            project: scratch.join("project"),
            bethink: daemon.home.path().to_owned(),
        };
        for dir in [&place.person, &place.project] {
            std::fs::create_dir_all(dir).unwrap();
        }
        Self { agent, kit, server, daemon, place }
    }

    /// The model server's address, as the agent wants it.
    fn address(&self) -> String {
        match self.agent.wire() {
            "openai" => format!("{}/v1", self.server.url()),
            _ => self.server.url(),
        }
    }

    /// Runs the agent with a prompt. Returns whether it printed the answer, and the requests that the model got.
    fn asks(&self, url: &str) -> (Outcome, Vec<Seen>) {
        let before = self.server.counts().requests;
        let ran = self.agent.run(self.kit, &self.place, url, PROMPT);
        let is_answered = ran.status.success() && ran.stdout.contains("I have read");
        let told = || format!("{}: {} {}", ran.status, ran.stdout.trim(), ran.stderr.trim());
        let new = usize::try_from(self.server.counts().requests - before).unwrap_or_default();
        let all = self.server.requests();
        let sent = all[all.len().saturating_sub(new)..].to_vec();
        (Outcome::of(is_answered, told), sent)
    }

    /// Runs the agent through the gateway. Returns whether the same requests went up, and whether the session is recorded
    /// with its title and project.
    fn through_gateway(&self, direct: usize) -> (Outcome, Outcome) {
        let addresses = self.daemon.client().get("/v1/gateway").ok();
        let url = addresses[self.agent.wire()].as_str().unwrap().to_owned();
        self.agent.configure(&self.place, &url);
        let (answered, sent) = self.asks(&url);
        let is_same = Outcome::of(sent.len() == direct, || {
            format!("{} requests instead of {direct}", sent.len())
        });
        let found = until(PATIENCE, || Some(self.sessions()).filter(|all| !all.is_empty()));
        let found = found.unwrap_or_default();
        let project = self.place.project.display().to_string();
        let is_right = |session: &Value| {
            let title = session["title"].as_str().unwrap_or_default();
            title.trim_matches('"') == PROMPT && session["project_dir"] == project
        };
        let recorded = Outcome::of(found.len() == 1 && found.iter().all(is_right), || {
            let told = |one: &Value| format!("{} in {}", one["title"], one["project_dir"]);
            format!("sessions: {}", found.iter().map(told).collect::<Vec<_>>().join(", "))
        });
        (answered.and(is_same), recorded)
    }

    /// The sessions that belong to no other.
    fn sessions(&self) -> Vec<Value> {
        let page = self.daemon.client().get("/v1/sessions").ok();
        let all = page["sessions"].as_array().cloned().unwrap_or_default();
        all.into_iter().filter(|one| one["parent"].is_null()).collect()
    }

    /// Returns whether the agent has the tools, and what is remembered if it has hooks.
    fn remembers(&self, url: &str) -> Outcome {
        let body = json!({ "project_dir": self.place.project, "text": FACT, "name": "boathouse", "type": "project" });
        let stored = self.daemon.client().post("/v1/memories", &body);
        let (answered, sent) = self.asks(url);
        let text = |seen: &Seen| String::from_utf8_lossy(&seen.body).into_owned();
        let has_tools = sent.iter().any(|seen| text(seen).contains("bethink"));
        let has_fact = sent.iter().any(|seen| text(seen).contains(FACT));
        let warns = || "the model got no tool of bethink".to_owned();
        let forgets = || "the prompt has no memory".to_owned();
        Outcome::of(stored.status < 300, || stored.brief())
            .and(answered)
            .and(Outcome::of(has_tools, warns))
            .and(Outcome::of(has_fact || !self.agent.has_hooks(), forgets))
    }

    /// Returns the median time of a whole run with one prompt.
    fn start_time(&self, url: &str, starts: usize) -> Duration {
        let mut times: Vec<Duration> = (0..starts)
            .map(|_| {
                let begun = Instant::now();
                self.agent.run(self.kit, &self.place, url, PROMPT);
                begun.elapsed()
            })
            .collect();
        times.sort_unstable();
        times.get(starts / 2).copied().unwrap_or_default()
    }

    fn bethink(&self, words: &[&str]) -> Outcome {
        let output = Command::new(binary("bethink"))
            .args(words)
            .env("HOME", &self.place.person)
            .env("XDG_CONFIG_HOME", self.place.person.join(".config"))
            .env("BETHINK_HOME", &self.place.bethink)
            .current_dir(&self.place.project)
            .output()
            .expect("bethink runs");
        let told = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Outcome::of(output.status.success(), told)
    }
}
