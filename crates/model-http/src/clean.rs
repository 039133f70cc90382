//! Cleans a provider's text so that it can be shown and stored: the result is one line of limited length, without
//! terminal escapes and without the key.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bethink_invisible_chars::kind as invisible;
use bethink_transcript::text::{one_line as join_lines, plain};
use secrecy::zeroize::Zeroizing;

use crate::key::ApiKey;
use crate::limits::MAX_MESSAGE;

/// Maximum number of characters of a text that are read. The text is shortened to `MAX_MESSAGE` after the key has been
/// removed.
const MAX_SEEN: usize = 16 * 1024;

/// Minimum length of a part of a key that is removed from a text. Parts are removed because a server may repeat only a part of
/// the key, or mask the rest.
const PIECE: usize = 8;

pub(crate) const REDACTED: &str = "[key]";

/// Cleans `text` for an error. Removes the key in every form: unchanged, percent-encoded, or in Base64 at any offset. Parts of
/// these forms are removed too.
pub(crate) fn clean(text: &str, key: Option<&ApiKey>) -> String {
    let mut line = one_line(text);
    if let Some(key) = key {
        line = without_key(&line, key);
    }
    match line.char_indices().nth(MAX_MESSAGE) {
        None => line,
        Some(_) => line.chars().take(MAX_MESSAGE - 1).chain(['…']).collect(),
    }
}

/// Returns `body` without the key; `None` if it does not contain the key.
pub(crate) fn scrubbed(body: &[u8], key: &ApiKey) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let clean = without_key(&text, key);
    (clean != text).then_some(clean)
}

/// Replaces white space with single spaces, and removes control characters, terminal sequences and invisible characters.
fn one_line(seen: &str) -> String {
    // Line ends stay until `plain` has run: they end an unterminated terminal sequence.
    let blank = |c: char| if c.is_whitespace() && c != '\n' { ' ' } else { c };
    let seen: String = seen.chars().take(MAX_SEEN).map(blank).collect();
    let text: String = plain(&seen).chars().filter(|c| invisible(*c).is_none()).collect();
    join_lines(&text)
}

fn without_key(line: &str, key: &ApiKey) -> String {
    let forms = forms(key.expose());
    // Host names and types may come back in lowercase.
    let small = line.to_ascii_lowercase();
    let bytes = small.as_bytes();
    let mut hidden = vec![false; bytes.len()];
    let length = PIECE.min(key.expose().len()).max(1);
    let pieces: HashSet<&[u8]> = forms.iter().flat_map(|form| form.windows(length)).collect();
    for (at, window) in bytes.windows(length).enumerate() {
        if pieces.contains(window) {
            hidden.iter_mut().skip(at).take(length).for_each(|h| *h = true);
        }
    }
    let mut out = String::with_capacity(line.len());
    let mut before = false;
    for (at, c) in line.char_indices() {
        let now = hidden.get(at).copied().unwrap_or(false);
        match (before, now) {
            (false, true) => out.push_str(REDACTED),
            (_, false) => out.push(c),
            (true, true) => {}
        }
        before = now;
    }
    out
}

/// Returns the forms in which a server may repeat the key, in lowercase.
fn forms(key: &str) -> Vec<Zeroizing<Vec<u8>>> {
    let mut forms = vec![Zeroizing::new(key.as_bytes().to_ascii_lowercase())];
    if key.len() < PIECE {
        return forms;
    }
    let mut percent = Zeroizing::new(Vec::with_capacity(key.len() * 3));
    for byte in key.bytes() {
        match byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            true => percent.push(byte),
            false => percent.extend_from_slice(format!("%{byte:02x}").as_bytes()),
        }
    }
    forms.push(percent);
    for offset in 0..3usize {
        let mut padded = Zeroizing::new(vec![0u8; offset]);
        padded.extend_from_slice(key.as_bytes());
        let text = Zeroizing::new(STANDARD_NO_PAD.encode(&*padded));
        // The first and last letters contain bits of the text around the key.
        let first = (offset * 8).div_ceil(6);
        let last = text.len() - usize::from(!padded.len().is_multiple_of(3));
        let core = Zeroizing::new(text.as_bytes().get(first..last).unwrap_or_default().to_vec());
        let safe = core.iter().map(|b| match b {
            b'+' => b'-',
            b'/' => b'_',
            other => *other,
        });
        forms.push(Zeroizing::new(safe.collect()));
        forms.push(core);
    }
    forms.iter_mut().for_each(|form| form.make_ascii_lowercase());
    forms
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    use secrecy::SecretString;

    use super::*;

    const CANARY: &str = "sk-ant-Zx81+/q=&%canary:QQ7";

    fn key() -> ApiKey {
        ApiKey::new(&SecretString::from(CANARY)).ok().unwrap()
    }

    #[test]
    fn words_are_one_line_and_command_no_terminal() {
        for (text, expect) in [
            ("  plain\r\n\ttext ", "plain text"),
            ("a\u{1b}[31mred\u{1b}[0mb", "aredb"),
            ("a\u{1b}]52;c;aGk=\u{7}b", "ab"),
            ("a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\b", "alinkb"),
            ("a\u{9b}2Jb\u{9d}0;t\u{9c}c", "abc"),
            ("a\u{1b}Pq\u{1b}\\b\u{1b}cd", "abd"),
            ("a\u{0}\u{8}\u{7f}\u{85}b", "a b"),
            ("a\u{202e}b\u{200b}c\u{e0041}d\u{fe0f}", "abcd"),
            ("\u{1b}[never ends\nbut this", "ever ends but this"),
            ("\u{1b}]never ends\nbut this", "but this"),
            ("\u{1b}", ""),
        ] {
            assert_eq!(clean(text, None), expect, "{text:?}");
        }
        assert_eq!(clean(&"é".repeat(900), None).chars().count(), MAX_MESSAGE);
    }

    #[test]
    fn a_key_is_taken_out_in_every_form() {
        let key = key();
        let encoded: String = CANARY.bytes().map(|b| format!("%{b:02X}")).collect();
        assert!(clean(&format!("echo {CANARY}!"), Some(&key)).eq("echo [key]!"));
        let mut echoes = vec![
            format!("x-api-key: {CANARY}"),
            format!("key {}", CANARY.split_at(14).0),
            format!("key ***{}", CANARY.split_at(CANARY.len() - 9).1),
            CANARY.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D").replace('&', "%26"),
            format!("{}{CANARY}", "x".repeat(MAX_MESSAGE - 12)),
            format!("sk-ant\u{0}-Zx81+/q=&%can\u{1b}[0mary:QQ7"),
        ];
        for lead in ["", "a", "ab", "Bearer ", "user:"] {
            let text = format!("{lead}{CANARY}");
            echoes.extend([STANDARD.encode(&text), URL_SAFE.encode(&text)]);
        }
        for echo in &echoes {
            let shown = clean(echo, Some(&key));
            assert!(shown.contains(REDACTED), "{echo} → {shown}");
            let mut pieces = CANARY.as_bytes().windows(PIECE);
            assert!(!pieces.any(|p| shown.as_bytes().windows(PIECE).any(|w| w == p)), "{shown}");
        }
        // Nobody sends such input, but it must not cause a panic either.
        let _ = clean(&encoded, Some(&key));
    }

    #[test]
    fn other_words_stay() {
        let text = "invalid x-api-key: overloaded, 200000 tokens > 100000 — schön";
        assert_eq!(clean(text, Some(&key())), text);
        let short = ApiKey::new(&SecretString::from("ab")).ok().unwrap();
        assert_eq!(clean("cab is", Some(&short)), "c[key] is");
    }
}
