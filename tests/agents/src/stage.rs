//! An agent with a model, a daemon, a home directory and a project of its own.

use std::process::Command;
use std::time::{Duration, Instant};

use bethink_harness::daemon::binary;
use bethink_harness::{Daemon, Home, until};
use bethink_model_server::{Script, Seen, Server};
use bethink_test_clients::Installed;
use serde_json::Value;

use crate::agent::{Agent, Place};
use crate::table::Outcome;
use crate::tap::Tap;

/// How long a daemon may take to record what an agent did.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum number of characters of an agent's output in a report.
const MAX_OUTPUT: usize = 600;
/// Number of requests that the model server keeps.
const KEPT: usize = 500;

pub(crate) struct Stage<'a> {
    pub(crate) agent: &'a Agent,
    kit: &'a Installed,
    pub(crate) server: Server,
    pub(crate) daemon: Daemon,
    pub(crate) tap: Tap,
    pub(crate) place: Place,
}

impl<'a> Stage<'a> {
    pub(crate) fn new(agent: &'a Agent, kit: &'a Installed, script: Script) -> Self {
        Self::with(agent, kit, script, &[])
    }

    /// Like [`Self::new`], with these settings of the daemon.
    pub(crate) fn with(
        agent: &'a Agent,
        kit: &'a Installed,
        script: Script,
        settings: &[(&str, &str)],
    ) -> Self {
        let server = Server::start(Script { keep: KEPT, ..script }).expect("a model server");
        let tap = Tap::start();
        let mut home = Home::new()
            .with("BETHINK_GATEWAY__ANTHROPIC_URL", &server.url())
            .with("BETHINK_GATEWAY__OPENAI_URL", &server.url())
            .with("BETHINK_GATEWAY__GEMINI_URL", &server.url())
            .with("BETHINK_DAEMON__ALLOWED_HOSTS", &tap.addr().to_string());
        for (setting, value) in settings {
            home = home.with(setting, value);
        }
        let daemon = home.start();
        tap.lead_to(daemon.addr());
        let scratch = daemon.home.scratch();
        let place = Place {
            // The daemon reads the agents' transcripts in the same home directory.
            person: scratch.join("person"),
            project: scratch.join("project"),
            bethink: daemon.home.path().to_owned(),
        };
        for dir in [&place.person, &place.project] {
            std::fs::create_dir_all(dir).expect("a directory");
        }
        Self { agent, kit, server, daemon, tap, place }
    }

    /// Returns the model server's address in the form that the agent expects.
    pub(crate) fn direct(&self) -> String {
        self.server.url() + self.agent.base
    }

    /// Returns the gateway's address, as `bethink gateway` prints it.
    pub(crate) fn gateway(&self) -> String {
        let output = self.command(&["gateway", "--json"]).output().expect("bethink runs");
        let addresses: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let url = addresses[self.agent.wire].as_str().unwrap_or("no address");
        let url = url.replace(&self.daemon.addr().to_string(), &self.tap.addr().to_string());
        if !self.agent.states_project {
            return url;
        }
        // The same address without the project, which the agent states.
        let (base, project) = url.split_once("/p/").unwrap_or((&url, ""));
        let end = project.split_once('/').map(|(_, end)| format!("/{end}"));
        base.to_owned() + &end.unwrap_or_default()
    }

    /// Runs the agent in a new session. Returns whether it printed the model's answer, and what the model got.
    pub(crate) fn begin(&self, url: &str, prompt: &str) -> (Outcome, Vec<Seen>) {
        self.run(url, self.agent.begin, prompt)
    }

    /// Like [`Self::begin`], but continues the agent's last session.
    pub(crate) fn go_on(&self, url: &str, prompt: &str) -> (Outcome, Vec<Seen>) {
        self.run(url, self.agent.go_on, prompt)
    }

    fn run(&self, url: &str, arguments: &[&str], prompt: &str) -> (Outcome, Vec<Seen>) {
        let before = self.server.counts().requests;
        let ran = self.agent.run(self.kit, &self.place, url, (arguments, prompt));
        let mut sent = self.server.requests();
        sent.retain(|seen| seen.number > before);
        let Some(ran) = ran else {
            return (Outcome::Fails("the agent did not end".to_owned()), sent);
        };
        let is_answered = ran.status.success() && ran.stdout.contains("I have read");
        let told = || {
            let text = format!("{}: {} {}", ran.status, ran.stdout.trim(), ran.stderr.trim());
            text.chars().take(MAX_OUTPUT).collect()
        };
        (Outcome::of(is_answered, told), sent)
    }

    /// Runs the agent once, and returns how long that takes.
    pub(crate) fn time(&self, url: &str, prompt: &str) -> Duration {
        let begun = Instant::now();
        self.begin(url, prompt);
        begun.elapsed()
    }

    /// Returns whether exactly one session of the project has this title, and no other session is recorded.
    pub(crate) fn has_session(&self, title: &str) -> Outcome {
        let project = self.place.project.display().to_string();
        let is_right = |session: &Value| {
            let found = session["title"].as_str().unwrap_or_default();
            found.trim_matches('"') == title && session["project_dir"] == project
        };
        let right = || matches!(&self.sessions()[..], [one] if is_right(one)).then_some(());
        Outcome::of(until(PATIENCE, right).is_some(), || {
            let told = |one: &Value| format!("{} in {}", one["title"], one["project_dir"]);
            let all: Vec<String> = self.sessions().iter().map(told).collect();
            format!("sessions: {}", all.join(", "))
        })
    }

    /// Returns the sessions without a parent.
    pub(crate) fn sessions(&self) -> Vec<Value> {
        let page = self.daemon.client().get("/v1/sessions").ok();
        let all = page["sessions"].as_array().cloned().unwrap_or_default();
        all.into_iter().filter(|one| one["parent"].is_null()).collect()
    }

    /// Runs a command of bethink in the project.
    pub(crate) fn bethink(&self, words: &[&str]) -> Outcome {
        let output = self.command(words).output().expect("bethink runs");
        let told = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Outcome::of(output.status.success(), told)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(binary("bethink"));
        command
            .args(words)
            .env("HOME", &self.place.person)
            .env("XDG_CONFIG_HOME", self.place.person.join(".config"))
            .env("BETHINK_HOME", &self.place.bethink)
            .current_dir(&self.place.project);
        command
    }

    /// Returns the bytes of the files that `bethink install` changes.
    pub(crate) fn settings(&self) -> Vec<Option<Vec<u8>>> {
        let read = |path: &&str| std::fs::read(self.place.person.join(path)).ok();
        self.agent.installed.iter().map(read).collect()
    }
}
