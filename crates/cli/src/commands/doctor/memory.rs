//! The checks of the project's memory.

use bethink_api::{MemoryFinding, MemoryShelf, MemoryWatch, ScopeQuery, Severity};
use bethink_client::Client;
use bethink_terminal::words::plural;

use crate::app::CliApp;
use crate::commands::finding::{DoctorFinding, fail, ok, warn};
use bethink_render::memory::{counts, index_size};

const CHECK: &str = "memory";

/// Returns no findings for an older daemon, which does not support memory.
pub(super) async fn memory(app: &CliApp, client: &Client) -> Vec<DoctorFinding> {
    let query = ScopeQuery { project_dir: app.project_dir(), scope: None };
    match client.memory_lint(&query).await {
        Ok(found) => found.shelves.iter().flat_map(shelf).collect(),
        Err(error) if error.problem().is_some_and(|problem| problem.status == 404) => Vec::new(),
        Err(error) => {
            vec![fail(CHECK, error.to_string(), "run `bethink logs` for details")]
        }
    }
}

fn shelf(shelf: &MemoryShelf) -> Vec<DoctorFinding> {
    let place = format!("in {} ({} layout)", shelf.dir, shelf.layout);
    if let Some(fault) = &shelf.fault {
        let todo = "fix or move the directory; until then nothing in it is recalled";
        return vec![fail(CHECK, fault.clone(), todo)];
    }
    if !shelf.there {
        return vec![ok(CHECK, format!("no memories yet; they will be stored in {}", shelf.dir))];
    }
    let found = format!("{}: {}", shelf.scope, size(shelf));
    let mut out = vec![ok(CHECK, found), ok(CHECK, place)];
    if shelf.watch == MemoryWatch::Polling {
        out.push(warn(
            CHECK,
            "the system cannot watch all folders, so memory files are checked every 2 seconds",
            "on Linux, raise fs.inotify.max_user_watches; some network file systems cannot be watched",
        ));
    }
    out.extend(worst(shelf));
    out
}

/// Returns a summary such as `33 topics, index of 33 lines, 5.1 KB`.
fn size(shelf: &MemoryShelf) -> String {
    let topics = plural(shelf.topics, "topic", "topics");
    let index = match &shelf.index {
        None => "no index".to_owned(),
        Some(index) => {
            let cut = index.cut_by.as_ref().map(|cap| format!(", more {cap} than prompts show"));
            format!("index of {}{}", index_size(index.lines, index.bytes), cut.unwrap_or_default())
        }
    };
    format!("{topics}, {index}")
}

/// Counts the findings and describes the first one that is more than a note.
fn worst(shelf: &MemoryShelf) -> Option<DoctorFinding> {
    let worst = shelf.findings.iter().find(|finding| finding.severity != Severity::Note)?;
    let found = format!("{}; first {}", counts(&shelf.findings), told(worst));
    Some(warn(CHECK, found, "run `bethink memory lint` to see all findings"))
}

fn told(finding: &MemoryFinding) -> String {
    let line = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
    format!("{}{line} {}", finding.file, finding.what)
}

#[cfg(test)]
mod tests {
    use bethink_api::{IndexLimit, IndexSize, MemoryLayout, MemoryScope};

    use super::*;
    use crate::commands::finding::Verdict;

    #[test]
    fn memory_is_judged_by_its_worst() {
        let good = MemoryShelf {
            scope: MemoryScope::Private,
            dir: "/m".into(),
            layout: MemoryLayout::Bethink,
            there: true,
            topics: 2,
            index: Some(IndexSize { lines: 201, bytes: 300, cut_by: Some(IndexLimit::Lines) }),
            watch: MemoryWatch::Events,
            ..MemoryShelf::default()
        };
        let judged = |one: &MemoryShelf| -> Vec<_> {
            shelf(one).into_iter().map(|finding| finding.verdict).collect()
        };
        let ok = Verdict::Ok;
        assert_eq!(judged(&good), [ok, ok]);
        let told: Vec<_> = shelf(&good).into_iter().map(|finding| finding.found).collect();
        assert_eq!(
            told,
            [
                "private: 2 topics, index of 201 lines, 300 B, more lines than prompts show",
                "in /m (bethink layout)",
            ]
        );
        let of = |severity| MemoryFinding {
            severity,
            rule: "empty".into(),
            file: "a.md".into(),
            line: None,
            what: "is empty".into(),
            help: String::new(),
        };
        let noted = MemoryShelf { findings: vec![of(Severity::Note)], ..good.clone() };
        assert_eq!(judged(&noted), [ok, ok]);
        let bad =
            MemoryShelf { findings: vec![of(Severity::Error), of(Severity::Note)], ..good.clone() };
        assert_eq!(judged(&bad), [ok, ok, Verdict::Warn]);
        assert_eq!(shelf(&bad)[2].found, "1 error, 1 note; first a.md is empty");
        let polled = MemoryShelf { watch: MemoryWatch::Polling, ..good.clone() };
        assert_eq!(judged(&polled), [ok, ok, Verdict::Warn]);
        let broken = MemoryShelf { fault: Some("gone".into()), ..good };
        assert_eq!(judged(&broken), [Verdict::Fail]);
    }
}
