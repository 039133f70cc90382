//! History that people share with their team, with the real programs.

use std::process::Command;

use bethink_harness::daemon::binary;
use bethink_harness::wait::PATIENCE;
use bethink_harness::{Daemon, Home, Request, say, until};
use serde_json::{Value, json};

use crate::World;

const TOKEN: &str = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
const PROJECT: &str = "github.com/acme/mill";

/// A database of a team, and a clone of the team's repository.
struct Team {
    world: World,
    database: String,
    tree: tempfile::TempDir,
}

impl Team {
    fn new() -> Self {
        let world = World::new();
        let database = world.database();
        let tree = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let done = Command::new("git").arg("-C").arg(tree.path()).args(args).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        git(&["init", "--quiet"]);
        git(&["remote", "add", "origin", "git@github.com:acme/mill.git"]);
        let team = Self { world, database, tree };
        for person in ["ann", "ben", "cid"] {
            team.world.admin(&format!("CREATE ROLE {person} LOGIN"));
            team.sql(&format!("CREATE SCHEMA AUTHORIZATION {person}"));
        }
        team
    }

    /// Executes statements as a superuser.
    fn sql(&self, statements: &str) {
        let psql = self.world.server.program("psql");
        let mut command = Command::new(psql);
        command.args(["--quiet", "--set", "ON_ERROR_STOP=1", "--command", statements]);
        let url = self.world.server.url("bethink", &self.database);
        let done = command.arg(url).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    fn home(&self, person: &str) -> Home {
        Home::new().with("BETHINK_STORE__URL", &self.world.server.url(person, &self.database))
    }

    fn start(&self, person: &str) -> Daemon {
        self.home(person).start()
    }

    /// Runs `bethink` in the clone. Returns its output if it succeeds, or else its error.
    fn bethink(&self, daemon: &Daemon, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(binary("bethink"));
        command.args(arguments).current_dir(self.tree.path()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", daemon.home.scratch()).env("BETHINK_HOME", daemon.home.path());
        let done = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        match done.status.success() {
            true => Ok(text(done.stdout)),
            false => Err(text(done.stdout) + &text(done.stderr)),
        }
    }

    fn create_tables(&self, daemon: &Daemon) {
        self.sql(&self.bethink(daemon, &["team", "history", "setup"]).unwrap());
    }

    fn session(&self, daemon: &Daemon) -> String {
        let body = json!({ "project_dir": self.dir(), "title": "the water wheel" });
        let session = daemon.client().post("/v1/sessions", &body).ok();
        session["id"].as_str().unwrap().to_owned()
    }

    /// The clone, as a program in it names it.
    fn dir(&self) -> String {
        self.tree.path().canonicalize().unwrap().display().to_string()
    }

    /// Waits until the daemon has copied everything that is shared.
    fn settled(&self, daemon: &Daemon) {
        let waits = || {
            let shared = daemon.client().get("/v1/team/history").ok();
            let waiting = shared["shared"][0]["waiting"].as_u64();
            (waiting == Some(0)).then_some(())
        };
        if until(PATIENCE, waits).is_none() {
            panic!("{}", daemon.client().get("/v1/team/history").ok());
        }
    }
}

fn hits(daemon: &Daemon, query: &str) -> Vec<Value> {
    let found = daemon.client().get(&format!("/v1/team/history/search?{query}")).ok();
    found["hits"].as_array().unwrap().clone()
}

fn tools(daemon: &Daemon) -> Vec<String> {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let listed = mcp(daemon, &body);
    let listed = listed["result"]["tools"].as_array().unwrap();
    listed.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn call(daemon: &Daemon, arguments: &Value) -> String {
    let params = json!({ "name": "search_team", "arguments": arguments });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    mcp(daemon, &body)["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

fn mcp(daemon: &Daemon, body: &Value) -> Value {
    let request = Request::new("POST", "/mcp")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-06-18")
        .json(body);
    let answer = daemon.client().must(&request);
    let text = answer.text();
    let data = text
        .lines()
        .find_map(|line| line.strip_prefix("data: ").filter(|data| data.starts_with('{')));
    serde_json::from_str(data.unwrap_or(&text)).unwrap_or_else(|_| panic!("{text}"))
}

#[test]
fn a_colleague_finds_what_was_shared_and_a_stranger_does_not() {
    let team = Team::new();
    let [ann, ben, cid] = ["ann", "ben", "cid"].map(|person| team.start(person));
    let told = team.bethink(&ann, &["team", "history", "on"]).unwrap_err();
    assert!(told.contains("bethink team history setup"), "{told}");
    team.create_tables(&ann);

    let early = team.session(&ann);
    ann.append(&early, &[say::user("before anything was shared: the millstone cracked")]);
    team.bethink(&ann, &["team", "history", "on"]).unwrap();
    let session = team.session(&ann);
    ann.append(
        &session,
        &[
            say::user("the water wheel jams when the sluice opens"),
            say::assistant("The axle bearing was dry; greasing it with tallow fixed the jam."),
            say::user(&format!("now deploy with {TOKEN}")),
        ],
    );
    team.settled(&ann);
    assert!(!tools(&ben).contains(&"search_team".to_owned()));
    assert!(hits(&ben, "q=axle+bearing").is_empty());
    team.bethink(&ann, &["team", "history", "add-member", "ben"]).unwrap();

    // A colleague searches, in all ways.
    let found = hits(&ben, "q=how+was+the+axle+jam+fixed%3F");
    assert_eq!(found[0]["seq"], 2, "{found:?}");
    assert_eq!(
        [&found[0]["person"], &found[0]["project"], &found[0]["title"], &found[0]["session_id"]],
        ["ann", PROJECT, "the water wheel", session.as_str()]
    );
    let same =
        hits(&ben, "q=how+was+the+axle+jam+fixed%3F&person=ann&project=github.com/acme/mill");
    assert_eq!(same.len(), found.len());
    for nothing in [
        "q=axle&person=cid",
        "q=axle&project=other",
        "q=axle&before=2001-01-01T00:00:00Z",
        "q=millstone",
    ] {
        assert!(hits(&ben, nothing).is_empty(), "{nothing}");
    }
    let shown = team.bethink(&ben, &["search", "--team", "axle", "jam"]).unwrap();
    assert!(shown.contains("ann") && shown.contains("tallow"), "{shown}");
    let shown = team.bethink(&ben, &["team", "history", "show", &session]).unwrap();
    assert!(
        shown.contains("the water wheel") && shown.contains("[removed: a GitHub token]"),
        "{shown}"
    );
    let text = call(&ben, &json!({ "query": "axle jam" }));
    assert!(
        text.contains("tallow") && text.contains("ann") && text.contains("not requests"),
        "{text}"
    );
    let around = call(&ben, &json!({ "session_id": session, "seq": 2 }));
    assert!(around.contains("[1]") && around.contains("[3]"), "{around}");
    let listed = ben.client().get("/v1/team/history/sessions").ok();
    assert_eq!(listed["sessions"][0]["redacted"], 1, "{listed}");
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "{listed}");

    // The owner sees what is shared, and prompts have the original.
    let own = ann.client().get("/v1/sessions").ok();
    let shared = |id: &str| {
        let sessions = own["sessions"].as_array().unwrap();
        sessions.iter().find(|one| one["id"] == id).unwrap()["shared"].clone()
    };
    assert_eq!((shared(&session), shared(&early)), (json!(PROJECT), Value::Null));
    let listed = team.bethink(&ann, &["session", "ls"]).unwrap();
    assert_eq!(listed.matches("shared").count(), 1, "{listed}");
    let prompt = ann.client().post(&format!("/v1/sessions/{session}/context"), &json!({})).ok();
    assert!(prompt.to_string().contains(TOKEN));

    // A stranger finds nothing by any route.
    for path in ["/v1/team/history/sessions", "/v1/team/history/search?q=axle", "/v1/team/history"]
    {
        let answer = cid.client().get(path).ok();
        assert!(!answer.to_string().contains("mill"), "{answer}");
    }
    for path in ["", "/messages"] {
        let path = format!("/v1/team/history/sessions/{session}{path}");
        assert_eq!(cid.client().get(&path).status, 404);
    }
    let removal = Request::new("DELETE", &format!("/v1/team/history/sessions/{session}"));
    assert_eq!(cid.client().must(&removal).status, 404);
    assert_eq!(ben.client().must(&removal).status, 409);
    assert!(!tools(&cid).contains(&"search_team".to_owned()));
    assert!(tools(&ben).contains(&"search_team".to_owned()));

    // No table of the team has the secret.
    let dump = Command::new(team.world.server.program("pg_dump"))
        .args(["--schema", "bethink_team", "--inserts"])
        .arg(team.world.server.url("bethink", &team.database))
        .output()
        .unwrap();
    let dump = String::from_utf8(dump.stdout).unwrap();
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert!(dump.contains(&hex("tallow")) && !dump.contains(&hex(&TOKEN[..12])));
    assert!(!dump.to_lowercase().contains(&TOKEN[..12].to_lowercase()));

    // A removed colleague, and what is not shared any more.
    team.bethink(&ann, &["team", "history", "remove-member", "ben"]).unwrap();
    assert!(hits(&ben, "q=axle").is_empty());
    team.bethink(&ann, &["team", "history", "add-member", "ben", "--role", "reader"]).unwrap();
    assert!(!hits(&ben, "q=axle").is_empty());
    team.bethink(&ann, &["team", "history", "off", "--session", &session]).unwrap();
    assert!(hits(&ben, "q=axle").is_empty());
    team.bethink(&ann, &["team", "history", "on", "--session", &early]).unwrap();
    team.settled(&ann);
    assert_eq!(hits(&ben, "q=millstone").len(), 1);
    let told = team.bethink(&ann, &["team", "history", "off"]).unwrap();
    assert!(told.contains("1 copy was removed"), "{told}");
    assert!(hits(&ben, "q=millstone").is_empty());
    [ann, ben, cid].iter().for_each(Daemon::is_well);
}

#[test]
fn a_fork_is_shared_at_once_and_without_its_parent() {
    let team = Team::new();
    let ann = team.start("ann");
    team.create_tables(&ann);
    ann.client().post("/v1/team/history", &json!({ "project_dir": team.dir() })).ok();
    let parent = team.session(&ann);
    ann.append(&parent, &[say::user("the sluice is open")]);
    // Not with its state, because asking for that shares what is waiting.
    let shared = || {
        let listed = ann.client().get("/v1/team/history/sessions").ok();
        let sessions = listed["sessions"].as_array().unwrap().iter();
        sessions.map(|one| one["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let is_shared = |id: &str| shared().iter().any(|one| one == id).then_some(());
    until(PATIENCE, || is_shared(&parent)).expect("the session is shared");
    let fork = |id: &str| {
        let fork = ann.client().post(&format!("/v1/sessions/{id}/fork"), &json!({})).ok();
        fork["id"].as_str().unwrap().to_owned()
    };
    let first = fork(&parent);
    until(PATIENCE, || is_shared(&first)).expect("the fork is shared although nothing follows");

    let second = fork(&parent);
    ann.client().delete(&format!("/v1/sessions/{parent}")).ok();
    until(PATIENCE, || is_shared(&second)).expect("the fork is shared without its parent");
    let mut forks = [first, second];
    forks.sort_unstable();
    let mut left = shared();
    left.sort_unstable();
    assert_eq!(left, forks, "not the parent");
    ann.is_well();
}

#[test]
fn a_person_who_may_not_share_any_more_is_warned() {
    let team = Team::new();
    let [ann, ben] = ["ann", "ben"].map(|person| team.start(person));
    team.create_tables(&ann);
    let share = json!({ "project_dir": team.dir() });
    ann.client().post("/v1/team/history", &share).ok();
    team.bethink(&ann, &["team", "history", "add-member", "ben"]).unwrap();
    ben.client().post("/v1/team/history", &share).ok();
    team.bethink(&ann, &["team", "history", "remove-member", "ben"]).unwrap();
    ben.append(&team.session(&ben), &[say::user("the sluice is shut")]);
    // It may fail because of other checks.
    let told = || team.bethink(&ben, &["doctor", "--json"]).unwrap_or_else(|error| error);
    let is_told = || told().contains("ben is not a contributor").then_some(());
    assert!(until(PATIENCE, is_told).is_some(), "{}", told());
}

#[test]
fn a_history_in_another_schema_is_not_hidden_by_an_empty_one() {
    let team = Team::new();
    team.world.admin("CREATE ROLE dan LOGIN");
    team.world.admin(&format!("ALTER DATABASE {} OWNER TO dan", team.database));
    let mut dan = team.start("dan");
    let session = team.session(&dan);
    assert!(dan.terminate().success());
    team.sql("CREATE SCHEMA AUTHORIZATION dan");
    let refused = crate::exit(team.home("dan")).stderr;
    assert!(refused.contains("schema dan") && refused.contains("schema public"), "{refused}");
    team.sql(
        "DROP SCHEMA dan; ALTER SCHEMA public RENAME TO dan; ALTER SCHEMA dan OWNER TO dan; CREATE SCHEMA public",
    );
    dan.start();
    let shown = team.bethink(&dan, &["status"]).unwrap();
    assert!(shown.contains("(schema dan) at "), "{shown}");
    dan.client().get(&format!("/v1/sessions/{session}")).ok();
}

#[test]
fn each_message_is_shared_once_whatever_is_killed() {
    let team = Team::new();
    let [mut ann, bee] = [(); 2].map(|()| team.start("ann"));
    team.create_tables(&ann);
    let share = json!({ "project_dir": team.dir(), "all": true });
    ann.client().post("/v1/team/history", &share).ok();
    let sessions: Vec<String> = (0..4).map(|_| team.session(&ann)).collect();
    for round in 0..6 {
        for (number, session) in sessions.iter().enumerate() {
            // The other daemon learns that the project is shared, too.
            let daemon = if (round + number) % 2 == 0 { &ann } else { &bee };
            let texts: Vec<Value> =
                (0..40).map(|n| say::user(&format!("round {round} message {n}"))).collect();
            daemon.append(session, &texts);
        }
        ann.kill9();
        if round == 3 {
            team.world.server.crash();
            team.world.server.resume();
        }
        ann.start();
        let is_well = || (ann.client().get("/health").ok()["status"] == "ok").then_some(());
        until(PATIENCE, is_well).expect("the daemon heals by itself");
        let is_well = || (bee.client().get("/health").ok()["status"] == "ok").then_some(());
        until(PATIENCE, is_well).expect("the daemon heals by itself");
    }
    team.settled(&ann);
    for session in &sessions {
        let path = format!("/v1/team/history/sessions/{session}/messages?limit=1000");
        let page = ann.client().get(&path).ok();
        let seqs: Vec<u64> = page["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["seq"].as_u64().unwrap())
            .collect();
        assert_eq!(seqs, (1..=240).collect::<Vec<_>>(), "{session}");
    }
    let found = hits(&bee, "q=%22round+5+message+39%22&limit=50");
    assert_eq!(found.len(), 4, "{found:?}");
}

#[test]
fn what_is_not_recorded_or_held_is_not_shared() {
    let team = Team::new();
    let dir = team.dir();
    let ann = team.home("ann").with("BETHINK_TEAM__HISTORY_SECRETS", "hold").start();
    team.create_tables(&ann);
    ann.client().post("/v1/team/history", &json!({ "project_dir": dir })).ok();
    let session = team.session(&ann);
    ann.append(
        &session,
        &[say::user(&format!("the sluice token is {TOKEN}")), say::user("the sluice is shut")],
    );
    team.settled(&ann);
    let found = hits(&ann, "q=sluice");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["seq"], 2);

    // A project that was excluded later: nothing more of it leaves, although it is shared.
    ann.client().delete(&format!("/v1/team/history?project_dir={dir}")).ok();
    drop(ann);
    let excluded = team.home("ann").with("BETHINK_CAPTURE__EXCLUDE", &dir).start();
    let share = json!({ "project_dir": dir, "all": true });
    let shared = excluded.client().post("/v1/team/history", &share).ok();
    assert_eq!(shared["shared"][0]["waiting"], 1, "{shared}");
    assert!(
        shared["shared"][0]["problem"].as_str().unwrap().contains("capture.exclude"),
        "{shared}"
    );
    let other = json!({ "project_dir": "/elsewhere", "project": "elsewhere" });
    excluded.client().post("/v1/team/history", &other).ok();
    let elsewhere =
        excluded.client().post("/v1/sessions", &json!({ "project_dir": "/elsewhere" })).ok();
    excluded.append(elsewhere["id"].as_str().unwrap(), &[say::user("a sluice elsewhere")]);
    let copied = || (!hits(&excluded, "q=sluice").is_empty()).then_some(());
    until(PATIENCE, copied).expect("the other project is shared");
    let found = hits(&excluded, "q=sluice");
    assert!(found.iter().all(|hit| hit["project"] == "elsewhere"), "{found:?}");
}

#[test]
fn without_a_team_every_route_says_what_to_do() {
    let daemon = Home::new().start();
    let status = daemon.client().get("/v1/team/history").ok();
    assert!(status["problem"].as_str().unwrap().contains("[store] url"), "{status}");
    for path in ["search?q=axle", "sessions", "sessions/019aa8f2-1111-7aaa-8000-000000000001"] {
        let problem = daemon.client().get(&format!("/v1/team/history/{path}")).problem();
        assert!(problem["detail"].as_str().unwrap().contains("PostgreSQL"), "{problem}");
    }
    let share = json!({ "project_dir": "/mill" });
    let problem = daemon.client().post("/v1/team/history", &share).problem();
    assert_eq!(
        (&problem["type"], &problem["field"]),
        (&json!("invalid"), &json!("project")),
        "{problem}"
    );
    let share = json!({ "project_dir": "/mill", "project": "mill" });
    let problem = daemon.client().post("/v1/team/history", &share).problem();
    assert_eq!(problem["type"], "conflict", "{problem}");
    let session = daemon.session(200_000);
    let put = Request::new("PUT", &format!("/v1/sessions/{session}/sharing"))
        .json(&json!({ "shared": true }));
    assert_eq!(daemon.client().must(&put).problem()["type"], "conflict");
    daemon.is_well();
}
