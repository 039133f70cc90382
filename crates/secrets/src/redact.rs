//! Removes secrets from text that is shared, and says what was there.

use std::ops::Range;

use crate::rules::{self, RuleHit};
use crate::view::SecretView;
use crate::{ScannedText, SecretFinding, scan};

/// What the rules of private keys call them, and the last line of a key in PEM's format.
const PRIVATE_KEY: &str = "a private key";
const KEY_END: &str = "-----END ";
const KEY_DASHES: &str = "-----";

/// Returns the text with each secret replaced by what it was, such as `token = [removed: a GitHub token]`; `None` if there is none.
///
/// A secret that is disguised is removed with its line. If that is not enough, nothing of the text is left.
pub fn redact(text: &str) -> Option<String> {
    let found = find(text);
    let first = found.first()?;
    let mut redacted = without_values(text);
    let rest = find(&redacted);
    if !rest.is_empty() {
        redacted = without_lines(&redacted, &rest);
    }
    match find(&redacted).is_empty() {
        true => Some(redacted),
        false => Some(mark(first.what)),
    }
}

fn find(text: &str) -> Vec<SecretFinding> {
    scan(&ScannedText { name: "", text })
}

fn mark(what: &str) -> String {
    format!("[removed: {what}]")
}

/// Replaces the secrets that are plain.
fn without_values(text: &str) -> String {
    let hits = rules::hits(&SecretView::plain(text));
    let mut values: Vec<(Range<usize>, &str)> =
        hits.iter().map(|hit| (whole_secret(text, hit), hit.rule.what.as_str())).collect();
    values.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    let (mut redacted, mut end) = (String::with_capacity(text.len()), 0);
    for (range, what) in values {
        if range.start >= end {
            redacted.push_str(&text[end..range.start]);
            redacted.push_str(&mark(what));
        }
        end = end.max(range.end);
    }
    redacted.push_str(&text[end..]);
    redacted
}

/// Returns the range of a secret, between characters. The rule of a private key matches only its beginning.
fn whole_secret(text: &str, hit: &RuleHit) -> Range<usize> {
    if hit.rule.what != PRIVATE_KEY {
        return text.floor_char_boundary(hit.value.start)..text.ceil_char_boundary(hit.value.end);
    }
    let start = text.floor_char_boundary(hit.whole.start);
    let from = text.ceil_char_boundary(hit.whole.end);
    let rest = &text[from..];
    let end = match (rest.find(KEY_END), rest.find("\n\n")) {
        (Some(end), _) => {
            let end = end + KEY_END.len();
            end + rest[end..].find(KEY_DASHES).map_or(0, |dashes| dashes + KEY_DASHES.len())
        }
        (None, Some(end)) => end,
        // It was cut off.
        (None, None) => rest.len(),
    };
    start..from + end
}

/// Replaces the lines of these findings. A value that extends over several lines ends with the paragraph.
fn without_lines(text: &str, findings: &[SecretFinding]) -> String {
    let mut lines = Vec::new();
    let mut is_wrapped = false;
    for (number, line) in (1..).zip(text.split('\n')) {
        let found = findings.iter().find(|finding| finding.line == number);
        is_wrapped = match found {
            Some(finding) => finding.place == crate::Hiding::Wrapped,
            None => is_wrapped && !line.trim().is_empty(),
        };
        match found {
            Some(finding) => lines.push(mark(finding.what)),
            None if is_wrapped => {}
            None => lines.push(line.to_owned()),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

    use super::*;

    const TOKEN: &str = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";

    #[test]
    fn a_secret_is_replaced_by_what_it_was() {
        assert_eq!(redact("nothing here\nat all"), None);
        let text = format!("export TOKEN={TOKEN} && make\nand again {TOKEN}");
        let expect =
            "export TOKEN=[removed: a GitHub token] && make\nand again [removed: a GitHub token]";
        assert_eq!(redact(&text).unwrap(), expect);
    }

    #[test]
    fn a_private_key_is_removed_to_its_end() {
        let body = "MIIEpAIBAAKCAQEA1vQ8ZxK3nq0Yt7Jr2mWc5LpXe9\n".repeat(3);
        let key = format!("before\n-----BEGIN RSA PRIVATE KEY-----\n{body}");
        let whole = format!("{key}-----END RSA PRIVATE KEY-----\nafter");
        let redacted = redact(&whole).unwrap();
        assert!(!redacted.contains("K3nq0Yt7"), "{redacted}");
        assert!(
            redacted.starts_with("before\n[removed: ") && redacted.ends_with("]\nafter"),
            "{redacted}"
        );
        assert!(!redact(&key).unwrap().contains("K3nq0Yt7"));
        let on_one_line = redact(&whole.replace('\n', "\\n")).unwrap();
        assert_eq!(on_one_line, "before\\n[removed: a private key]\\nafter");
    }

    #[test]
    fn nothing_that_a_scan_finds_is_left() {
        let hidden = TOKEN.replace("B2", "B\u{200b}2");
        let (start, end) = TOKEN.split_at(20);
        for text in [
            format!("a {hidden} b\nkept"),
            format!("wrapped: {start}\n    {end}\n\nkept"),
            format!(
                "{}\nkept",
                TOKEN.bytes().map(|byte| format!("{byte:02x}")).collect::<String>()
            ),
        ] {
            let redacted = redact(&text).unwrap();
            assert!(find(&redacted).is_empty(), "{redacted}");
            assert!(redacted.contains("[removed: a GitHub token]"), "{redacted}");
            assert!(redacted.contains("kept"), "{redacted}");
            assert!(!redacted.contains(end) && !redacted.contains("m3N4o5P6"), "{redacted}");
        }
    }
}
