//! Measures what questions find in memory directories that people made, with labelled questions.
//!
//! The data is a directory with `recall/*.json` (labelled questions, each file with the memory directory that they are about),
//! `sessions/*.jsonl` (prompts that other projects' memories do not answer) and `locomo/*.json` (conversations). A file of
//! questions is `{"dir", "questions": [{"kind", "q", "expect": [file, …]}]}`, where `kind` is `normal` (in the topic's own
//! words), `paraphrase` (in other words) or `none` (nothing answers it).

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bethink_harness::{Client, Daemon, until};
use bethink_memdir::header;
use bethink_recall::topics::CatalogQuery;
use bethink_recall::topics::select::nearest;
use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};

use crate::recall::{load, markdown};
use crate::table::{Goal, Row};
use crate::talk::Sums;
use crate::{extraction, median, memory, ranking};

/// Number of a hit's place that still counts.
const PLACES: usize = 5;
/// The encoder counts as unused after this time.
const UNUSED: Duration = Duration::from_secs(60);
/// Time limit until the daemon lists copied topics.
const PATIENCE: Duration = Duration::from_secs(30);
const QUESTIONS: usize = 200;

/// Numbers of questions that were answered as they should be, and of all.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    right: usize,
    all: usize,
}

impl Tally {
    fn count(&mut self, is_right: bool) {
        self.right += usize::from(is_right);
        self.all += 1;
    }

    fn row(self, what: &str, least: f64) -> Row {
        let share = self.right as f64 / self.all.max(1) as f64;
        Row::new(what, share, "", Goal::AtLeast(least))
            .detail(format!("{} of {}", self.right, self.all))
    }
}

pub fn rows(data: &Path) -> Vec<Row> {
    let sets: Vec<(PathBuf, Value)> =
        files(&data.join("recall"), "json").iter().map(|file| labelled(file)).collect();
    let (mut own, mut other, mut none, mut foreign) = <[Tally; 4]>::default().into();
    let prompts = prompts(data);
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    for (dir, set) in &sets {
        let project = lay(&mut client, dir);
        for asked in set["questions"].as_array().into_iter().flatten() {
            let question = asked["q"].as_str().unwrap_or_default();
            let expected: Vec<&str> =
                asked["expect"].as_array().into_iter().flatten().filter_map(stem_of).collect();
            let names = ask(&mut client, project.path(), question, "asked");
            let is_found = names.iter().take(PLACES).any(|name| expected.contains(&name.as_str()));
            match asked["kind"].as_str() {
                Some("normal") => own.count(is_found),
                Some("paraphrase") => other.count(is_found),
                _ => {
                    none.count(ask(&mut client, project.path(), question, "injected").is_empty());
                }
            }
        }
        for prompt in &prompts {
            foreign.count(ask(&mut client, project.path(), prompt, "injected").is_empty());
        }
    }
    let mut rows = vec![
        own.row("asked in the topic's words: found among 5", 0.98),
        other.row("asked in other words: found among 5", 0.6),
        none.row("injected: refused where nothing answers", 0.97),
        foreign.row("injected: prompts of other projects refused", 0.95),
    ];
    let _ = until(UNUSED, || None::<()>);
    let resident = memory::resident(&daemon);
    rows.push(Row::new("memory, encoder unused for a minute", resident, "MB", Goal::AtMost(25.0)));
    rows.push(beside_fts5(&sets));
    rows.extend(conversations(data));
    rows
}

fn labelled(file: &Path) -> (PathBuf, Value) {
    let text = fs::read_to_string(file).expect("labelled questions");
    let set: Value = serde_json::from_str(&text).expect("labelled questions");
    let dir = set["dir"].as_str().expect("a directory");
    (file.parent().expect("a directory").join(dir), set)
}

fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        entries.filter(|file| file.extension().is_some_and(|own| own == ending)).collect();
    files.sort();
    files
}

/// Returns what users said in recorded sessions.
fn prompts(data: &Path) -> Vec<String> {
    let sessions = files(&data.join("sessions"), "jsonl");
    let said = sessions.iter().flat_map(|file| extraction::statements_of(file));
    said.map(|statement| statement.text.to_string()).collect()
}

/// Copies a memory directory into a new project's memory, and waits until the daemon lists its topics.
fn lay(client: &mut Client, dir: &Path) -> tempfile::TempDir {
    let project = tempfile::tempdir().expect("a project");
    let at = project.path().display();
    let index = client.get(&format!("/v1/memories/index?project_dir={at}")).ok();
    let memory = PathBuf::from(index["dir"].as_str().expect("a directory"));
    fs::create_dir_all(&memory).expect("a directory");
    let topics = files(dir, "md");
    for file in &topics {
        fs::copy(file, memory.join(file.file_name().expect("a name"))).expect("a topic");
    }
    let expected = topics.iter().filter(|file| !file.ends_with("MEMORY.md")).count();
    until(PATIENCE, || {
        let listed = client.get(&format!("/v1/memories?project_dir={at}&limit=500")).ok();
        (listed["memories"].as_array()?.len() >= expected).then_some(())
    });
    project
}

fn ask(client: &mut Client, project: &Path, query: &str, manner: &str) -> Vec<String> {
    if query.trim().is_empty() {
        return Vec::new();
    }
    let body = json!({ "project_dir": project, "query": query, "manner": manner });
    let answer = client.post("/v1/recall", &body).ok();
    let found = answer["memories"].as_array().into_iter().flatten();
    found.filter_map(|memory| memory["name"].as_str().map(str::to_owned)).collect()
}

fn stem_of(name: &Value) -> Option<&str> {
    let name = name.as_str()?;
    Some(name.strip_suffix(".md").unwrap_or(name))
}

/// Compares the time of a search in the catalog with one in SQLite's FTS5, both without HTTP and by words alone.
fn beside_fts5(sets: &[(PathBuf, Value)]) -> Row {
    let mut times: [Vec<Duration>; 2] = Default::default();
    for (dir, _) in sets {
        let (catalog, _) = load(dir);
        let questions = own_words(dir);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let fts5 = runtime.block_on(times_of_fts5(dir, &questions));
        times[1].extend(fts5);
        for question in &questions {
            let ask = CatalogQuery { question, limit: PLACES, ..CatalogQuery::default() };
            let begun = Instant::now();
            let picks = nearest(&catalog, &ask, &[]);
            times[0].push(begun.elapsed());
            assert!(!picks.is_empty(), "{question}");
        }
    }
    let [ours, theirs] = times.map(|times| median(&times).as_secs_f64() * 1e3);
    Row::new("search in the catalog against FTS5, p50", ours / theirs, "×", Goal::AtMost(1.5))
        .detail(format!("{ours:.3} ms against {theirs:.3} ms, without HTTP, by words alone"))
}

/// Returns questions that consist of words of the descriptions.
fn own_words(dir: &Path) -> Vec<String> {
    let mut questions = Vec::new();
    for file in markdown(dir) {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let described = header::read(&text).header.description.unwrap_or_default();
        let words: Vec<&str> = described
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.len() > 3)
            .take(5)
            .collect();
        if words.len() > 2 {
            questions.push(words.join(" "));
        }
    }
    questions.truncate(QUESTIONS);
    questions
}

async fn times_of_fts5(dir: &Path, questions: &[String]) -> Vec<Duration> {
    let mut db = SqliteConnection::connect("sqlite::memory:").await.expect("SQLite");
    let create = "CREATE VIRTUAL TABLE t USING fts5(name, body, tokenize = 'porter unicode61')";
    sqlx::query(create).execute(&mut db).await.expect("a table");
    for file in markdown(dir) {
        sqlx::query("INSERT INTO t VALUES (?, ?)")
            .bind(file.display().to_string())
            .bind(fs::read_to_string(&file).unwrap_or_default())
            .execute(&mut db)
            .await
            .expect("a row");
    }
    let mut times = Vec::new();
    for question in questions {
        let words: Vec<String> = question.split(' ').map(|word| format!("\"{word}\"")).collect();
        let begun = Instant::now();
        let rows = sqlx::query("SELECT name FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT 5")
            .bind(words.join(" OR "))
            .fetch_all(&mut db)
            .await;
        assert!(!rows.expect("an answer").is_empty());
        times.push(begun.elapsed());
    }
    times
}

fn conversations(data: &Path) -> Vec<Row> {
    let files = files(&data.join("locomo"), "json");
    let talks: Vec<_> = files.iter().flat_map(|file| crate::talk::load(file)).collect();
    let mut sums = Sums::default();
    talks.iter().for_each(|talk| sums.add(&talk.judged(&bethink_recall::Weights::default())));
    let goals = [0.88, 0.85, 0.68].map(Goal::AtLeast);
    ranking::rows_of("of history as shipped", &sums, goals, String::new())
}
