//! Decodes encoded runs of text: base64 in both alphabets, hexadecimal, and percent encoding.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::view::SecretView;

/// Minimum length of a base64 run that can contain a key, in characters. This many characters decode to 15 bytes.
const LEAST_BASE64: usize = 20;
/// Minimum length of a hexadecimal run, in characters. This many characters decode to 16 bytes.
const LEAST_HEX: usize = 32;
/// Minimum share of printable bytes for a decoded run to count as text. In ciphertext and images, the share is about
/// 0.37.
const LEAST_PRINTABLE: f64 = 0.8;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_allow_trailing_bits(true)
    .with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// Returns the position of each run that decodes to text, and the decoded text.
pub(crate) fn runs(view: &SecretView<'_>) -> Vec<(usize, Vec<u8>)> {
    let bytes = view.bytes.as_ref();
    let mut out = Vec::new();
    for (at, run) in split(bytes, is_base64) {
        if run.len() >= LEAST_HEX && run.iter().all(u8::is_ascii_hexdigit) {
            out.extend(hex(run).map(|text| (at, text)));
        } else if run.len() >= LEAST_BASE64 {
            out.extend(base64(run).map(|text| (at, text)));
        }
    }
    if !bytes.contains(&b'%') {
        return out;
    }
    for (at, run) in split(bytes, |byte| !byte.is_ascii_whitespace() && byte != b'"') {
        out.extend(percent(run).map(|text| (at, text)));
    }
    out
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// Returns the longest runs of bytes that pass a test.
fn split(bytes: &[u8], takes: impl Fn(u8) -> bool) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        at += bytes[at..].iter().position(|byte| takes(*byte))?;
        let rest = &bytes[at..];
        let len = rest.iter().position(|byte| !takes(*byte)).unwrap_or(rest.len());
        let run = (at, &rest[..len]);
        at += len;
        Some(run)
    })
}

/// Decodes base64 in each of the four alignments, because a joined line can begin with a word that is not part of the
/// run. A wrong alignment decodes to noise.
fn base64(run: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let url = run.iter().any(|byte| matches!(byte, b'-' | b'_'));
    (0..4).filter_map(move |shift| {
        let part = run.get(shift..)?;
        // A single character at the end has only six bits and is dropped.
        let part = if part.len() % 4 == 1 { &part[..part.len() - 1] } else { part };
        let decoded = if url { URL_SAFE.decode(part) } else { STANDARD.decode(part) };
        decoded.ok().filter(|bytes| is_text(bytes))
    })
}

fn hex(run: &[u8]) -> Option<Vec<u8>> {
    let bytes: Option<Vec<u8>> = run.chunks_exact(2).map(hex_pair).collect();
    bytes.filter(|bytes| is_text(bytes))
}

/// Returns the byte that the first two digits encode.
fn hex_pair(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits.get(..2)?).ok()?, 16).ok()
}

/// Decodes a word that contains percent escapes such as `%41`. Decoding an ordinary URL with `%20` does no harm.
fn percent(run: &[u8]) -> Option<Vec<u8>> {
    if !run.contains(&b'%') {
        return None;
    }
    let mut out = Vec::with_capacity(run.len());
    let mut rest = run;
    while let Some((first, after)) = rest.split_first() {
        let decoded = hex_pair(after).filter(|_| *first == b'%');
        out.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { &after[2..] } else { after };
    }
    (out.len() < run.len()).then_some(out)
}

fn is_text(bytes: &[u8]) -> bool {
    let printable =
        bytes.iter().filter(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()).count();
    #[expect(clippy::cast_precision_loss, reason = "byte counts are far below 2^52")]
    let share = printable as f64 / bytes.len().max(1) as f64;
    share >= LEAST_PRINTABLE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        let found = runs(&SecretView::folded(text));
        let found: Vec<String> =
            found.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).collect();
        assert!(found.iter().any(|text| text.contains(expect)), "{text:?}: {found:?}");
    }

    #[test]
    fn text_comes_out_of_every_encoding() {
        let inner = "the password is here??>>";
        check(&format!("data: {}", STANDARD.encode(inner)), inner);
        check(&format!("data: {}", URL_SAFE.encode(inner)), inner);
        check(&format!("data: {}", STANDARD.encode(inner).trim_end_matches('=')), inner);
        let hex: String = inner.bytes().map(|byte| format!("{byte:02x}")).collect();
        check(&format!("data: {hex}"), inner);
        check("a%6bey%20x", "akey x");
    }

    #[test]
    fn a_word_before_a_joined_run_does_not_shift_it() {
        for word in ["", "a", "ab", "abc", "abcd"] {
            let encoded = STANDARD.encode("a long enough text to be found");
            check(&format!("{word}\n{encoded}"), "long enough text");
        }
    }

    #[test]
    fn noise_is_not_text() {
        let commit = "012ce1b9f3a8d77c65e4b2a1908f7e6d5c4b3a29";
        assert!(runs(&SecretView::plain(commit)).is_empty());
        let noise: Vec<u8> = (0..=255).collect();
        assert!(runs(&SecretView::plain(&STANDARD.encode(noise))).is_empty());
    }
}
