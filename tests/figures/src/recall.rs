//! Measures recall: its speed with many topics compared with a scan of the files, and its quality on directories that
//! people made.
//!
//! A directory is tested with its own questions (`questions.txt`), or else with ours, if it has their topics.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bethink_harness::rng::Rng;
use bethink_harness::{Daemon, Home};
use bethink_memdir::{Name, header};
use bethink_recall::topics::select::select;
use bethink_recall::topics::{Card, Catalog, CatalogQuery, TopicId};
use memchr::memmem;
use serde_json::json;

use crate::ms;
use crate::table::{Goal, Row};

/// Questions about directories, without any text from them.
const LABELS: [&str; 2] =
    [include_str!("../labels/game-engine.txt"), include_str!("../labels/template.txt")];
const PICKS: usize = 5;

/// Numbers of topics, each with the goal for the median time in ms, with the encoder.
const SIZES: [(usize, f64); 2] = [(10_000, 10.0), (100_000, 10.0)];
const QUESTIONS: usize = 300;
/// Number of scans for the median. Scans are slow.
const SCANS: usize = 5;
/// Number of different words in topics.
const WORDS: u64 = 60_000;
const FOLDERS: usize = 100;
/// Time limit for reading a large directory for the first time.
const READING: Duration = Duration::from_secs(300);

pub fn rows(directories: &[PathBuf]) -> Vec<Row> {
    let mut rows: Vec<Row> = directories.iter().flat_map(|dir| quality(dir)).collect();
    rows.extend(SIZES.iter().flat_map(|(topics, most)| speed(*topics, *most)));
    rows
}

/// Goals for hits and for empty results, for the questions used to fit the constants (odd lines) and the others (even).
fn quality(dir: &Path) -> Vec<Row> {
    let (catalog, names) = load(dir);
    let Some(cases) = cases(dir, &names) else { return Vec::new() };
    let tally = |of: &dyn Fn(usize) -> bool| {
        let cases = cases.iter().enumerate().filter(|(line, _)| of(*line));
        cases.fold(Tally::default(), |tally, (_, case)| tally.and(&catalog, &names, case))
    };
    let (all, judged) = (tally(&|_| true), tally(&|line| line % 2 == 1));
    let of = dir.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
    let row = |what: &str,
               (part, whole): (usize, usize),
               judged: (usize, usize),
               least,
               missed: &[String]| {
        let detail = format!(
            "{part} of {whole}; judging half {} of {}; {}",
            judged.0,
            judged.1,
            missed.join("; ")
        );
        Row::new(format!("recall in {of}: {what}"), share(part, whole), "", Goal::AtLeast(least))
            .detail(detail)
    };
    let hits =
        row("hit among 5", (all.hits, all.asked), (judged.hits, judged.asked), 0.95, &all.missed);
    let refused = row(
        "refused where nothing fits",
        (all.refused, all.idle),
        (judged.refused, judged.idle),
        0.9,
        &all.told,
    );
    vec![hits, refused]
}

struct Case {
    question: String,
    /// The topics that are good answers; empty if none fits.
    fits: Vec<String>,
}

#[derive(Default)]
struct Tally {
    asked: usize,
    hits: usize,
    idle: usize,
    refused: usize,
    missed: Vec<String>,
    /// Questions for which a topic was returned although none fits.
    told: Vec<String>,
}

impl Tally {
    fn and(mut self, catalog: &Catalog, names: &[String], case: &Case) -> Self {
        let ask =
            CatalogQuery { question: &case.question, limit: PICKS, ..CatalogQuery::default() };
        let picks = select(catalog, &ask);
        let picked: Vec<&str> = picks.iter().map(|p| names[p.id.0 as usize].as_str()).collect();
        let good = match case.fits.is_empty() {
            true => picked.is_empty(),
            false => picked.iter().any(|name| case.fits.iter().any(|fit| fit == name)),
        };
        match case.fits.is_empty() {
            true => (self.idle, self.refused) = (self.idle + 1, self.refused + usize::from(good)),
            false => (self.asked, self.hits) = (self.asked + 1, self.hits + usize::from(good)),
        }
        if !good {
            self.missed.push(format!("{:?} wants {:?}, got {picked:?}", case.question, case.fits));
        }
        self
    }
}

/// Returns the directory's own questions, or those of ours about its topics.
fn cases(dir: &Path, names: &[String]) -> Option<Vec<Case>> {
    let own = fs::read_to_string(dir.join("questions.txt")).ok();
    let texts = own.into_iter().chain(LABELS.iter().map(|text| (*text).to_owned()));
    texts.map(|text| read(&text)).find(|cases| {
        let fits: HashSet<&String> = cases.iter().flat_map(|case| &case.fits).collect();
        fits.iter().all(|fit| names.contains(fit))
    })
}

fn read(text: &str) -> Vec<Case> {
    let lines = text.lines().filter_map(|line| line.rsplit_once(" | "));
    let lines = lines.filter(|(question, _)| !question.starts_with('#'));
    let fits = |list: &str| list.split(", ").filter(|f| *f != "-").map(str::to_owned).collect();
    lines.map(|(question, list)| Case { question: question.to_owned(), fits: fits(list) }).collect()
}

/// Reads the topics of a directory, with their names.
pub(crate) fn load(dir: &Path) -> (Catalog, Vec<String>) {
    let mut catalog = Catalog::default();
    let mut names = Vec::new();
    for path in markdown(dir) {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let name = path.strip_prefix(dir).unwrap_or(&path).with_extension("");
        let Ok(name) = Name::parse(&name.to_string_lossy()) else { continue };
        let topic = header::read(&text);
        let description = topic.header.described(topic.body);
        let card = Card {
            name: name.as_str(),
            title: topic.header.name.as_deref().unwrap_or_default(),
            description: &description,
        };
        catalog.put(TopicId(names.len() as u32), &card, topic.body);
        names.push(name.to_string());
    }
    catalog.settle();
    (catalog, names)
}

pub(crate) fn markdown(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(markdown(&path));
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Measures recall in a warm daemon, and a search for the same words in all files.
fn speed(topics: usize, most: f64) -> Vec<Row> {
    let home = Home::new();
    let project = home.scratch().join("app");
    fs::create_dir_all(&project).expect("a project");
    let daemon = home.start();
    let ask = |query: &str| {
        let body = json!({ "project_dir": project, "query": query });
        // The first recall reads all topics.
        daemon.client().patient(READING).post("/v1/recall", &body).ok()
    };
    let path = format!("/v1/memories/index?project_dir={}", project.display());
    let index = daemon.client().get(&path).ok();
    let dir = PathBuf::from(index["dir"].as_str().expect("a directory"));
    let rng = &mut Rng::new(topics as u64);
    let (bytes, described) = write(&dir, topics, rng);
    let begun = Instant::now();
    assert_eq!(ask("word")["searched"].as_u64(), Some(topics as u64), "all topics are read");
    let reading = begun.elapsed();

    let (wanted, questions): (Vec<&str>, Vec<String>) =
        (0..QUESTIONS).map(|_| question(&described, rng)).unzip();
    let (times, found) = timed(&daemon, &project, &questions);
    let hits = found
        .iter()
        .zip(&wanted)
        .filter(|(found, wanted)| found.iter().any(|name| name == *wanted));
    let hits = hits.count() as f64 / QUESTIONS as f64;
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1e3;
    let scan = scanned(&markdown(&dir), &questions[..SCANS]);
    let detail = format!(
        "{QUESTIONS} questions through HTTP, worst {:.1} ms; {:.0} MB of text, first read in {:.1} s, daemon {}",
        at(100),
        bytes as f64 / 1e6,
        reading.as_secs_f64(),
        memory(&daemon),
    );
    let ratio = scan.as_secs_f64() * 1e3 / at(50);
    vec![
        Row::new(format!("recall among {topics} topics, p50"), at(50), "ms", Goal::AtMost(most))
            .detail(detail),
        Row::new(format!("recall among {topics} topics, p95"), at(95), "ms", Goal::None),
        Row::new(
            format!("recall among {topics} topics, found among 5"),
            hits,
            "",
            Goal::AtLeast(0.95),
        )
        .detail("three to six words of a description"),
        Row::new(
            format!("times faster than a scan of {topics} files"),
            ratio,
            "×",
            Goal::AtLeast(20.0),
        )
        .detail(format!("two threads read and search all files in {}", ms(scan))),
    ]
}

/// Returns the times, in ascending order, and the names of the topics that each question found.
fn timed(
    daemon: &Daemon,
    project: &Path,
    questions: &[String],
) -> (Vec<Duration>, Vec<Vec<String>>) {
    let mut client = daemon.client();
    let asked = questions.iter().map(|query| {
        let body = json!({ "project_dir": project, "query": query });
        let begun = Instant::now();
        let answer = client.post("/v1/recall", &body).ok();
        let time = begun.elapsed();
        let memories = answer["memories"].as_array().into_iter().flatten();
        (time, memories.filter_map(|memory| memory["name"].as_str().map(str::to_owned)).collect())
    });
    let (mut times, found): (Vec<Duration>, Vec<Vec<String>>) = asked.unzip();
    times.sort();
    (times, found)
}

/// Returns the median time of searching all files for each word of a question, ignoring case.
fn scanned(files: &[PathBuf], questions: &[String]) -> Duration {
    let mut times: Vec<Duration> = questions
        .iter()
        .map(|question| {
            let begun = Instant::now();
            let (left, right) = files.split_at(files.len() / 2);
            let found: usize = std::thread::scope(|scope| {
                let halves = [left, right].map(|half| scope.spawn(|| scan(half, question)));
                halves.into_iter().map(|half| half.join().unwrap_or(0)).sum()
            });
            assert!(found <= files.len());
            begun.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

fn scan(files: &[PathBuf], question: &str) -> usize {
    let words: Vec<memmem::Finder<'_>> =
        question.split(' ').filter(|word| word.len() > 3).map(memmem::Finder::new).collect();
    let holds = |file: &&PathBuf| {
        let mut text = fs::read(file).unwrap_or_default();
        text.make_ascii_lowercase();
        words.iter().any(|word| word.find(&text).is_some())
    };
    files.iter().filter(holds).count()
}

/// Writes topics of 1 to 2 kB into a few folders, and returns their total size, and the name and description of each.
fn write(dir: &Path, topics: usize, rng: &mut Rng) -> (u64, Vec<(String, String)>) {
    let (mut bytes, mut described) = (0, Vec::with_capacity(topics));
    for n in 0..topics {
        let folder = dir.join(format!("f{}", n % FOLDERS));
        if n < FOLDERS {
            fs::create_dir_all(&folder).expect("a folder");
        }
        let words = |rng: &mut Rng, count: u64| -> String {
            (0..count).map(|_| word(rng)).collect::<Vec<_>>().join(" ")
        };
        let (title, about) = (words(rng, 3), words(rng, 9));
        let mut text = format!("---\nname: {title}\ndescription: {about}\ntype: project\n---\n");
        for _ in 0..4 + rng.below(5) {
            let count = 20 + rng.draw() % 20;
            text.push_str(&format!("\n{}.\n", words(rng, count)));
        }
        bytes += text.len() as u64;
        fs::write(folder.join(format!("t{n}.md")), text).expect("a topic");
        described.push((format!("f{}/t{n}", n % FOLDERS), about));
    }
    (bytes, described)
}

/// Makes a question of three to six words of a topic's description, and returns the topic's name with it.
fn question<'a>(described: &'a [(String, String)], rng: &mut Rng) -> (&'a str, String) {
    let (name, about) = &described[(rng.draw() % described.len() as u64) as usize];
    let mut words: Vec<&str> = about.split(' ').collect();
    let count = 3 + (rng.draw() % 4) as usize;
    while words.len() > count {
        words.swap_remove((rng.draw() % words.len() as u64) as usize);
    }
    (name, format!("how does the {}", words.join(" ")))
}

/// Draws a word; the n-th word is used about 1/n as often as the first.
fn word(rng: &mut Rng) -> String {
    let share = (rng.draw() % 1_000_000) as f64 / 1e6;
    let rank = (WORDS as f64).powf(share) as u64;
    let mut word = String::new();
    let mut rest = rank.wrapping_mul(0x9E37_79B9) % 0xFFFF_FFFF;
    // Made of syllables, so that it is stemmed like a real word.
    for _ in 0..3 {
        word.push(char::from(b"bdfgklmnprstvz"[(rest % 14) as usize]));
        rest /= 14;
        word.push(char::from(b"aeiou"[(rest % 5) as usize]));
        rest /= 5;
    }
    word
}

fn memory(daemon: &Daemon) -> String {
    let status = daemon.pid().map(|pid| fs::read_to_string(format!("/proc/{pid}/status")));
    let status = status.and_then(Result::ok).unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    resident.map_or_else(|| "of unknown size".to_owned(), |size| format!("holds {}", size.trim()))
}
