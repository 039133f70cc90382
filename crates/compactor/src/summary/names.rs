//! Files with their changes and names, and names without a file, chosen by predicted need.

use std::collections::HashSet;

use bethink_facts::rows::{command, common_root, file};
use bethink_facts::{CommandPurpose, Facts, FileFact, RankedName};
use bethink_transcript::Seq;

use crate::ladder::SummaryRequest;

const SYMBOLS: usize = 12;
/// Maximum percentage of the room for rows of files; names share the remainder by need.
const ROWS_PERCENT: usize = 45;
/// Maximum percentage of the room for the line with their common root.
const ROOT_PERCENT: usize = 20;
/// Factor for a name that can also be read in the kept tail.
const IN_TAIL: f32 = 0.5;
/// Number of names without a file in one line.
const NAMES_PER_ROW: usize = 16;
const COMMANDS: usize = 6;

/// Writes two sections in `room` bytes: files with their code, and names without a file. The reader already has the
/// names in `known` and in `texts`.
pub(crate) fn files_and_names(
    request: &SummaryRequest<'_>,
    mut known: HashSet<String>,
    texts: &[&str],
    room: usize,
) -> (String, String) {
    texts.iter().for_each(|text| crate::fidelity::collect(text, &mut known));
    let concepts = commands_and_tools(request.facts, room / 6);
    crate::fidelity::collect(&concepts, &mut known);
    let room = room.saturating_sub(concepts.len());
    // Code contains names without saying what happened to them, so a row may repeat them.
    let code = super::code::excerpts(request, room);
    let (files, rest) = files(request, &mut known, room.saturating_sub(code.len()));
    (files + &code, concepts + &rest)
}

/// Writes the section of files, and rows of the names without a file.
fn files(
    request: &SummaryRequest<'_>,
    known: &mut HashSet<String>,
    room: usize,
) -> (String, String) {
    let facts = request.facts;
    let root = common_root(facts.tools.files());
    let mut files = below(&root, room * ROOT_PERCENT / 100);
    let room = room.saturating_sub(files.len());
    let rows = file_rows(facts, &root, room * ROWS_PERCENT / 100);
    let in_rows: HashSet<usize> = rows.iter().map(|(index, _)| *index).collect();
    let mut spent = 0;
    for (_, row) in &rows {
        spent += row.len() + 1;
        crate::fidelity::collect(row, known);
    }
    // Each row with names costs a few words of introduction.
    let for_names = room.saturating_sub(spent + rows.len() * 14 + 130);
    let chosen = choose(request, known, for_names);
    let mut groups = facts.names_by_file(&chosen);
    for (index, row) in rows {
        files.push_str(&row);
        if let Some(names) = groups.remove(&Some(index)) {
            let (used, seen) = by_origin(facts, names);
            for (what, names) in [("used", used), ("seen", seen)] {
                if !names.is_empty() {
                    files.push_str(&format!("; {what}: {}", listed(facts, &names)));
                }
            }
        }
        files.push('\n');
    }
    let of_no_file = |name: &&str| {
        !facts.names.get(name).and_then(|n| n.focus).is_some_and(|f| in_rows.contains(&f))
    };
    let rest: Vec<&str> = chosen.iter().copied().filter(of_no_file).collect();
    let (said, seen) = by_origin(facts, rest);
    let mut others = String::new();
    for (what, names) in
        [("Mentioned or used in commands", said), ("Seen only in tool output", seen)]
    {
        if !names.is_empty() {
            let rows = names.chunks(NAMES_PER_ROW).map(|row| listed(facts, row));
            let rows: Vec<String> = rows.collect();
            others.push_str(&format!("- {what}: {}\n", rows.join(",\n  ")));
        }
    }
    (files, others)
}

/// Writes the line with the common root of all paths in `room` bytes. Of a root that is too long, only the end is
/// shown, or nothing if that does not fit either.
fn below(root: &str, room: usize) -> String {
    const OPENING: &str = "Paths are below ";
    if root.is_empty() {
        return String::new();
    }
    if OPENING.len() + root.len() < room {
        return format!("{OPENING}{root}\n");
    }
    let left = room.saturating_sub(OPENING.len() + '…'.len_utf8() + 1);
    let ends = root.match_indices('/').map(|(at, _)| &root[at..]);
    let end = ends.into_iter().find(|end| end.len() > 1 && end.len() <= left);
    end.map_or_else(String::new, |end| format!("{OPENING}…{end}\n"))
}

/// Writes one row per file, most needed first, as many as fit.
fn file_rows(facts: &Facts, root: &str, room: usize) -> Vec<(usize, String)> {
    let now = facts.through;
    let all = facts.tools.files();
    let mut order: Vec<(usize, &FileFact)> = all.iter().enumerate().collect();
    order.sort_by_key(|(_, fact)| std::cmp::Reverse(file_need(fact, now)));
    let mut left = room;
    let mut rows = Vec::new();
    for (index, fact) in order {
        let row = format!("- {}", file(fact, root, SYMBOLS));
        if row.len() + 1 > left {
            break;
        }
        left -= row.len() + 1;
        rows.push((index, row));
    }
    rows
}

fn file_need(file: &FileFact, now: Seq) -> u64 {
    let age = now.0.saturating_sub(file.last.0);
    let weight = u64::from(file.edits * 3 + file.reads).min(30);
    // Edited files first, then recent ones. Integers, because a sort key must be `Ord`.
    (u64::from(file.edits > 0) * 400 + weight * 40 + 100_000 / (100 + age)).max(1)
}

/// Lists commands that are typical for work on the project, and tools with their parameters.
fn commands_and_tools(facts: &Facts, room: usize) -> String {
    let mut out = String::new();
    let mut commands: Vec<_> = facts
        .tools
        .commands
        .iter()
        .filter(|c| c.purpose != CommandPurpose::Other && c.runs > 1)
        .collect();
    commands.sort_by_key(|c| std::cmp::Reverse((c.runs.min(4), c.last)));
    let tools = tools_row(facts);
    for found in commands.into_iter().take(COMMANDS) {
        let row = format!("- {}\n", command(found));
        if out.len() + row.len() + tools.len() <= room {
            out.push_str(&row);
        }
    }
    out + &tools
}

/// Lists the tools in use, with the parameters of their calls.
fn tools_row(facts: &Facts) -> String {
    const TOOLS: usize = 10;
    let described = facts.tools.most_used().into_iter().take(TOOLS).map(|(name, tool)| {
        let parameters: Vec<&str> = tool.parameters.iter().map(|p| &**p).collect();
        format!("{name} {}× ({})", tool.calls, parameters.join(", "))
    });
    let tools: Vec<String> = described.collect();
    if tools.is_empty() { String::new() } else { format!("- Tools in use: {}\n", tools.join("; ")) }
}

fn choose<'a>(request: &SummaryRequest<'a>, known: &HashSet<String>, room: usize) -> Vec<&'a str> {
    let facts: &'a Facts = request.facts;
    let worth = |name: &RankedName<'_>| {
        if request.visible.contains(name.name) { name.need * IN_TAIL } else { name.need }
    };
    let mut ranked = facts.names.ranked(&facts.moment());
    ranked.sort_by(|a, b| worth(b).total_cmp(&worth(a)).then(a.name.cmp(b.name)));
    let mut left = room;
    let mut chosen = Vec::new();
    for RankedName { name, .. } in ranked {
        if known.contains(name) {
            continue;
        }
        let cost = facts.names.shown(name).len() + 2;
        if cost > left {
            break;
        }
        left -= cost;
        chosen.push(name);
    }
    chosen
}

/// Separates names from messages and tool input from names that occurred only in results.
fn by_origin<'a>(facts: &Facts, names: Vec<&'a str>) -> (Vec<&'a str>, Vec<&'a str>) {
    names.into_iter().partition(|name| facts.names.get(name).is_some_and(|n| n.spoken > 0))
}

fn listed(facts: &Facts, names: &[&str]) -> String {
    names.iter().map(|name| facts.names.shown(name)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_root_is_shortened() {
        assert_eq!(below("", 100), "");
        assert_eq!(below("/proj/tide/", 100), "Paths are below /proj/tide/\n");
        assert_eq!(below("/proj/tide/", 28), "Paths are below /proj/tide/\n");
        assert_eq!(below("/proj/tide/", 27), "Paths are below …/tide/\n");
        assert_eq!(below("/proj/tide/", 20), "");
    }
}
