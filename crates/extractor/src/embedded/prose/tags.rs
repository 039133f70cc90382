//! Finds elements such as `<tag> … </tag>`, whose content is not the user's.

use std::collections::HashMap;

use super::copied::is_harness_tag;

/// Maximum length of a tag's name, in bytes.
const NAME_BYTES: usize = 64;

/// Where the elements of a message end: for each name, after its last closing tag, because the content of an element
/// may contain the same tags. All tags of agents count as one name.
#[derive(Debug, Default)]
pub(super) struct ElementEnds {
    closed: HashMap<String, usize>,
    opened: HashMap<String, usize>,
}

struct Tag {
    key: String,
    start: usize,
    end: usize,
    closes: bool,
    is_harness: bool,
}

impl ElementEnds {
    /// Reads all tags of a message, once.
    pub(super) fn of(text: &str) -> Self {
        let mut ends = Self::default();
        for tag in tags(text, 0) {
            match tag.closes {
                true => ends.closed.insert(tag.key, tag.end),
                false if begins_line(text, tag.start) => ends.opened.insert(tag.key, tag.start),
                false => None,
            };
        }
        ends
    }

    /// Returns the part of the message that is not the user's because of the tags in a line.
    pub(super) fn of_line(&self, text: &str, line: std::ops::Range<usize>) -> Foreign {
        let within = text.get(line.clone()).unwrap_or_default();
        for tag in tags(within, line.start) {
            let is_alone =
                || within.trim_end().len() + line.start == tag.end || begins_line(text, tag.start);
            if tag.closes && (tag.is_harness || is_alone()) {
                return Foreign::Before;
            }
            if tag.closes {
                continue;
            }
            let closed = self.closed.get(&tag.key).copied().filter(|end| *end > tag.start);
            // If a tag opens again and is not closed, the rest of the message belongs to it.
            let opened = self.opened.get(&tag.key).copied().filter(|open| *open >= tag.start);
            match (closed, opened) {
                (closed, Some(open)) if closed.is_none_or(|end| open > end) => {
                    return Foreign::Until(text.len());
                }
                (Some(end), _) => return Foreign::Until(end),
                _ => {}
            }
        }
        Foreign::Nothing
    }
}

/// A part of a message that is not the user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Foreign {
    Nothing,
    /// From this line to this offset.
    Until(usize),
    /// Everything up to this line, because an element whose beginning is missing ends here.
    Before,
}

fn begins_line(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    before
        .bytes()
        .rev()
        .take_while(|byte| *byte != b'\n')
        .take(NAME_BYTES)
        .all(|byte| b" \t>*-".contains(&byte))
}

/// Returns the tags in a text that begins at this offset of the message.
fn tags(text: &str, offset: usize) -> impl Iterator<Item = Tag> {
    text.match_indices('<').filter_map(move |(at, _)| {
        let is_code = text[..at].ends_with('`');
        let mut tag = tag(&text[at..]).filter(|_| !is_code)?;
        tag.start += offset + at;
        tag.end += offset + at;
        Some(tag)
    })
}

/// Reads `<name` or `</name>` at the beginning of a text. Only closing tags and tags of agents may have spaces before
/// the name; otherwise, `a < b` would be a tag.
fn tag(text: &str) -> Option<Tag> {
    let inner = text.get(1..)?;
    let bare = inner.trim_start_matches(' ');
    let closes = bare.starts_with('/');
    let name = bare.trim_start_matches(['/', ' ']);
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_:.".contains(byte);
    let length = name.bytes().take(NAME_BYTES).take_while(is_name).count();
    let key = name.get(..length)?.to_ascii_lowercase();
    if !key.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let is_harness = is_harness_tag(&key);
    if !is_harness && !closes && bare.len() != inner.len() {
        return None;
    }
    let after = text.len() - name.len() + length;
    let rest = text.get(after..)?;
    let end = match closes {
        // A closing tag may have spaces, and its `>` may be missing.
        true => {
            after + rest.len()
                - rest.trim_start_matches(' ').strip_prefix('>').unwrap_or(rest).len()
        }
        false => after,
    };
    let key = if is_harness { String::new() } else { key };
    Some(Tag { key, start: 0, end, closes, is_harness })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `after` is the text after the part that is not the user's; `None` if all of it may be.
    fn check(text: &str, line: &str, after: Option<&str>) {
        let start = text.find(line).unwrap();
        let found = match ElementEnds::of(text).of_line(text, start..start + line.len()) {
            Foreign::Until(end) => Some(&text[end..]),
            Foreign::Before => Some("everything before"),
            Foreign::Nothing => None,
        };
        assert_eq!(found, after, "{text}");
    }

    #[test]
    fn an_element_ends_at_its_last_closing_tag() {
        check("<a>\nx</a>\ny</a>\nz", "<a>", Some("\nz"));
        check("<a>\nx</A >\ny", "<a>", Some("\ny"));
        check("<a x='1'>\ny", "<a x='1'>", Some(""));
        check("look <a>x</a> ok", "look <a>x</a> ok", Some(" ok"));
        check("<a>\nx</a>\ny\n<a>\nz", "<a>", Some(""));
        let output = "<bash-input>x</bash-input>\ny\n<bash-stdout>z</bash-stdout>!";
        check(output, "<bash-input>x</bash-input>", Some("!"));
        check("< bash-stdout >\nx\n</ bash-stdout >!", "< bash-stdout >", Some("!"));
    }

    #[test]
    fn an_end_without_a_beginning_takes_what_is_before() {
        check("x\n</bash-stdout> y", "</bash-stdout> y", Some("everything before"));
        check("x\ny</div>", "y</div>", Some("everything before"));
        check("close it with </div>, ok", "close it with </div>, ok", None);
    }

    #[test]
    fn comparisons_types_and_code_are_no_elements() {
        for text in
            ["a < b", "Vec<String> is a list", "use `<div>` here </div> there", "1 <2", "<3"]
        {
            check(text, text, None);
        }
    }
}
