//! Changes to the index since a prompt showed it.

use super::guard::guarded_line;
use crate::index::shown;
use crate::name::Scope;

/// Maximum number of changed lines that are listed. If more lines changed, the model is asked to read the file.
const MOST_LINES: usize = 20;

/// Returns a reminder for a conversation whose prompt shows `before`, or `None` if nothing visible changed. Both
/// arguments are the contents of the MEMORY.md files, in the order private, team, person.
pub fn index_news(before: &[String; 3], now: &[String; 3]) -> Option<String> {
    let mut rows = Vec::new();
    for (scope, (before, now)) in Scope::ALL.into_iter().zip(before.iter().zip(now)) {
        let (old, new) = (lines(before), lines(now));
        let gone = old.iter().filter(|line| !new.contains(line));
        rows.extend(gone.map(|line| format!("- removed ({scope}): {line}")));
        let come = new.iter().filter(|line| !old.contains(line));
        rows.extend(come.map(|line| format!("- added ({scope}): {line}")));
    }
    if rows.is_empty() {
        return None;
    }
    let more = rows.len().saturating_sub(MOST_LINES);
    rows.truncate(MOST_LINES);
    if more > 0 {
        rows.push(format!("- and {more} more: read MEMORY.md for the current index"));
    }
    let rows = rows.join("\n");
    Some(format!(
        "<system-reminder>\nThe memory index has changed since it was added to the system prompt:\n{rows}\n</system-reminder>"
    ))
}

/// Returns the lines that a prompt shows, without bullets, blank lines and headings.
fn lines(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for line in shown(text).content.lines() {
        let words = line.trim_start_matches(['-', '*', '+', ' ', '\t', '\u{feff}']);
        let line = guarded_line(words);
        if !line.is_empty() && !line.starts_with('#') && !out.contains(&line) {
            out.push(line);
        }
    }
    out
}
