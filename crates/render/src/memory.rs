//! Memories: tables of topics and versions, findings, and the results of writes.

use bethink_api::{
    Memory, MemoryFinding, MemoryHit, MemoryKind, MemoryRecall, MemoryScope, MemoryShelf,
    MemoryVersion, MemoryWritten, Severity,
};
use bethink_terminal::words::{ago, bytes, plural};
use bethink_terminal::{StyledText, TextTable, Tone, columns, hanging};
use jiff::Timestamp;

/// Total width of the columns `changed` and `type`, with gaps.
const OTHER_COLUMNS: usize = 24;
/// Minimum useful width of a description.
const LEAST_ABOUT: usize = 40;
/// Indentation of the later lines of a finding.
const INDENT: &str = "  ";

/// Says that a memory was learned on a branch that the checkout does not contain.
pub fn unmerged(branch: &str) -> String {
    format!("learned on the unmerged branch {branch}")
}

/// Lists topics on one line each if the descriptions fit, otherwise on two lines each. Topics of unmerged branches are
/// last.
pub fn list(memories: &[Memory], width: usize, now: Timestamp) -> Vec<StyledText> {
    let mut memories = memories.to_vec();
    memories.sort_by_key(|memory| memory.unmerged.is_some());
    let memories = memories.as_slice();
    let names = memories.iter().map(|memory| columns(&memory.name)).max().unwrap_or(0);
    match names + OTHER_COLUMNS + LEAST_ABOUT <= width {
        true => table(memories, width, now),
        false => memories.iter().flat_map(|memory| pair(memory, width, now)).collect(),
    }
}

/// Returns the topic's name and description, and the part of its text that contains the searched words.
pub fn hit(hit: &MemoryHit, width: usize) -> Vec<StyledText> {
    let scope = hit.scope.prefix();
    let head = StyledText::new()
        .dim(scope)
        .put(Tone::Accent, hit.name.clone())
        .dim(format!("  {}", hit.description))
        .fitted(width);
    let is_match = |at| hit.highlights.iter().any(|[start, end]| (*start..*end).contains(&at));
    let tone = |at| if is_match(at) { Tone::Strong } else { Tone::Plain };
    let chars: Vec<_> = hit.snippet.chars().enumerate().map(|(at, c)| (tone(at), c)).collect();
    let lines = chars.split(|(_, c)| *c == '\n').map(|line| {
        StyledText::from(INDENT.repeat(2)).then(StyledText::of_chars(line)).fitted(width)
    });
    std::iter::once(head).chain(lines).collect()
}

fn pair(memory: &Memory, width: usize, now: Timestamp) -> [StyledText; 2] {
    let kind = memory.kind.as_ref().map(|kind| format!("{kind}, ")).unwrap_or_default();
    let head = name(memory).dim(format!("  {kind}{}", ago(&memory.modified, now)));
    let body = StyledText::from(INDENT.repeat(2)).plain(about(memory));
    [head.fitted(width), body.fitted(width)]
}

fn name(memory: &Memory) -> StyledText {
    StyledText::new().dim(memory.scope.prefix()).put(Tone::Accent, memory.name.clone())
}

fn about(memory: &Memory) -> String {
    let about = memory.description.clone().or_else(|| memory.title.clone()).unwrap_or_default();
    let recall = memory.recall.map(|recall| match recall {
        MemoryRecall::Always => "pinned".to_owned(),
        MemoryRecall::Never => "suppressed".to_owned(),
    });
    let notes: Vec<String> =
        recall.into_iter().chain(memory.unmerged.as_deref().map(unmerged)).collect();
    if notes.is_empty() { about } else { format!("({}) {about}", notes.join(", ")) }
}

fn table(memories: &[Memory], width: usize, now: Timestamp) -> Vec<StyledText> {
    let mut table = TextTable::new(&["topic", ">changed", "type", "about"]);
    for memory in memories {
        table.row(vec![
            name(memory),
            StyledText::new().dim(since(&memory.modified, now)),
            StyledText::from(memory.kind.map_or("-", MemoryKind::as_str)),
            about(memory).into(),
        ]);
    }
    table.lines(width)
}

/// Formats a time as `12 days`, for a column headed "changed".
fn since(time: &str, now: Timestamp) -> String {
    ago(time, now).trim_end_matches(" ago").to_owned()
}

pub fn versions(versions: &[MemoryVersion], width: usize, now: Timestamp) -> Vec<StyledText> {
    let mut table = TextTable::new(&[">version", "when", "by", ">size", ""]);
    for one in versions {
        let size = one.bytes.map_or_else(|| "removed".to_owned(), bytes);
        let mut notes = Vec::new();
        notes.extend(one.current.then(|| "current".to_owned()));
        notes.extend(Some(one.note.clone()).filter(|note| !note.is_empty()));
        notes.extend(one.session.map(|session| format!("session {session}")));
        table.row(vec![
            StyledText::new().put(Tone::Accent, one.version.to_string()),
            ago(&one.at, now).into(),
            one.author.to_string().into(),
            size.into(),
            StyledText::new().dim(notes.join(", ")),
        ]);
    }
    table.lines(width)
}

/// Shows the place and the problem on the first line, and what to do below it.
pub fn finding(finding: &MemoryFinding, scope: MemoryScope, width: usize) -> Vec<StyledText> {
    let tone = match finding.severity {
        Severity::Error => Tone::Bad,
        Severity::Warning => Tone::Warn,
        Severity::Note => Tone::Dim,
    };
    let team = scope.prefix();
    let line = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
    let place = StyledText::new()
        .put(tone, format!("{}: ", finding.severity))
        .strong(format!("{team}{}{line}", finding.file));
    let whole = place.clone().plain(format!(" {}", finding.what));
    let mut lines = Vec::new();
    if whole.width() <= width {
        lines.push(whole);
    } else {
        lines.push(place);
        lines.extend(hanging(&INDENT.into(), Tone::Plain, &finding.what, width));
    }
    let mark = StyledText::from(INDENT).put(Tone::Accent, "→ ");
    lines.extend(hanging(&mark, Tone::Accent, &finding.help, width));
    lines
}

/// Returns a line such as `33 topics in /…/memory: 1 error, 3 notes`.
pub fn sum(shelf: &MemoryShelf) -> String {
    let topics = plural(shelf.topics, "topic", "topics");
    if !shelf.there {
        return format!("no topics yet in {}", shelf.dir);
    }
    format!("{topics} in {}: {}", shelf.dir, counts(&shelf.findings))
}

/// Returns a string such as `1 error, 3 notes`, or `no problems`.
pub fn counts(findings: &[MemoryFinding]) -> String {
    let count = |severity, one, many| {
        let count = findings.iter().filter(|finding| finding.severity == severity).count() as u64;
        (count > 0).then(|| plural(count, one, many))
    };
    let counts = [
        count(Severity::Error, "error", "errors"),
        count(Severity::Warning, "warning", "warnings"),
        count(Severity::Note, "note", "notes"),
    ];
    let told: Vec<String> = counts.into_iter().flatten().collect();
    if told.is_empty() { "no problems".to_owned() } else { told.join(", ") }
}

/// Returns a line such as `remembered as fog (feedback)`.
pub fn written(verb: &str, done: &MemoryWritten) -> StyledText {
    let scope = done.scope.prefix();
    let kind = done.kind.as_ref().map(|kind| format!(" ({kind})")).unwrap_or_default();
    StyledText::from(format!("{verb} "))
        .put(Tone::Accent, format!("{scope}{}", done.name))
        .plain(kind)
}

/// Returns the lines of the warnings, wrapped to `width` columns.
pub fn warnings(warnings: &[String], width: usize) -> Vec<StyledText> {
    let mark = StyledText::new().put(Tone::Warn, "warning: ");
    warnings.iter().flat_map(|said| hanging(&mark, Tone::Plain, said, width)).collect()
}

/// Formats a size as `33 lines, 5.1 KB`.
pub fn index_size(lines: u64, size: u64) -> String {
    format!("{}, {}", plural(lines, "line", "lines"), bytes(size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bethink_terminal::LineMode;

    fn shown(lines: &[StyledText]) -> Vec<String> {
        lines.iter().map(|line| line.render(LineMode::One, false)).collect()
    }

    fn of(severity: Severity) -> MemoryFinding {
        MemoryFinding {
            severity,
            rule: "dead-link".into(),
            file: "MEMORY.md".into(),
            line: Some(3),
            what: "links gone\u{202e}.md, which is not there".into(),
            help: "mend it".into(),
        }
    }

    #[test]
    fn a_pinned_topic_says_so() {
        let memory = |recall: &str| -> Memory {
            serde_json::from_value(serde_json::json!({
                "scope": "private", "name": "fog", "description": "how far", "bytes": 9,
                "modified": "2026-05-04T10:00:00Z", "recall": recall, "unmerged": "haze",
            }))
            .unwrap()
        };
        assert_eq!(
            about(&memory("always")),
            "(pinned, learned on the unmerged branch haze) how far"
        );
        let suppressed = Memory { unmerged: None, ..memory("never") };
        assert_eq!(about(&suppressed), "(suppressed) how far");
    }

    #[test]
    fn a_finding_has_a_place_and_a_remedy() {
        let one = of(Severity::Warning);
        let lines = shown(&finding(&one, MemoryScope::Team, 80));
        assert_eq!(
            lines[0],
            "warning: team/MEMORY.md:3 links gone\\u{202e}.md, which is not there"
        );
        assert_eq!(lines[1], "  → mend it");
        let narrow = shown(&finding(&one, MemoryScope::Private, 30));
        assert_eq!(narrow[0], "warning: MEMORY.md:3");
        assert!(narrow.iter().all(|line| line.chars().count() <= 32), "{narrow:?}");
    }

    #[test]
    fn findings_are_counted_by_severity() {
        assert_eq!(counts(&[]), "no problems");
        assert_eq!(
            counts(&[of(Severity::Note), of(Severity::Error), of(Severity::Note)]),
            "1 error, 2 notes"
        );
    }
}
