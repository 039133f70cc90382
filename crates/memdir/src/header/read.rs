//! Splits a topic into header and body.

use std::ops::Range;

use super::block::{self, FrontMatterBlock};
use super::gather::{gather, is_header};
use super::{HEADER_BYTES, HEADER_LINES, Header, lines, yaml};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicText<'a> {
    pub header: Header,
    /// Position of the front matter, including the `---` lines; empty if there is none.
    pub header_range: Range<usize>,
    /// The exact text after the front matter; the whole text if there is none.
    pub body: &'a str,
}

/// Splits a topic. Parts that cannot be read are listed in the header's faults.
pub fn read(text: &str) -> TopicText<'_> {
    let start = block::after_bom(text);
    let none = || TopicText {
        header: Header::default(),
        header_range: start..start,
        body: &text[start..],
    };
    let Some(block) = block::find(text) else { return none() };
    let Some(header) = header(text, &block) else { return none() };
    TopicText { header, body: &text[block.outer.end..], header_range: block.outer }
}

/// Returns `None` if the lines in between are prose: a thematic break is also written `---`.
fn header(text: &str, block: &FrontMatterBlock) -> Option<Header> {
    // Parse from the file's first line on, so that the parser's line numbers match an editor's.
    let (root, broken) = match yaml::parse(&text[block::after_bom(text)..block.readable.end]) {
        Ok(root @ yaml::YamlNode::Map(_)) => (root, None),
        Ok(_) => (lines::parse(&text[block.readable.clone()]), Some(NO_KEYS.to_owned())),
        Err(fault) => (lines::parse(&text[block.readable.clone()]), Some(fault)),
    };
    if text[block.inner.clone()].trim().is_empty() && block.ended {
        return Some(Header::default());
    }
    if broken.is_some() && !is_header(&root) || !block.ended && !is_header(&root) {
        return None;
    }
    let mut header = gather(&root);
    let own = broken.map(|fault| format!("front matter {fault}; it was read line by line"));
    header.faults.splice(0..0, own.into_iter().chain(form(block)));
    Some(header)
}

const NO_KEYS: &str = "contains no keys";

fn form(block: &FrontMatterBlock) -> Option<String> {
    if !block.ended {
        return Some(format!(
            "front matter has no end: no `---` line follows within {HEADER_BYTES} bytes"
        ));
    }
    (block.readable.end < block.inner.end).then(|| {
        format!("front matter continues after line {HEADER_LINES}; later lines are not read")
    })
}
