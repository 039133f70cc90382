//! Measures retention: of the names before a cut that the rest of the session uses, the share that is still readable
//! after it.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::recording::Recorded;

/// Number of messages after the cut whose names count.
pub const HORIZON: usize = 40;
/// Minimum number of names for a result.
const ENOUGH: usize = 10;

static NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?:[\w.\-]+/)+[\w.\-]+",
        r"|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+",
        r"|[A-Za-z]\w*_\w+",
        r"|[a-z]+(?:[A-Z][a-z0-9]+)+",
        r"|(?:[A-Z][a-z0-9]+){2,}",
        r"|--[a-z][\w-]+",
        r"|\b[A-Z]{1,4}\d{3,}\b",
    ))
    .expect("a pattern")
});

/// Finds paths (their last part), symbols, flags and error codes.
pub fn names(text: &str) -> HashSet<&str> {
    NAME.find_iter(text)
        .map(|found| found.as_str().trim_matches(['.', '/', '-', '_']))
        .filter(|name| name.chars().count() >= 6)
        .map(|name| name.rsplit('/').next().unwrap_or(name))
        .filter(|name| name.chars().count() >= 5)
        .collect()
}

/// Returns the share for a cut after `history[..at]`, if `prompt` is readable afterwards.
pub fn share(history: &[Recorded], at: usize, prompt: &Value) -> Option<f64> {
    let mut before = String::new();
    history[..at].iter().for_each(|m| read(&m.content, true, &mut before));
    let mut after = String::new();
    history[at..].iter().take(HORIZON).for_each(|m| read(&m.content, false, &mut after));
    let mut shown = String::new();
    read(&prompt["system"], true, &mut shown);
    for message in prompt["messages"].as_array().into_iter().flatten() {
        read(&message["content"], true, &mut shown);
    }
    let (known, readable) = (names(&before), names(&shown));
    let wanted: Vec<&str> = names(&after).into_iter().filter(|n| known.contains(n)).collect();
    let kept = wanted.iter().filter(|n| readable.contains(*n)).count();
    (wanted.len() >= ENOUGH).then(|| kept as f64 / wanted.len() as f64)
}

fn read(content: &Value, results: bool, out: &mut String) {
    match content {
        Value::String(text) => push(out, text),
        Value::Array(blocks) => {
            for block in blocks {
                match block["type"].as_str() {
                    Some("text") => push(out, block["text"].as_str().unwrap_or("")),
                    Some("tool_use") => push(out, &block["input"].to_string()),
                    Some("tool_result") if results => read(&block["content"], results, out),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

fn push(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_a_reader_would_look_for() {
        let found = names(
            "see src/garden/water.py, handle_request, parseFile, E0308 and --dry-run; not words",
        );
        for name in ["water.py", "handle_request", "parseFile", "dry-run"] {
            assert!(found.contains(name), "{name}: {found:?}");
        }
        assert!(!found.contains("words") && !found.contains("E0308"), "{found:?}");
    }
}
