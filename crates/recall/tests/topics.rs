//! Tests memory directories of different kinds, with questions as people type them.
//!
//! `cargo xtask figures` measures the same on other directories; the values here are minimums.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::path::Path;

use bethink_recall::topics::select::{nearest, select};
use bethink_recall::topics::{Card, Catalog, CatalogQuery, TopicId};

#[derive(Debug, Default)]
struct Tally {
    /// Number of questions whose topic is injected, and of those whose topic is found for an explicit question.
    hits: usize,
    found: usize,
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
        let ask = CatalogQuery { question, limit: 5, ..CatalogQuery::default() };
        let picks = select(&catalog, &ask);
        if fits == "-" {
            tally.unanswerable += 1;
            tally.refused += usize::from(picks.is_empty());
            continue;
        }
        let fits: Vec<&str> = fits.split(", ").collect();
        assert!(fits.iter().all(|name| names.iter().any(|known| known == name)), "{line}");
        tally.answerable += 1;
        let fits = |id: TopicId| fits.contains(&names[id.0 as usize].as_str());
        tally.hits += usize::from(picks.iter().any(|pick| fits(pick.id)));
        let near = nearest(&catalog, &ask, &[]);
        tally.found += usize::from(near.iter().any(|pick| fits(pick.id)));
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
            let card = Card {
                name: &name,
                title: value("name: "),
                description: value("description: "),
                ..Card::default()
            };
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
    // A memory that nobody asked for is shown only if it is sure to fit.
    assert!(tally.hits * 100 >= tally.answerable * 80, "{tally:?}");
    assert!(tally.refused * 100 >= tally.unanswerable * 97, "{tally:?}");
    assert!(tally.found * 100 >= tally.answerable * 95, "{tally:?}");
}
