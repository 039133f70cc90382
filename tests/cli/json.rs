//! `--json` of every command: which keys it prints. docs/json.md promises that none is removed.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use clap::Command;
use serde_json::Value;

use crate::terminal::Terminal;

/// Commands in the order in which they are run, each with the result of those before it.
const RUNS: [&str; 73] = [
    "up",
    "up --install --dry-run",
    "demo",
    "replay DEMO --window 40000",
    "import PLAIN",
    "export --output copy.jsonl",
    "session new --title one --tag a",
    "session tag last b",
    "session rename last two",
    "session show",
    "session ls --all",
    "session fork REPLAYED",
    "session handover REPLAYED",
    "continue codex --session REPLAYED",
    "session rm FORK --yes",
    "history --session REPLAYED -n 40",
    "history --session REPLAYED -m 1",
    "history --session REPLAYED -m 1 --line-range 1..",
    "search monotonic clock --session REPLAYED",
    "search --rebuild --session REPLAYED",
    "notes show --session REPLAYED",
    "notes update --session REPLAYED",
    "todo --session REPLAYED",
    "context --session REPLAYED",
    "compactions --session REPLAYED",
    "expand --session REPLAYED",
    "undo --session REPLAYED",
    "compact --session REPLAYED",
    "collapses --session REPLAYED",
    "remember Never mock the database --name mocks",
    "memory add fog --from TOPIC",
    "memory edit fog",
    "memory ls",
    "memory show fog",
    "memory history fog",
    "memory index",
    "memory restore fog",
    "memory search mock",
    "memory export archive",
    "memory import archive",
    "memory rm fog",
    "memory lint",
    "memory rebuild",
    "memory extract --from-start --session REPLAYED",
    "memory mv mocks --me",
    "memory candidates --all",
    "memory forget REPLAYED",
    "recall mock database",
    "recall check",
    "dream",
    "instructions",
    "instructions approve ../RULES.md",
    "instructions revoke ../RULES.md",
    "team init --dir shared",
    "team status",
    "team history status",
    "team history setup",
    "team proposals",
    "config list",
    "config set memory.layout claude",
    "config get memory.layout",
    "config path",
    "install codex",
    "install --dry-run",
    "uninstall codex",
    "gateway",
    "dashboard",
    "token rotate",
    "pause --for 1h",
    "resume",
    "usage",
    "upgrade",
    "doctor",
];
/// Run after the others: they end the daemon, or need none.
const LAST: [&str; 6] =
    ["logs", "completions bash", "status", "down", "store check", "store copy ../home ../copy"];
/// An editor that adds a line.
const EDITOR: [(&str, &str); 1] = [("EDITOR", "printf 'And wide.\\n' >>")];
const NEEDS_DATABASE: &str =
    "it needs a PostgreSQL database: see `team_history` in `tests/postgres`";
/// Commands that are not run, and why.
const NOT_RUN: [(&str, &str); 18] = [
    ("hook", "it answers in an agent's format, not in ours"),
    ("mcp", "it speaks JSON-RPC with an agent"),
    ("notes edit", "it prints nothing"),
    ("team sync", "it needs a remote; `team init` prints the same schema"),
    ("memory share", "it makes a proposal once, which `team proposals` shows"),
    ("team resolve", "it needs a conflict, which only two people can make"),
    ("team drop", "it needs a remote; `team init` prints the same schema"),
    ("memory candidates keep", "it needs a candidate, which the demo has none of"),
    ("memory candidates drop", "it needs a candidate, which the demo has none of"),
    ("team history on", NEEDS_DATABASE),
    ("team history off", NEEDS_DATABASE),
    ("team history ls", NEEDS_DATABASE),
    ("team history show", NEEDS_DATABASE),
    ("team history rm", NEEDS_DATABASE),
    ("team history add-member", NEEDS_DATABASE),
    ("team history remove-member", NEEDS_DATABASE),
    ("team approve", "it needs a proposal, which only an agent can make"),
    ("team reject", "it needs a proposal, which only an agent can make"),
];

/// Keys that depend on how far the background work was, and are therefore not compared.
const SOMETIMES: [&str; 3] = ["attempts", "hindsight", "warning"];

#[test]
fn keys() {
    let terminal = Terminal::new();
    let dir = terminal.path();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/cli/assets/demo.jsonl");
    let project = dir.join("project");
    fs::create_dir(&project).unwrap();
    fs::write(dir.join("RULES.md"), "Use tabs.\n").unwrap();
    fs::write(project.join("CLAUDE.md"), "@../RULES.md\n").unwrap();
    fs::write(project.join("topic.md"), "Far.\n").unwrap();
    let mut names = vec![
        ("DEMO", demo.display().to_string()),
        ("PLAIN", fixtures.join("plain.jsonl").display().to_string()),
        ("TOPIC", "topic.md".to_owned()),
    ];
    let mut text = String::new();
    for line in RUNS.iter().chain(&LAST) {
        let mut words: Vec<&str> = line.split(' ').collect();
        for word in &mut words {
            if let Some((_, value)) = names.iter().find(|(name, _)| name == word) {
                *word = value;
            }
        }
        words.push("--json");
        let ended = terminal.run_in_with(&project, &words, &EDITOR);
        assert_eq!(ended.code, 0, "{line}: {ended:?}");
        let values: Vec<Value> = serde_json::Deserializer::from_str(&ended.out)
            .into_iter()
            .collect::<Result<_, _>>()
            .unwrap_or_else(|error| panic!("{line}: {error}: {}", ended.out));
        assert!(!values.is_empty(), "{line}: {ended:?}");
        match *line {
            "replay DEMO --window 40000" => names.push(("REPLAYED", id(&values[0]["session_id"]))),
            "session fork REPLAYED" => names.push(("FORK", id(&values[0]["id"]))),
            _ => {}
        }
        let mut paths = BTreeSet::new();
        values.iter().for_each(|value| add_paths(value, "", &mut paths));
        let _ = writeln!(text, "# {line}");
        text.extend(paths.into_iter().map(|path| path + "\n"));
    }
    let refused = terminal.run_in(&project, &["session", "show", "zzz", "--json"]);
    let mut paths = BTreeSet::new();
    add_paths(&serde_json::from_str(&refused.err).unwrap(), "", &mut paths);
    let _ = writeln!(text, "# an error");
    text.extend(paths.into_iter().map(|path| path + "\n"));
    insta::assert_snapshot!(text);
}

#[test]
fn every_command_is_run_and_documented() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let page = fs::read_to_string(page).unwrap();
    let mut missing = Vec::new();
    for path in commands(&bethink_cli::command(), "") {
        let begins = |line: &&str| format!("{line} ").starts_with(&format!("{path} "));
        let is_run = RUNS.iter().chain(&LAST).any(begins);
        let is_exempt = NOT_RUN.iter().any(|(name, _)| *name == path);
        if is_run == is_exempt {
            missing.push(format!("{path} is not run"));
        }
        // The page groups commands: `session new`, `show`, …
        let last = path.rsplit(' ').next().unwrap_or_default();
        if !page.contains(&format!("`{path}`")) && !page.contains(&format!("`{last}`")) {
            missing.push(format!("{path} is not in docs/json.md"));
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// The commands that do something, each with the names of those above it.
fn commands(command: &Command, above: &str) -> Vec<String> {
    let mut all = Vec::new();
    for one in command.get_subcommands() {
        let path = format!("{above}{}", one.get_name());
        all.extend(commands(one, &format!("{path} ")));
        if !one.is_subcommand_required_set() {
            all.push(path);
        }
    }
    all
}

fn id(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Adds the path of each key. A stored message is the client's own.
fn add_paths(value: &Value, path: &str, paths: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members.iter().filter(|(key, _)| !SOMETIMES.contains(&key.as_str()))
            {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                if key != "message" {
                    add_paths(value, &path, paths);
                }
                paths.insert(path);
            }
        }
        Value::Array(items) => {
            items.iter().for_each(|item| add_paths(item, &format!("{path}[]"), paths));
        }
        _ => {}
    }
}
