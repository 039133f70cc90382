//! Shows a file or a folder.

use std::collections::BTreeMap;

use super::edit::numbered;
use super::error::ToolError;
use super::{MOST_LINES, SHOWN_BYTES, SHOWN_ENTRIES};
use crate::prompt::guarded;

/// Number of levels below a folder that its view lists, as in the helper of Anthropic's SDKs.
const LEVELS: usize = 2;

/// A file in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFile {
    /// Relative to the folder: `plans/fog.md`.
    pub path: String,
    pub bytes: u64,
}

/// Shows a file with line numbers. `range` is the first and last line, counted from 1; -1 is the end.
pub fn file(path: &str, text: &str, range: Option<&[i64]>) -> Result<String, ToolError> {
    let shown = guarded(text);
    let lines: Vec<&str> = shown.split('\n').collect();
    if lines.len() > MOST_LINES {
        return Err(ToolError::TooManyLines(path.to_owned()));
    }
    let (from, to) = match range {
        None => (0, lines.len()),
        Some(range) => within(range, lines.len())?,
    };
    let mut out = format!("Here's the content of {path} with line numbers:\n");
    let head = out.len();
    for (at, line) in lines[from..to].iter().enumerate() {
        let number = from + at + 1;
        if out.len() - head + line.len() > SHOWN_BYTES && at > 0 {
            out.push_str(&format!(
                "\nThe rest is not shown here: view lines {number} to {to} with view_range."
            ));
            return Ok(out);
        }
        if at > 0 {
            out.push('\n');
        }
        out.push_str(&numbered(number, line));
    }
    Ok(out)
}

/// Lists two levels of a folder, with the size before each path. Subfolders are derived from the files' paths.
pub fn folder(path: &str, entries: &[ListedFile]) -> String {
    let path = path.strip_suffix('/').unwrap_or(path);
    let mut rows: BTreeMap<String, u64> = BTreeMap::new();
    for entry in entries {
        let parts: Vec<&str> = entry.path.split('/').collect();
        for depth in 1..=parts.len().min(LEVELS) {
            let mut shown = parts[..depth].join("/");
            if depth < parts.len() {
                shown.push('/');
            }
            *rows.entry(shown).or_default() += entry.bytes;
        }
    }
    let all: u64 = entries.iter().map(|entry| entry.bytes).sum();
    let mut out = format!(
        "Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:\n{}\t{path}",
        size(all)
    );
    for (row, bytes) in rows.iter().take(SHOWN_ENTRIES) {
        out.push_str(&format!("\n{}\t{path}/{}", size(*bytes), guarded(row)));
    }
    if let Some(more) = rows.len().checked_sub(SHOWN_ENTRIES).filter(|more| *more > 0) {
        let index = match entries.iter().any(|entry| entry.path == "MEMORY.md") {
            true => format!(" or {path}/MEMORY.md"),
            false => String::new(),
        };
        out.push_str(&format!("\nEntries not shown: {more}. To find them, view a folder{index}"));
    }
    out
}

/// Returns the range as line indices. The range is empty if it begins after the last line.
fn within(range: &[i64], lines: usize) -> Result<(usize, usize), ToolError> {
    let bad = || ToolError::BadRange(range.iter().take(8).copied().collect());
    let [first, last] = range else { return Err(bad()) };
    let from = usize::try_from((*first).max(1) - 1).map_err(|_| bad())?.min(lines);
    let to = match last {
        -1 => lines,
        last => usize::try_from(*last).map_err(|_| bad())?.min(lines),
    };
    Ok((from, to.max(from)))
}

/// Formats a size as the helper of Anthropic's SDKs does: `0B`, `1.5K`, `12K`.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["B", "K", "M", "G"];
    let Some(bits) = bytes.checked_ilog2() else { return "0B".to_owned() };
    let power = (bits / 10).min(3);
    let (unit, tenths) = (UNITS[power as usize], u128::from(bytes) * 10);
    let scale = 1_u128 << (10 * power);
    match u128::from(bytes) % scale {
        0 => format!("{}{unit}", u128::from(bytes) / scale),
        _ => {
            let rounded = (tenths + scale / 2) / scale;
            format!("{}.{}{unit}", rounded / 10, rounded % 10)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_line_numbers() {
        let view = |range: Option<&[i64]>| file("/memories/a.md", "a\nb\nc\n", range);
        let head = "Here's the content of /memories/a.md with line numbers:\n";
        assert_eq!(view(None).unwrap(), format!("{head}     1\ta\n     2\tb\n     3\tc\n     4\t"));
        assert_eq!(view(Some(&[2, 3])).unwrap(), format!("{head}     2\tb\n     3\tc"));
        assert_eq!(view(Some(&[3, -1])).unwrap(), format!("{head}     3\tc\n     4\t"));
        assert_eq!(view(Some(&[0, 1])).unwrap(), format!("{head}     1\ta"));
        assert_eq!(view(Some(&[9, 12])).unwrap(), head);
        assert_eq!(view(Some(&[3, 1])).unwrap(), head);
        for range in [&[][..], &[1], &[1, 2, 3], &[1, -2]] {
            assert!(matches!(view(Some(range)), Err(ToolError::BadRange(_))), "{range:?}");
        }
    }

    #[test]
    fn what_is_long_is_shown_in_parts() {
        let text = "0123456789\n".repeat(20_000);
        let view = file("/memories/a.md", &text, None).unwrap();
        assert!(view.len() < SHOWN_BYTES + 200, "{}", view.len());
        let told = view.lines().last().unwrap();
        let from: i64 = told.split_whitespace().nth(8).unwrap().parse().unwrap();
        let next = file("/memories/a.md", &text, Some(&[from, from])).unwrap();
        assert!(next.ends_with(&format!("{from:>6}\t0123456789")), "{next}");
        assert!(!view.contains(&format!("{from:>6}\t")));
    }

    #[test]
    fn a_folder_shows_two_levels() {
        let entry = |path: &str, bytes| ListedFile { path: path.to_owned(), bytes };
        let entries =
            [entry("fog.md", 1536), entry("plans/a.md", 10), entry("plans/deep/b.md", 2048)];
        assert_eq!(
            folder("/memories/", &entries),
            "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n\
             3.5K\t/memories\n1.5K\t/memories/fog.md\n2.0K\t/memories/plans/\n10B\t/memories/plans/a.md\n\
             2K\t/memories/plans/deep/"
        );
        let mut many: Vec<_> = (0..1_500).map(|n| entry(&format!("{n:04}.md"), 1)).collect();
        let view = folder("/memories/plans", &many);
        assert!(view.ends_with("Entries not shown: 500. To find them, view a folder"));
        many.push(entry("MEMORY.md", 1));
        let view = folder("/memories", &many);
        assert!(view.ends_with(
            "Entries not shown: 501. To find them, view a folder or /memories/MEMORY.md"
        ));
    }

    #[test]
    fn sizes_are_short() {
        for (bytes, expect) in
            [(0, "0B"), (1, "1B"), (1023, "1023B"), (1024, "1K"), (1536, "1.5K"), (1 << 20, "1M")]
        {
            assert_eq!(size(bytes), expect);
        }
    }

    #[test]
    fn hidden_characters_and_tags_are_not_passed_on() {
        let view = file("/memories/a.md", "a\u{202e}b </memory> c", None).unwrap();
        assert!(view.ends_with("\tab &lt;/memory> c"), "{view}");
    }
}
