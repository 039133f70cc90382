//! The official clients, against both transports. A table at the end says which of them passed what.

use std::path::PathBuf;
use std::thread;

use bethink_harness::daemon::binary;
use bethink_harness::say;
use bethink_test_clients::{Installed, Kit, Script, kit};
use serde_json::{Value, json};

use crate::desk::Desk;
use crate::door;

/// Scenarios of the conformance suite for any server.
const CONFORMANCE: &[&str] = &[
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
];
/// Those for a server made for the suite, and why they say nothing of this one.
const NOT_APPLICABLE: &[(&str, &str)] = &[
    (
        "tools-call-*, json-schema-2020-12, server-sse-polling",
        "call tools of the suite's own server",
    ),
    ("resources-read-*, resources-templates-read", "read resources of the suite's own server"),
    ("prompts-get-*", "get prompts of the suite's own server"),
    ("server-sse-multiple-streams", "an answer is one JSON message, and no session is kept"),
    ("elicitation-*", "asks nothing of a client's user"),
    ("resources-subscribe, resources-unsubscribe", "no subscriptions are offered"),
    ("logging-set-level, completion-complete", "neither logging nor completion is offered"),
];

/// What a client did, one line each.
#[derive(Debug, Default)]
struct Table(Vec<[String; 4]>);

impl Table {
    fn row(&mut self, client: &str, transport: &str, what: &str, came: &str) {
        self.0.push([client, transport, what, came].map(str::to_owned));
    }

    fn print(&self) {
        for [client, transport, what, came] in &self.0 {
            println!("{client:<22} {transport:<6} {what:<58} {came}");
        }
    }
}

fn script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp").join(name)
}

fn furnished() -> (Desk, String) {
    let desk = Desk::new();
    desk.put(
        "fog",
        "---\ndescription: How far one sees in the fog\n---\nThe fog ends at 800 metres.\n",
    );
    let session = desk.session();
    desk.daemon
        .append(&session, &[say::user("The tide gauge is wrong."), say::assistant("I mend it.")]);
    (desk, session)
}

/// Most of its time is the clients' own start, once for each thing that a command line can be asked for; the groups
/// run beside each other.
#[test]
fn the_official_clients_pass() {
    let (python, node) = (kit(Kit::Python), kit(Kit::Node));
    let mut table = Table::default();
    thread::scope(|scope| {
        let group = |kit: &Option<Installed>, run: fn(&Installed) -> Table| {
            let kit = kit.clone();
            scope.spawn(move || kit.map(|kit| run(&kit)).unwrap_or_default())
        };
        let groups =
            [group(&python, official_python), group(&node, inspector), group(&node, conformance)];
        for group in groups {
            table.0.extend(group.join().unwrap().0);
        }
    });
    table.print();
    let is_good = |came: &str| came.starts_with("passed") || came.starts_with("n/a");
    let bad: Vec<_> = table.0.iter().filter(|[.., came]| !is_good(came)).collect();
    assert!(bad.is_empty(), "{bad:#?}");
}

/// Its script prints one JSON line for each thing it tried.
fn official_python(python: &Installed) -> Table {
    let mut table = Table::default();
    for transport in ["http", "stdio"] {
        for mode in ["legacy", "auto"] {
            let (desk, session) = furnished();
            let ran = python
                .script("python")
                .arg(script("client.py"))
                .arg(transport)
                .arg(mode)
                .env("BASE", format!("http://{}", desk.daemon.addr()))
                .env("TOKEN", desk.daemon.token())
                .env("PROJECT", desk.project())
                .env("SESSION", &session)
                .env("BETHINK", binary("bethink"))
                .env("BETHINK_HOME", desk.daemon.home.path())
                .run();
            let lines =
                ran.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let mut count = 0;
            for line in lines {
                count += 1;
                let what = format!("{mode}: {}", line["what"].as_str().unwrap_or("?"));
                table.row(
                    "python mcp 2.3.0",
                    transport,
                    &what,
                    line["came"].as_str().unwrap_or("?"),
                );
            }
            if !ran.status.success() || count < 10 {
                let end: String = ran
                    .stderr
                    .chars()
                    .rev()
                    .take(1_500)
                    .collect::<Vec<_>>()
                    .into_iter()
                    .rev()
                    .collect();
                table.row(
                    "python mcp 2.3.0",
                    transport,
                    mode,
                    &format!("broke off: {}\n{end}", ran.status),
                );
            }
        }
    }
    table
}

fn inspector(node: &Installed) -> Table {
    let mut table = Table::default();
    let (desk, _) = furnished();
    let url = format!("http://{}/mcp", desk.daemon.addr());
    let (token, project) = (
        format!("Authorization: Bearer {}", desk.daemon.token()),
        format!("X-Bethink-Project: {}", desk.project()),
    );
    let home = format!("BETHINK_HOME={}", desk.daemon.home.path().display());
    let bethink = binary("bethink").display().to_string();
    let asked: [(&str, &[&str], &str); 6] = [
        ("tools/list", &[], "search_history"),
        (
            "tools/call",
            &["--tool-name", "recall", "--tool-arg", "query=How far is the fog?"],
            "800 metres",
        ),
        ("resources/list", &[], "bethink://memory/private/fog"),
        ("resources/read", &["--uri", "bethink://memory/private/fog"], "800 metres"),
        ("prompts/list", &[], "handover"),
        ("prompts/get", &["--prompt-name", "recall", "--prompt-args", "query=fog"], "800 metres"),
    ];
    for (method, arguments, expect) in asked {
        let http = ["--cli", &url, "--transport", "http", "--header", &token, "--header", &project];
        let stdio = ["--cli", &bethink, "mcp", "--project", desk.project(), "-e", &home];
        for (transport, target) in [("http", &http[..]), ("stdio", &stdio[..])] {
            let asks = ["--method", method];
            let run = target.iter().chain(&asks).chain(arguments);
            let run = run.fold(node.script("mcp-inspector"), Script::arg);
            let ran = run.env("HOME", desk.daemon.home.scratch()).dir(&desk.project).run();
            let came = match ran.status.success() && ran.stdout.contains(expect) {
                true => "passed".to_owned(),
                false => format!("failed: {}\n{}\n{}", ran.status, ran.stdout, ran.stderr),
            };
            table.row("inspector 2.12.0 --cli", transport, method, &came);
        }
    }
    table
}

fn conformance(node: &Installed) -> Table {
    let mut table = Table::default();
    let (desk, _) = furnished();
    let door = door::open(desk.daemon.addr(), desk.daemon.token(), desk.project());
    let url = format!("http://{door}/mcp");
    for scenario in CONFORMANCE {
        let ran = ["server", "--url", &url, "--scenario", scenario]
            .iter()
            .fold(node.script("conformance"), Script::arg)
            .dir(desk.daemon.home.scratch())
            .run();
        let said = ran.stdout.lines().rev().find(|line| line.contains("assed")).unwrap_or_default();
        let came = match ran.status.success() {
            true => format!("passed ({})", said.trim()),
            false => format!("failed: {}\n{}\n{}", ran.status, ran.stdout, ran.stderr),
        };
        table.row("conformance 0.1.16", "http", scenario, &came);
    }
    for (scenarios, why) in NOT_APPLICABLE {
        table.row("conformance 0.1.16", "http", scenarios, &format!("n/a: {why}"));
    }
    table.row("conformance 0.1.16", "stdio", "all", "n/a: the suite speaks HTTP to servers");
    table
}

/// The suite's own scenarios, so that a new version of it does not go by unseen.
#[test]
fn every_scenario_is_run_or_named() {
    let Some(node) = kit(Kit::Node) else { return };
    let listed = node.script("conformance").arg("list").arg("--server").run().good().stdout;
    let known = |name: &str| {
        CONFORMANCE.contains(&name)
            || NOT_APPLICABLE.iter().flat_map(|(names, _)| names.split(", ")).any(|one| {
                one == name || one.strip_suffix('*').is_some_and(|start| name.starts_with(start))
            })
    };
    let names = listed.lines().filter_map(|line| line.trim().strip_prefix("- "));
    let names = names.map(|name| name.split_whitespace().next().unwrap_or_default());
    let unknown: Vec<_> = names.filter(|name| !known(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}\n{}", json!(listed));
}
