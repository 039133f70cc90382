//! Daemons take sessions from each other and are killed meanwhile: nothing is lost, doubled, or decided twice.
//!
//! `BETHINK_HANDOVERS=10000 cargo test -p bethinkd --test postgres hand_over -- --nocapture` makes more of them and prints
//! what it saw.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock, mpsc};

use bethink_harness::{Daemon, Request, Rng, kill_loop, say};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::World;

const DAEMONS: usize = 4;
const SESSIONS: usize = 6;
const WRITERS: usize = 4;
/// Hand-overs in the gate, and between two kills.
const FEW: usize = 150;
const KILL_EVERY: usize = 25;

/// What clients were told.
#[derive(Default)]
struct Told {
    /// Messages by session, in no order.
    acknowledged: HashMap<String, Vec<String>>,
    /// Prompts by their last message.
    prompts: BTreeMap<String, Vec<Value>>,
    refused: BTreeMap<String, usize>,
    faults: Vec<String>,
}

struct Run {
    daemons: Vec<RwLock<Daemon>>,
    sessions: Vec<String>,
    /// The daemon that was last used for each session.
    last: Vec<AtomicUsize>,
    hand_overs: AtomicUsize,
    told: Mutex<Told>,
}

impl Run {
    fn new() -> Self {
        let world = World::shared();
        let database = world.database();
        let start = |_| world.home(&database).start();
        let daemons: Vec<Daemon> = (0..DAEMONS).map(start).collect();
        let begin = |n: usize| {
            let session = daemons[n % DAEMONS].session(30_000);
            daemons[n % DAEMONS].append(&session, &[say::user(&format!("run the tools of {n}"))]);
            session
        };
        let sessions = (0..SESSIONS).map(begin).collect();
        let last = (0..SESSIONS).map(|n| AtomicUsize::new(n % DAEMONS)).collect();
        let daemons = daemons.into_iter().map(RwLock::new).collect();
        let (hand_overs, told) = (AtomicUsize::new(0), Mutex::default());
        Self { daemons, sessions, last, hand_overs, told }
    }

    /// One turn of a session at any daemon: a tool call and its result, then a prompt.
    fn step(&self, rng: &mut Rng, name: &str, moved: &mpsc::Sender<()>) {
        let (at, of) = (rng.below(DAEMONS), rng.below(SESSIONS));
        let session = &self.sessions[of];
        let daemon = self.daemons[at].read().unwrap();
        if self.last[of].swap(at, Ordering::Relaxed) != at {
            self.hand_overs.fetch_add(1, Ordering::Relaxed);
            moved.send(()).unwrap();
        }
        let mut client = daemon.client();
        let ids: Vec<String> = (0..2).map(|n| format!("{name}-{n}")).collect();
        let text = format!("{name}: {}", "what the tool printed ".repeat(40));
        let messages = [
            say::with_id(&ids[0], say::call(name, "Bash", &json!({ "command": name }))),
            say::with_id(&ids[1], say::result(name, &text)),
        ];
        let path = format!("/v1/sessions/{session}");
        let body = json!({ "messages": messages });
        let append = Request::new("POST", &format!("{path}/messages")).json(&body);
        match client.send(&append) {
            Ok(answer) if answer.status == 200 => {
                let mut told = self.told.lock().unwrap();
                told.acknowledged.entry(session.clone()).or_default().extend(ids);
            }
            Ok(answer) => return self.refuse("append", &answer.problem()["detail"]),
            Err(_) => return self.refuse("append", &json!("no answer")),
        }
        let ask =
            Request::new("POST", &format!("{path}/context")).json(&json!({ "inject": "off" }));
        match client.send(&ask) {
            Ok(answer) if answer.status == 200 => {
                let mut prompt = answer.json();
                let faults = bethink_harness::prompt::faults_of(&prompt);
                let messages = prompt["messages"].take();
                let last = messages.as_array().unwrap().last().unwrap().to_string();
                let mut told = self.told.lock().unwrap();
                told.faults.extend(faults);
                told.prompts.entry(format!("{session} {last}")).or_default().push(messages);
            }
            Ok(answer) => self.refuse("prompt", &answer.problem()["detail"]),
            Err(_) => self.refuse("prompt", &json!("no answer")),
        }
    }

    fn refuse(&self, what: &str, why: &Value) {
        *self.told.lock().unwrap().refused.entry(format!("{what}: {why}")).or_default() += 1;
    }
}

#[test]
fn hand_overs_lose_and_duplicate_nothing() {
    let wanted = std::env::var("BETHINK_HANDOVERS").ok().and_then(|text| text.parse().ok());
    let wanted: usize = wanted.unwrap_or(FEW);
    let run = Run::new();
    let mut kills = 0;
    let (moved, moves) = mpsc::channel();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (run, moved) = (&run, moved.clone());
            scope.spawn(move || {
                let mut rng = Rng::new(writer as u64);
                for turn in 0.. {
                    if run.hand_overs.load(Ordering::Relaxed) >= wanted {
                        break;
                    }
                    run.step(&mut rng, &format!("w{writer}t{turn}"), &moved);
                }
            });
        }
        drop(moved);
        let mut rng = Rng::new(99);
        for count in 1.. {
            if moves.recv().is_err() {
                break;
            }
            if count % KILL_EVERY > 0 {
                continue;
            }
            kills += 1;
            let killed = &run.daemons[rng.below(DAEMONS)];
            // Others read the lock meanwhile, so that it is killed in the middle of their requests.
            let pid = killed.read().unwrap().pid().and_then(|pid| Pid::from_raw(pid.cast_signed()));
            kill_process(pid.unwrap(), Signal::KILL).unwrap();
            let mut killed = killed.write().unwrap();
            killed.kill9();
            killed.start();
        }
    });
    let told = run.told.into_inner().unwrap();
    let daemon = run.daemons[0].read().unwrap();
    let mut acknowledged = 0;
    for session in &run.sessions {
        let stored = kill_loop::stored(&mut daemon.client(), session);
        let seqs: Vec<u64> = stored.iter().map(|(seq, _)| *seq).collect();
        assert_eq!(seqs, (1..=stored.len() as u64).collect::<Vec<_>>());
        let ids: HashSet<&String> = stored.iter().map(|(_, id)| id).collect();
        assert_eq!(ids.len(), stored.len(), "a message was stored twice");
        for id in told.acknowledged.get(session).into_iter().flatten() {
            assert!(ids.contains(id), "{id} was lost");
            acknowledged += 1;
        }
    }
    assert_eq!(told.faults, Vec::<String>::new());
    let mut same = 0;
    for (last, prompts) in &told.prompts {
        for prompt in prompts {
            assert_eq!(prompt, &prompts[0], "two daemons decided about the same prompt: {last}");
            same += 1;
        }
    }
    let count = run.hand_overs.load(Ordering::Relaxed);
    println!(
        "{count} hand-overs, {kills} kills, {acknowledged} acknowledged messages, {same} prompts, refused {:?}",
        told.refused
    );
}
