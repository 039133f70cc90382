//! Measures memory directories: how soon a large one is indexed and a change is noticed, whether links can lead out of
//! one, and whether saves are lost.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use bethink_harness::door::HttpDoor;
use bethink_harness::saves::{self, Size};
use bethink_harness::swaps;
use bethink_harness::wait::until;
use bethink_harness::{Daemon, Rng};
use bethink_memdir::{Hash, Scope};
use bethink_memdir_fs::{Follow, MemoryRoot};
use serde_json::Value;

use crate::held::Held;
use crate::table::{Goal, Row};
use crate::{median, ms, timed};

const FILES: usize = 10_000;
const EVENTS: usize = 20_000;
const NOTICED: usize = 30;
const RACES: u64 = 1_000_000;
const WRITERS: Size = Size { files: 50, writers: 20, edits: 2_000, git: true };
/// Time limit for a measurement.
const MOST: Duration = Duration::from_secs(120);

/// Measures a large directory in a daemon.
pub fn rows(seed: u64) -> Vec<Row> {
    let (daemon, project, dir) = place();
    fill(&dir);
    let (bare, ()) = timed(|| read_all(&dir));
    let (indexed, topics) = timed(|| index(&daemon, &project)["topics"].as_u64());
    assert_eq!(topics, Some(FILES as u64));
    let times = notice(&daemon, &project, &dir);
    let worst = times.iter().max().copied().unwrap_or_default();
    let mut rng = Rng::new(seed);
    let begun = Instant::now();
    for event in 0..EVENTS {
        happen(&dir, event, &mut rng);
    }
    let took = begun.elapsed();
    // The daemon reads the directory meanwhile, so the time is measured from here.
    let quiet = Instant::now();
    let disk = on_disk(&dir);
    let equal = until(MOST, || (listed(&daemon, &project) == disk).then_some(()));
    let caught_up = quiet.elapsed();
    assert!(equal.is_some(), "the daemon never saw what is on the disk");
    let seconds = |time: Duration| time.as_secs_f64();
    vec![
        Row::new("10,000 files listed, read and hashed", seconds(bare), "s", Goal::None)
            .detail("one thread, without a daemon"),
        Row::new(
            "10,000 files indexed by a daemon from nothing",
            seconds(indexed),
            "s",
            Goal::AtMost(3.0),
        ),
        Row::new(
            "one change among 10,000 files noticed, worst",
            seconds(worst),
            "s",
            Goal::AtMost(1.0),
        )
        .detail(format!("{NOTICED} saves, median {}", ms(median(&times)))),
        Row::new(
            "after 20,000 file events the index equals the disk",
            seconds(caught_up),
            "s",
            Goal::AtMost(5.0),
        )
        .detail(format!("{} files, events took {}", disk.len(), ms(took))),
    ]
}

/// Exchanges files and folders of a directory with links to others while it is in use.
pub fn race(seed: u64) -> Vec<Row> {
    let dir = tempfile::tempdir().unwrap();
    let (took, race) = timed(|| swaps::race(dir.path(), Held::open, RACES, seed));
    let row = Row::new(
        "escapes from a directory while it is swapped",
        race.escapes.len() as f64,
        "",
        Goal::AtMost(0.0),
    )
    .detail(format!(
        "{} operations, {} swaps, {} refused, {} contents read, {} {}",
        race.operations,
        race.swaps,
        race.refused,
        race.contents,
        ms(took),
        some(race.escapes)
    ));
    vec![row]
}

/// Runs twenty concurrent writers of the same files: through the API, editors and git.
pub fn saves(seed: u64) -> Vec<Row> {
    let (daemon, project, _) = place();
    let door = HttpDoor::new(&daemon, &project);
    let (took, tally) = timed(|| saves::run(door.dir(), &door, WRITERS, seed));
    let detail = format!(
        "{} written through the API, {} conflicts, {} saved directly or by git, {} {}",
        tally.written,
        tally.conflicts,
        tally.saved,
        ms(took),
        some(&tally.lost)
    );
    let refused: usize = tally.refused.values().sum();
    vec![
        Row::new(
            "texts lost of 20 writers x 2,000 edits on 50 files",
            tally.lost.len() as f64,
            "",
            Goal::AtMost(0.0),
        )
        .detail(detail),
        Row::new(
            "writes refused among them, other than by a conflict",
            refused as f64,
            "",
            Goal::AtMost(0.0),
        )
        .detail(some(tally.refused.into_keys())),
    ]
}

/// Returns the first few items as text.
fn some<T: std::fmt::Display>(all: impl IntoIterator<Item = T>) -> String {
    all.into_iter().take(5).map(|one| one.to_string()).collect::<Vec<_>>().join("; ")
}

/// A daemon, a project, and its memory directory.
fn place() -> (Daemon, String, std::path::PathBuf) {
    let daemon = Daemon::fresh();
    let project = daemon.home.scratch().join("app");
    fs::create_dir_all(&project).unwrap();
    let project = project.to_str().unwrap().to_owned();
    let dir = HttpDoor::new(&daemon, &project).dir().to_owned();
    (daemon, project, dir)
}

fn fill(dir: &Path) {
    for n in 0..FILES {
        let text = format!(
            "---\nname: topic {n}\ndescription: What was learnt about subject {n}\ntype: project\n---\n\n{}",
            "Something that is worth remembering.\n".repeat(n % 60)
        );
        fs::write(dir.join(format!("topic-{n:05}.md")), text).unwrap();
    }
}

fn read_all(dir: &Path) {
    let root = MemoryRoot::open(dir, Scope::Private, Follow::No).unwrap().unwrap();
    let listing = root.list().unwrap();
    let read = listing.files().filter_map(|(file, _)| root.read(&file).unwrap()).count();
    assert_eq!(read, FILES);
}

fn notice(daemon: &Daemon, project: &str, dir: &Path) -> Vec<Duration> {
    let tag = |name: &str| {
        let path = format!("/v1/memories?project_dir={project}&limit=1");
        let page = daemon.client().get(&path).ok();
        assert_eq!(page["memories"][0]["name"], name);
        page["memories"][0]["etag"].as_str().unwrap().to_owned()
    };
    (0..NOTICED)
        .map(|n| {
            let text = format!("A text that was saved {n} times.\n");
            fs::write(dir.join("topic-00000.md"), &text).unwrap();
            let hash = Hash::of(text.as_bytes()).to_string();
            let (took, seen) = timed(|| until(MOST, || (tag("topic-00000") == hash).then_some(())));
            seen.unwrap();
            took
        })
        .collect()
}

/// Makes one random change of files.
fn happen(dir: &Path, event: usize, rng: &mut Rng) {
    let at = |n: usize| dir.join(format!("topic-{n:05}.md"));
    let path = at(rng.below(FILES + FILES / 10));
    match rng.below(5) {
        0 | 1 => fs::write(path, format!("Event {event}.\n")).unwrap(),
        2 => {
            let temp = dir.join(".editor.swp");
            fs::write(&temp, format!("Event {event}, renamed.\n")).unwrap();
            fs::rename(temp, path).unwrap();
        }
        3 => drop(fs::rename(path, at(rng.below(FILES)))),
        _ => drop(fs::remove_file(path)),
    }
}

fn on_disk(dir: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            let hash = Hash::of(&fs::read(entry.path()).unwrap());
            (name.trim_end_matches(".md").to_owned(), hash.to_string())
        })
        .collect()
}

fn listed(daemon: &Daemon, project: &str) -> BTreeMap<String, String> {
    let (mut found, mut cursor) = (BTreeMap::new(), String::new());
    let mut client = daemon.client();
    loop {
        let page = client.get(&format!("/v1/memories?project_dir={project}{cursor}")).ok();
        for memory in page["memories"].as_array().unwrap() {
            let text = |key: &str| memory[key].as_str().unwrap().to_owned();
            found.insert(text("name"), text("etag"));
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return found,
        }
    }
}

fn index(daemon: &Daemon, project: &str) -> Value {
    daemon.client().get(&format!("/v1/memories/index?project_dir={project}")).ok()
}
