//! The list of rejected memories of a team. Each rejected memory has one line, so that the lists of two people can be
//! merged as sets.

use std::collections::BTreeSet;

use bethink_transcript::text::{one_line, shorten_at_word};

/// Maximum length of a statement and of a reason, in characters.
const CHARS: usize = 300;
const HEAD: &str = "# Rejected proposals\n\nMemories that this team does not want to share. Nothing with the same meaning is \
    proposed again.\nTo allow a memory again, remove its line.\n\n";
/// Separates the reason from the statement.
const REASON: &str = " (reason: ";

/// A memory that a person rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The day on which the memory was rejected, such as `2026-11-23`. Empty if the line does not state a date.
    pub day: String,
    pub statement: String,
    pub reason: Option<String>,
}

/// Parses the list. Lines in any other form are ignored.
pub fn rejections(text: &str) -> Vec<Rejection> {
    text.lines().filter_map(item).map(parsed).collect()
}

/// Adds a line at the end, unless the list already has the statement.
pub fn add(text: &str, day: &str, statement: &str, reason: Option<&str>) -> String {
    let short = |text: &str| shorten_at_word(&one_line(text), CHARS);
    let statement = short(statement);
    if statement.is_empty() || rejections(text).iter().any(|one| one.statement == statement) {
        return text.to_owned();
    }
    let reason = reason.map(short).filter(|reason| !reason.is_empty());
    let reason = reason.map_or_else(String::new, |reason| format!("{REASON}{reason})"));
    let mut out = if text.trim().is_empty() { HEAD.to_owned() } else { text.to_owned() };
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(&format!("- {day}: {statement}{reason}\n"));
    out
}

/// Merges two versions of the list: additions and removals of both sides are applied.
pub fn merge(base: &str, ours: &str, theirs: &str) -> String {
    let items = |text: &'_ str| -> BTreeSet<String> {
        text.lines()
            .filter(|line| item(line).is_some())
            .map(|line| line.trim_end().to_owned())
            .collect()
    };
    let (base, known, theirs_set) = (items(base), items(ours), items(theirs));
    let stays = |line: &&str| {
        let line = line.trim_end();
        item(line).is_none() || !base.contains(line) || theirs_set.contains(line)
    };
    let mut out: Vec<&str> = ours.lines().filter(stays).collect();
    let is_new = |line: &&str| {
        let line = line.trim_end();
        item(line).is_some() && !known.contains(line) && !base.contains(line)
    };
    out.extend(theirs.lines().filter(is_new));
    out.iter().map(|line| format!("{line}\n")).collect()
}

fn item(line: &str) -> Option<&str> {
    line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).map(str::trim)
}

fn parsed(item: &str) -> Rejection {
    let is_day = |day: &str| day.len() == 10 && day.chars().all(|c| c.is_ascii_digit() || c == '-');
    let (day, rest) = item.split_once(": ").filter(|(day, _)| is_day(day)).unwrap_or(("", item));
    let reason = rest.strip_suffix(')').and_then(|rest| rest.rsplit_once(REASON));
    let (statement, reason) = reason.map_or((rest, None), |(said, why)| (said, Some(why)));
    Rejection {
        day: day.to_owned(),
        statement: statement.to_owned(),
        reason: reason.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_was_rejected_when_and_why() {
        let text = add("", "2026-11-23", "API errors use problem+json.\n", Some("too obvious"));
        let text = add(&text, "2026-11-24", "Deploy (on Fridays)", None);
        let one = |day: &str, statement: &str, reason: Option<&str>| Rejection {
            day: day.to_owned(),
            statement: statement.to_owned(),
            reason: reason.map(str::to_owned),
        };
        let expect = [
            one("2026-11-23", "API errors use problem+json.", Some("too obvious")),
            one("2026-11-24", "Deploy (on Fridays)", None),
        ];
        assert_eq!(rejections(&text), expect);
        assert_eq!(add(&text, "2026-12-01", "Deploy (on Fridays)", None), text, "once");
        assert_eq!(rejections("- by hand\n\nprose\n"), [one("", "by hand", None)]);
    }

    #[test]
    fn two_lists_merge_as_a_set() {
        let base = add(&add("", "2026-11-23", "one", None), "2026-11-23", "two", None);
        let ours = add(&base, "2026-11-24", "three", None);
        let theirs = add(&base, "2026-11-24", "four", None).replace("- 2026-11-23: one\n", "");
        let merged = merge(&base, &ours, &theirs);
        let said: Vec<String> = rejections(&merged).into_iter().map(|one| one.statement).collect();
        assert_eq!(said, ["two", "three", "four"]);
        assert!(merged.starts_with("# Rejected proposals\n"), "{merged}");
        assert_eq!(merge(&base, &ours, &merged), merged);
        assert_eq!(merge("", &ours, &ours), ours);
    }
}
