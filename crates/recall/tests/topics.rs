//! Memory directories of different kinds, with questions as people type them.
//!
//! The figures measure the same on directories that are given to them; these are a floor that must hold.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::path::Path;

use bethink_recall::topics::select::select;
use bethink_recall::topics::{Card, Catalog, CatalogQuery, TopicId};

#[derive(Debug, Default)]
struct Tally {
    hits: usize,
    answerable: usize,
    refused: usize,
    unanswerable: usize,
}

fn judge(dir: &str, tally: &mut Tally) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/topics").join(dir);
    let (catalog, names) = load(&dir);
    let questions = std::fs::read_to_string(dir.join("questions.txt")).unwrap();
    for line in questions.lines().filter(|line| !line.starts_with('#')) {
        let (question, fits) = line.rsplit_once(" | ").unwrap();
        let picks =
            select(&catalog, &CatalogQuery { question, limit: 5, ..CatalogQuery::default() });
        if fits == "-" {
            tally.unanswerable += 1;
            tally.refused += usize::from(picks.is_empty());
            continue;
        }
        let fits: Vec<&str> = fits.split(", ").collect();
        assert!(fits.iter().all(|name| names.iter().any(|known| known == name)), "{line}");
        tally.answerable += 1;
        let is_hit = picks.iter().any(|pick| fits.contains(&names[pick.id.0 as usize].as_str()));
        tally.hits += usize::from(is_hit);
    }
}

fn load(dir: &Path) -> (Catalog, Vec<String>) {
    let mut catalog = Catalog::default();
    let mut names = Vec::new();
    for file in std::fs::read_dir(dir).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "md") {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let (head, body) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
            let value = |key| head.lines().find_map(|line| line.strip_prefix(key)).unwrap();
            let card =
                Card { name: &name, title: value("name: "), description: value("description: ") };
            catalog.put(TopicId(names.len() as u32), &card, body);
            names.push(name);
        }
    }
    catalog.settle();
    (catalog, names)
}

#[test]
fn questions_find_their_topics_and_nothing_else() {
    let mut tally = Tally::default();
    ["backend", "science", "mobile"].into_iter().for_each(|dir| judge(dir, &mut tally));
    assert!(tally.answerable >= 50 && tally.unanswerable >= 40, "{tally:?}");
    assert!(tally.hits * 100 >= tally.answerable * 90, "{tally:?}");
    assert!(tally.refused * 100 >= tally.unanswerable * 93, "{tally:?}");
}
