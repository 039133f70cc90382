//! The canonical bytes of a message: messages with the same meaning have the same bytes.
//!
//! Strings are decoded, so that escapes do not matter. `0xFF` ends each string, because it never occurs in UTF-8.

use std::borrow::Cow;

use bethink_transcript::json::{BadJson, Cursor, unescape};
use memchr::memchr;

use crate::shape::{BlockShape, ContentShape};

const END: u8 = 0xFF;

/// Members that do not help to identify an image or a document.
const FORM: [&[u8]; 2] = [b"type", b"citations"];

/// Members of other blocks that are not part of the block's meaning. Clients of OpenAI's Responses API leave these
/// members out when they send an item again.
const STATE: [&[u8]; 2] = [b"id", b"status"];

/// Appends the content's canonical bytes. Thinking and reasoning are left out: many clients drop them, and no client
/// may change them, because the provider checks their signatures. Adjacent text blocks count as one; if `trims`, white
/// space around them is ignored.
pub(crate) fn content(
    out: &mut Vec<u8>,
    content: &ContentShape<'_>,
    trims: bool,
    media: &mut u32,
) -> Result<(), BadJson> {
    match content {
        ContentShape::None => {}
        ContentShape::Text(literal) => text_run(out, [*literal], trims),
        ContentShape::Blocks(blocks) => {
            // Clients add reminders such as the date to a message, and leave them out when they send it again.
            let skips_reminders = !trims && blocks.iter().any(|block| !is_reminder(block));
            for run in blocks.chunk_by(|a, b| is_text(a) && is_text(b)) {
                match run {
                    [other] if !is_text(other) => block(out, other, media)?,
                    texts => {
                        let texts = texts.iter().filter(|block| {
                            block.kind == b"text" && !(skips_reminders && is_reminder(block))
                        });
                        let literals = texts.filter_map(|block| block.member(b"text"));
                        text_run(out, literals.map(unquoted), trims);
                    }
                }
            }
        }
        ContentShape::Other(raw) => {
            out.push(b'?');
            value(out, raw)?;
        }
    }
    Ok(())
}

fn is_text(block: &BlockShape<'_>) -> bool {
    matches!(block.kind, b"text" | b"thinking" | b"redacted_thinking" | b"reasoning")
}

/// Returns whether a text block is nothing but a client's reminder.
fn is_reminder(block: &BlockShape<'_>) -> bool {
    let mut text = match block.kind {
        b"text" => block.member(b"text").map(unquoted).unwrap_or_default(),
        _ => return false,
    };
    // The end of a line is escaped.
    while let Some(before) = text.strip_suffix(b"\\n") {
        text = before;
    }
    text.starts_with(b"<system-reminder>") && text.ends_with(b"</system-reminder>")
}

/// Appends strings as one string, or nothing if all are empty.
fn text_run<'a>(out: &mut Vec<u8>, literals: impl IntoIterator<Item = &'a [u8]>, trims: bool) {
    out.push(b'T');
    let from = out.len();
    literals.into_iter().for_each(|literal| unescape(out, literal));
    if trims {
        let said = out.get(from..).unwrap_or_default();
        let before = said.len() - said.trim_ascii_start().len();
        let length = said.trim_ascii().len();
        out.copy_within(from + before..from + before + length, from);
        out.truncate(from + length);
    }
    if out.len() == from {
        out.pop();
    } else {
        out.push(END);
    }
}

fn block(out: &mut Vec<u8>, block: &BlockShape<'_>, media: &mut u32) -> Result<(), BadJson> {
    match block.kind {
        b"tool_use" => {
            out.push(b'U');
            optional(out, block.member(b"id"))?;
            optional(out, block.member(b"name"))?;
            optional(out, block.member(b"input").or(Some(b"{}")))
        }
        b"tool_result" => {
            out.push(b'R');
            optional(out, block.member(b"tool_use_id"))?;
            out.push(u8::from(block.member(b"is_error") == Some(b"true")));
            content(out, &block.content, false, media)?;
            out.push(END);
            Ok(())
        }
        b"image" | b"document" => {
            *media += 1;
            out.push(if block.kind == b"image" { b'I' } else { b'D' });
            members(out, block.members.iter().filter(|(key, _)| !FORM.contains(key)))
        }
        _ => match block.content {
            ContentShape::Other(raw) if block.members.is_empty() => {
                out.push(b'?');
                value(out, raw)
            }
            _ => {
                out.push(b'O');
                members(out, block.members.iter().filter(|(key, _)| !STATE.contains(key)))
            }
        },
    }
}

fn optional(out: &mut Vec<u8>, raw: Option<&[u8]>) -> Result<(), BadJson> {
    match raw {
        Some(raw) => value(out, raw),
        None => {
            out.push(END);
            Ok(())
        }
    }
}

/// Appends members in the order of their keys, and skips those that are `null`.
fn members<'a>(
    out: &mut Vec<u8>,
    members: impl Iterator<Item = &'a (&'a [u8], &'a [u8])>,
) -> Result<(), BadJson> {
    let mut said: Vec<_> = members.filter(|(_, value)| *value != b"null").collect();
    said.sort_by_key(|(key, _)| *key);
    for (key, raw) in said {
        unescape(out, key);
        out.push(END);
        value(out, raw)?;
    }
    out.push(END);
    Ok(())
}

/// Appends a JSON value, with its keys sorted and its numbers normalized.
fn value(out: &mut Vec<u8>, raw: &[u8]) -> Result<(), BadJson> {
    any(out, &mut Cursor::new(raw))
}

fn any(out: &mut Vec<u8>, at: &mut Cursor<'_>) -> Result<(), BadJson> {
    match at.peek() {
        Some(b'"') => {
            out.push(b's');
            let literal = at.string()?;
            unescape(out, literal);
            out.push(END);
        }
        Some(b'{') => object(out, at)?,
        Some(b'[') => {
            out.push(b'[');
            at.array(|at| any(out, at))?;
            out.push(b']');
        }
        _ => word(out, at.word()?),
    }
    Ok(())
}

fn word(out: &mut Vec<u8>, word: &[u8]) {
    let number = std::str::from_utf8(word).ok().and_then(|text| text.parse::<f64>().ok());
    match number.filter(|number| number.is_finite()) {
        Some(number) => {
            out.push(b'n');
            // Adding zero turns minus zero into zero.
            out.extend_from_slice(&(number + 0.0).to_bits().to_be_bytes());
        }
        None => {
            out.push(b'w');
            out.extend_from_slice(word);
            out.push(END);
        }
    }
}

fn object(out: &mut Vec<u8>, at: &mut Cursor<'_>) -> Result<(), BadJson> {
    out.push(b'{');
    let from = out.len();
    let mut ranges = Vec::new();
    at.open(b'{')?;
    while at.more(ranges.is_empty(), b'}')? {
        let start = out.len();
        let literal = at.key()?;
        unescape(out, literal);
        out.push(END);
        any(out, at)?;
        ranges.push(start..out.len());
    }
    let written = |range: &std::ops::Range<usize>| out.get(range.clone()).unwrap_or_default();
    if !ranges.is_sorted_by(|a, b| written(a) <= written(b)) {
        ranges.sort_by(|a, b| written(a).cmp(written(b)));
        let sorted: Vec<u8> = ranges.iter().flat_map(written).copied().collect();
        out.truncate(from);
        out.extend_from_slice(&sorted);
    }
    out.push(b'}');
    Ok(())
}

fn unquoted(raw: &[u8]) -> &[u8] {
    raw.strip_prefix(b"\"").and_then(|raw| raw.strip_suffix(b"\"")).unwrap_or(raw)
}

/// Decodes a role's escapes.
pub(crate) fn decoded(literal: &[u8]) -> Cow<'_, [u8]> {
    if memchr(b'\\', literal).is_none() {
        return Cow::Borrowed(literal);
    }
    let mut out = Vec::new();
    unescape(&mut out, literal);
    Cow::Owned(out)
}
