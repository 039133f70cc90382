//! Measures how long an agent waits for a hook, from the start of its process to the end.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bethink_harness::daemon::binary;
use bethink_harness::wait::PATIENCE;
use bethink_harness::{Daemon, until};
use serde_json::{Value, json};

use crate::table::{Goal, Row};

/// Number of rounds with a running daemon, each with a prompt, two tools and a stop.
const ROUNDS: usize = 100;
/// Number of hooks without a daemon, and with one that hangs.
const DOWN: usize = 100;
const HANGING: usize = 40;
/// Number of topics for recall.
const TOPICS: usize = 200;
/// Time limits for a hook in milliseconds: with a daemon, and without an answer.
const UP: f64 = 15.0;
const ALONE: f64 = 50.0;
/// Time limit for a prompt's hook, which may add memories.
const PROMPT_ALONE: f64 = 300.0;

struct Agent {
    home: PathBuf,
    project: PathBuf,
    transcript: PathBuf,
    written: usize,
}

pub fn rows() -> Vec<Row> {
    let mut daemon = Daemon::fresh();
    let mut agent = Agent::new(&daemon);
    agent.remember(&daemon);
    // The first hook also reads the memory directory and the programs' files.
    agent.hook("SessionStart");
    agent.hook("UserPromptSubmit");
    agent.say();
    agent.hook("Stop");
    let (mut prompts, mut tools, mut stops) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        prompts.push(agent.hook("UserPromptSubmit"));
        for _ in 0..2 {
            agent.say();
            tools.push(agent.hook("PostToolUse"));
        }
        agent.say();
        stops.push(agent.hook("Stop"));
    }
    daemon.terminate();
    let down: Vec<_> = (0..DOWN).map(|_| agent.said("Stop")).collect();
    daemon.start();
    signal(&daemon, rustix::process::Signal::STOP);
    let hanging: Vec<_> = (0..HANGING).map(|_| agent.said("Stop")).collect();
    let waits: Vec<_> = (0..HANGING).map(|_| agent.hook("UserPromptSubmit")).collect();
    signal(&daemon, rustix::process::Signal::CONT);
    agent.say();
    agent.hook("Stop");
    let (stored, waiting) = agent.stored(&daemon);
    let written = agent.written;
    vec![
        row("hook, daemon up: prompt, p95", &prompts, UP)
            .detail(format!("{}, {TOPICS} topics", detail(&prompts))),
        row("hook, daemon up: tool, p95", &tools, UP).detail(detail(&tools)),
        row("hook, daemon up: stop, a message to take in, p95", &stops, UP).detail(detail(&stops)),
        row("hook, daemon down: stop, p95", &down, ALONE).detail(detail(&down)),
        row("hook, daemon hangs: stop, p95", &hanging, ALONE).detail(detail(&hanging)),
        row("hook, daemon hangs: prompt, p95", &waits, PROMPT_ALONE).detail(detail(&waits)),
        Row::new(
            "messages lost or doubled",
            written.abs_diff(stored) as f64,
            "",
            Goal::AtMost(0.0),
        )
        .detail(format!("{written} written, {stored} stored")),
        Row::new("events left in the spool", waiting as f64, "", Goal::AtMost(0.0)),
    ]
}

impl Agent {
    fn new(daemon: &Daemon) -> Self {
        let scratch = daemon.home.scratch();
        let project = scratch.join("project");
        std::fs::create_dir_all(&project).expect("a project");
        let (home, transcript) = (daemon.home.path().to_owned(), scratch.join("session.jsonl"));
        Self { home, project, transcript, written: 0 }
    }

    fn remember(&self, daemon: &Daemon) {
        let mut client = daemon.client();
        for n in 0..TOPICS {
            let text = format!(
                "The job number {n} fetches table{n} from harbour{n} at night, and port {n} mends it."
            );
            let body =
                json!({ "project_dir": self.project, "text": text, "name": format!("job-{n}") });
            let answer = client.post("/v1/memories", &body);
            assert!(answer.status < 300, "{}", answer.brief());
        }
    }

    /// Adds a line to the transcript, as large as a tool result.
    fn say(&mut self) {
        let line = json!({
            "type": "user", "uuid": format!("m{}", self.written), "cwd": self.project, "sessionId": "figures",
            "message": { "role": "user", "content": format!("{} {}", self.written, "some words of work ".repeat(100)) },
        });
        let mut options = OpenOptions::new();
        let mut file =
            options.create(true).append(true).open(&self.transcript).expect("a transcript");
        file.write_all(format!("{line}\n").as_bytes()).expect("a line");
        self.written += 1;
    }

    fn said(&mut self, event: &str) -> Duration {
        self.say();
        self.hook(event)
    }

    fn hook(&self, event: &str) -> Duration {
        let topic = self.written % TOPICS;
        let input = json!({
            "session_id": "figures", "transcript_path": self.transcript, "cwd": self.project,
            "prompt": format!("which job fetches table{topic} from harbour{topic}?"),
            "tool_response": { "content": "x".repeat(20_000) },
        });
        run(&self.home, event, &input)
    }

    /// Waits until all messages arrived or nothing changes any more. Returns the number of messages and of waiting files.
    fn stored(&self, daemon: &Daemon) -> (usize, usize) {
        let mut client = daemon.client();
        let mut last = (0, usize::MAX);
        let done = until(PATIENCE, || {
            let sessions = client.get("/v1/sessions").ok();
            let count: u64 = sessions["sessions"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|session| session["messages"].as_u64())
                .sum();
            let files = std::fs::read_dir(self.home.join("spool/hooks"));
            last = (usize::try_from(count).unwrap_or(0), files.map_or(0, Iterator::count));
            (last == (self.written, 0)).then_some(last)
        });
        done.unwrap_or(last)
    }
}

fn run(home: &Path, event: &str, input: &Value) -> Duration {
    let input = input.to_string();
    let begun = Instant::now();
    let mut child = Command::new(binary("bethink"))
        .args(["hook", event])
        .env_clear()
        .env("BETHINK_HOME", home)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("bethink");
    if let Some(mut pipe) = child.stdin.take() {
        pipe.write_all(input.as_bytes()).expect("a hook reads its input");
    }
    let status = child.wait().expect("its end");
    assert!(status.success(), "{event} stood in the way: {status}");
    begun.elapsed()
}

fn signal(daemon: &Daemon, signal: rustix::process::Signal) {
    let pid = daemon.pid().and_then(|pid| i32::try_from(pid).ok());
    let pid = pid.and_then(rustix::process::Pid::from_raw).expect("a running daemon");
    rustix::process::kill_process(pid, signal).expect("a signal");
}

fn row(what: &str, times: &[Duration], most: f64) -> Row {
    Row::new(what, share(times, 95), "ms", Goal::AtMost(most))
}

fn detail(times: &[Duration]) -> String {
    format!(
        "{} runs, p50 {:.1} ms, worst {:.1} ms",
        times.len(),
        share(times, 50),
        share(times, 100)
    )
}

/// Returns a percentile of the times, in milliseconds.
fn share(times: &[Duration], percent: usize) -> f64 {
    let mut times = times.to_vec();
    times.sort_unstable();
    let at = (times.len() * percent).div_ceil(100).saturating_sub(1);
    times.get(at).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}
