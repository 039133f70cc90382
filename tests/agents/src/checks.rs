//! The checks of an agent.

use std::thread;
use std::time::Duration;

use bethink_harness::until;
use bethink_model_server::ask::{Ask, blocks};
use bethink_model_server::{Script, Seen, ToolCall};
use bethink_test_clients::Installed;
use serde_json::json;

use crate::agent::Agent;
use crate::stage::Stage;
use crate::table::{AgentRow, Outcome};

const PROMPT: &str = "How is the boathouse painted?";
const FACT: &str = "The boathouse is painted green every spring.";
/// How long an agent may take until its first request.
const PATIENCE: Duration = Duration::from_secs(120);
/// Size of the small window, in tokens, in addition to the agent's first prompt and the answer.
const ROOM: u64 = 24_000;
/// Prompts that do not fit into the room together, each with this many bytes.
const LARGE_PROMPTS: usize = 5;
const LARGE_BYTES: usize = 40_000;

pub(crate) fn run(agent: &Agent, kit: &Installed, starts: usize) -> AgentRow {
    let (direct, first) = direct(agent, kit);
    let mut checks = vec![("direct", direct)];
    checks.extend(gateway(agent, kit));
    checks.extend(install(agent, kit));
    let is_long = starts > 0;
    if is_long {
        checks.push(("window", window(agent, kit, first.as_ref())));
        checks.push(("kill", kill(agent, kit)));
    }
    let starts = (is_long && !agent.installed.is_empty()).then(|| start_times(agent, kit, starts));
    AgentRow { name: agent.name, checks, starts }
}

/// Runs the agent without bethink. Returns the largest request, too.
fn direct(agent: &Agent, kit: &Installed) -> (Outcome, Option<Seen>) {
    let stage = Stage::new(agent, kit, Script::good());
    let url = stage.direct();
    agent.configure(&stage.place, &url);
    let (outcome, sent) = stage.begin(&url, PROMPT);
    (outcome, sent.into_iter().max_by_key(|seen| seen.tokens))
}

/// Two turns of a session through the gateway: all requests are forwarded unchanged, and one session is recorded.
fn gateway(agent: &Agent, kit: &Installed) -> [(&'static str, Outcome); 2] {
    let stage = Stage::new(agent, kit, Script::good());
    let url = stage.gateway();
    agent.configure(&stage.place, &url);
    let (mut answered, mut sent) = stage.begin(&url, PROMPT);
    if !agent.go_on.is_empty() {
        let (outcome, more) = stage.go_on(&url, "And the door?");
        answered = answered.and(outcome);
        sent.extend(more);
    }
    let changed = sent.iter().filter(|seen| !stage.tap.has_sent(&seen.body)).count();
    let is_same = Outcome::of(changed == 0 && !sent.is_empty(), || {
        format!("{changed} of {} requests were changed", sent.len())
    });
    [("gateway", answered.and(is_same)), ("session", stage.has_session(PROMPT))]
}

/// `bethink install`: the agent calls a tool, its first prompt contains the memories, and hooks record its session.
fn install(agent: &Agent, kit: &Installed) -> [(&'static str, Outcome); 3] {
    if agent.installed.is_empty() {
        return ["install", "hooks", "uninstall"].map(|check| (check, Outcome::Absent));
    }
    let arguments = json!({ "query": "boathouse" });
    let call = ToolCall { name_end: "recall".to_owned(), arguments };
    let stage = Stage::new(agent, kit, Script { call: Some(call), ..Script::good() });
    let url = stage.direct();
    agent.configure(&stage.place, &url);
    // Some agents write their settings in their first run.
    let (begun, _) = stage.begin(&url, "Say hello to me.");
    let before = stage.settings();
    let installed = stage.bethink(&["install", agent.name]);
    let remembered = stage.bethink(&["remember", FACT, "--name", "boathouse", "--type", "project"]);
    let (answered, sent) = stage.begin(&url, PROMPT);
    let has_result = sent.iter().any(|seen| tool_results(seen).contains(FACT));
    let called = Outcome::of(has_result, || "the agent did not call `recall`".to_owned());
    let hooks = if agent.has_hooks { hooks(&stage, &sent) } else { Outcome::Absent };
    let removed = stage.bethink(&["uninstall", agent.name]);
    let is_same = stage.settings() == before;
    let is_same = Outcome::of(is_same, || "the agent's settings are not as before".to_owned());
    [
        ("install", begun.and(installed).and(remembered).and(answered).and(called)),
        ("hooks", hooks),
        ("uninstall", removed.and(is_same)),
    ]
}

/// Checks that the first prompt of a session contains the memories, and that the daemon has the session.
fn hooks(stage: &Stage<'_>, sent: &[Seen]) -> Outcome {
    let has_fact = sent.iter().any(|seen| {
        String::from_utf8_lossy(&seen.body).contains(FACT) && !tool_results(seen).contains(FACT)
    });
    let recorded = stage.has_session(PROMPT);
    Outcome::of(has_fact, || "the first prompt has no memory".to_owned()).and(recorded)
}

/// Returns the text of the tool results in a request.
fn tool_results(seen: &Seen) -> String {
    let messages = Ask::read(seen.wire, &seen.json).messages;
    let results = messages.iter().flat_map(blocks).filter(|block| block["type"] == "tool_result");
    results.map(|block| block["content"].to_string()).collect()
}

/// Sends long prompts in a small window: none is refused, and the last one is shorter than what the agent sent.
fn window(agent: &Agent, kit: &Installed, first: Option<&Seen>) -> Outcome {
    if agent.go_on.is_empty() {
        return Outcome::Absent;
    }
    let Some(first) = first else { return Outcome::Fails("no direct request".to_owned()) };
    let window = first.tokens + Ask::read(first.wire, &first.json).max_tokens + ROOM;
    let script = Script { window: Some(window), ..Script::good() };
    // Sets the window of exactly this model, because bethink knows the windows of some models.
    let windows = format!("{}={window}", first.json["model"].as_str().unwrap_or_default());
    let stage = Stage::with(agent, kit, script, &[("BETHINK_CONTEXT__WINDOWS", &windows)]);
    let url = stage.gateway();
    agent.configure(&stage.place, &url);
    let large =
        |n: usize| format!("{PROMPT} {}", format!("Board {n} is {n}. ").repeat(LARGE_BYTES / 14));
    let (mut answered, mut sent) = stage.begin(&url, &large(0));
    for n in 1..LARGE_PROMPTS {
        let (outcome, more) = stage.go_on(&url, &large(n));
        answered = answered.and(outcome);
        sent = more;
    }
    let counts = stage.server.counts();
    let refused = counts.over_window;
    let last = sent.iter().max_by_key(|seen| seen.tokens);
    let is_shorter = last.is_some_and(|seen| !stage.tap.has_sent(&seen.body));
    answered
        .and(Outcome::of(refused == 0, || format!("{refused} requests were refused")))
        .and(Outcome::of(counts.invalid_prompts == 0, || "an invalid prompt".to_owned()))
        .and(Outcome::of(is_shorter, || "the last prompt was not shortened".to_owned()))
}

/// Kills and restarts the daemon while the model answers: the agent's turn must succeed, and be recorded once.
fn kill(agent: &Agent, kit: &Installed) -> Outcome {
    let mut stage = Stage::new(agent, kit, Script::good());
    let url = stage.gateway();
    agent.configure(&stage.place, &url);
    stage.server.hold();
    let answered = thread::scope(|scope| {
        let Stage { server, daemon, tap, place, .. } = &mut stage;
        let run = scope.spawn(|| agent.run(kit, place, &url, (agent.begin, PROMPT)));
        let asked = until(PATIENCE, || (server.counts().requests > 0).then_some(()));
        daemon.kill9();
        server.release();
        daemon.start();
        tap.lead_to(daemon.addr());
        let ran = run.join().expect("a run");
        let ends_well = ran.is_some_and(|ran| ran.stdout.contains("I have read"));
        Outcome::of(asked.is_some(), || "no request".to_owned())
            .and(Outcome::of(ends_well, || "the agent did not finish its turn".to_owned()))
    });
    answered.and(stage.has_session(PROMPT))
}

/// Returns the median times of a run without bethink and with everything installed, measured in turns.
fn start_times(agent: &Agent, kit: &Installed, starts: usize) -> (Duration, Duration) {
    let stage = |words: &[&str]| {
        let stage = Stage::new(agent, kit, Script::good());
        let url = stage.direct();
        agent.configure(&stage.place, &url);
        stage.begin(&url, PROMPT);
        if !words.is_empty() {
            stage.bethink(words);
            stage.begin(&url, PROMPT);
        }
        (stage, url)
    };
    let ways = [stage(&[]), stage(&["install", agent.name])];
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..starts {
        for ((stage, url), times) in ways.iter().zip(&mut times) {
            times.push(stage.time(url, PROMPT));
        }
    }
    let [plain, with_all] = times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    });
    (plain, with_all)
}
