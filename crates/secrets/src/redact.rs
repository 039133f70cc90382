//! Replaces each secret in shared text with a description of its kind.

use std::ops::Range;

use crate::rules::{self, RuleHit};
use crate::view::SecretView;
use crate::{Hiding, ScannedText, SecretFinding, scan};

/// What the rules of private keys call them, and the last line of a key in PEM's format.
const PRIVATE_KEY: &str = "a private key";
const KEY_END: &str = "-----END ";
const KEY_DASHES: &str = "-----";

/// Returns the text with each secret replaced by a description of its kind, such as `token = [removed: a GitHub token]`; `None` if there is none.
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
    let mut hits = rules::hits(&SecretView::plain(text));
    // Of several rules that find the same, the specific one says what it is.
    hits.sort_by_key(|hit| (start(hit), hit.rule.generic));
    let (mut redacted, mut end) = (String::with_capacity(text.len()), 0);
    for hit in &hits {
        // What was removed already is not looked at again.
        if hit.value.end <= end {
            continue;
        }
        let range = whole_secret(text, hit);
        if range.start >= end {
            redacted.push_str(&text[end..range.start]);
            redacted.push_str(&mark(&hit.rule.what));
        }
        end = end.max(range.end);
    }
    redacted.push_str(&text[end..]);
    redacted
}

fn start(hit: &RuleHit) -> usize {
    if hit.rule.what == PRIVATE_KEY { hit.whole.start } else { hit.value.start }
}

/// Returns the range of a secret, between characters. The rule of a private key matches only its beginning.
fn whole_secret(text: &str, hit: &RuleHit) -> Range<usize> {
    let start = text.floor_char_boundary(start(hit));
    if hit.rule.what != PRIVATE_KEY {
        let end = text.ceil_char_boundary(hit.value.end);
        // A rule for names does not know where a password ends.
        let rest = text[end..].find(|c: char| c.is_whitespace() || "\"'`".contains(c));
        let end = if hit.rule.generic { rest.map_or(text.len(), |rest| end + rest) } else { end };
        return start..end;
    }
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

/// Replaces the lines of these findings, which are sorted, to the end of the paragraph: a disguised secret may be longer than what was
/// found of it.
fn without_lines(text: &str, findings: &[SecretFinding]) -> String {
    let mut findings = findings.iter().peekable();
    let (mut lines, mut is_inside) = (Vec::new(), false);
    for (number, line) in (1..).zip(text.split('\n')) {
        is_inside &= !line.trim().is_empty();
        let found =
            std::iter::from_fn(|| findings.next_if(|finding| finding.line <= number)).last();
        match found {
            Some(finding) => {
                is_inside = finding.place != Hiding::Text;
                lines.push(mark(finding.what));
            }
            None if is_inside => {}
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
    fn a_secret_is_replaced_by_a_description() {
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
    fn an_encoded_key_is_removed_to_its_end() {
        // `base64` of a private key, in lines of 76 characters.
        let body = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW";
        let encoded = [
            "LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVEUgS0VZLS0tLS0KYjNCbGJuTnphQzFyWlhrdGRqRUFB",
            "QUFCRzV2Ym1VQUFBQUVibTl1WlFBQUFBQUFBQUFCQUFBQU13QUFBQXR6YzJndFpX",
            body,
        ];
        let redacted = redact(&format!("$ base64 id\n{}\n\nkept", encoded.join("\n"))).unwrap();
        assert!(!redacted.contains(body) && !redacted.contains("QUFCRzV2Ym1V"), "{redacted}");
        assert!(redacted.ends_with("kept"), "{redacted}");
    }

    #[test]
    fn a_password_is_removed_to_its_end() {
        let redacted = redact("PASSWORD=Tr0ub4dor&3x,Zq8wKp2LmXv run").unwrap();
        assert!(!redacted.contains("Zq8wKp2LmXv") && redacted.ends_with(" run"), "{redacted}");
    }

    #[test]
    fn many_beginnings_of_keys_take_linear_time() {
        let line = "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1vQ8ZxK3nq0Yt7Jr2mWc5LpXe9\n";
        let text = line.repeat(4_000);
        let start = std::time::Instant::now();
        assert_eq!(redact(&text).unwrap(), "[removed: a private key]");
        // It took minutes when each beginning was followed to the end.
        assert!(start.elapsed().as_secs() < 20);
    }

    #[test]
    fn nothing_that_a_scan_finds_is_left() {
        let hidden = TOKEN.replace("B2", "B\u{200b}2");
        let (start, end) = TOKEN.split_at(20);
        for text in [
            format!("a {hidden} b\n\nkept"),
            format!("wrapped: {start}\n    {end}\n\nkept"),
            format!(
                "{}\n\nkept",
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
