//! A message as spans of its own bytes: role, blocks, and breakpoints.

use std::ops::Range;

use bethink_transcript::json::{BadJson, Cursor};

use crate::NotComparable;

/// The member with which clients mark what a provider should cache.
const BREAKPOINT: &[u8] = b"cache_control";

#[derive(Debug)]
pub(crate) struct MessageShape<'a> {
    /// The role's string literal, without its quotes.
    pub(crate) role: &'a [u8],
    pub(crate) content: ContentShape<'a>,
    pub(crate) marks: Marks,
}

/// The positions of breakpoints in a message.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// The ranges to remove, so that no breakpoint is left.
    pub(crate) cuts: Vec<Range<usize>>,
    /// The value of the last breakpoint.
    pub(crate) last: Option<Range<usize>>,
}

#[derive(Debug)]
pub(crate) enum ContentShape<'a> {
    /// A string's literal, without its quotes.
    Text(&'a [u8]),
    Blocks(Vec<BlockShape<'a>>),
    None,
    /// The JSON of any other value.
    Other(&'a [u8]),
}

#[derive(Debug)]
pub(crate) struct BlockShape<'a> {
    pub(crate) kind: &'a [u8],
    /// Keys (literals without quotes) and values, without breakpoints.
    pub(crate) members: Vec<(&'a [u8], &'a [u8])>,
    /// The `content` member, parsed.
    pub(crate) content: ContentShape<'a>,
}

impl<'a> BlockShape<'a> {
    pub(crate) fn member(&self, name: &[u8]) -> Option<&'a [u8]> {
        self.members.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }
}

impl<'a> MessageShape<'a> {
    pub(crate) fn of(message: &'a [u8]) -> Result<Self, NotComparable> {
        let mut at = Cursor::new(message);
        let mut marks = Marks::default();
        let (mut role, mut found) = (None, None);
        if at.peek() != Some(b'{') {
            return Err(NotComparable::Message);
        }
        at.open(b'{')?;
        let mut nth = 0;
        while at.more(nth == 0, b'}')? {
            match at.key()? {
                b"role" if at.peek() == Some(b'"') => role = Some(at.string()?),
                b"content" => found = Some(content(&mut at, &mut marks)?),
                _ => drop(at.skip()?),
            }
            nth += 1;
        }
        at.end()?;
        match (role, found) {
            (Some(role), Some(content)) => Ok(Self { role, content, marks }),
            _ => Err(NotComparable::Message),
        }
    }
}

fn content<'a>(at: &mut Cursor<'a>, marks: &mut Marks) -> Result<ContentShape<'a>, BadJson> {
    match at.peek() {
        Some(b'"') => Ok(ContentShape::Text(at.string()?)),
        Some(b'[') => {
            let mut blocks = Vec::new();
            at.array(|at| block(at, marks).map(|block| blocks.push(block)))?;
            Ok(ContentShape::Blocks(blocks))
        }
        _ => match at.skip()? {
            b"null" => Ok(ContentShape::None),
            other => Ok(ContentShape::Other(other)),
        },
    }
}

fn block<'a>(at: &mut Cursor<'a>, marks: &mut Marks) -> Result<BlockShape<'a>, BadJson> {
    let mut block = BlockShape { kind: b"", members: Vec::new(), content: ContentShape::None };
    if at.peek() != Some(b'{') {
        block.content = ContentShape::Other(at.skip()?);
        return Ok(block);
    }
    at.open(b'{')?;
    let (mut nth, mut kept) = (0, 0);
    loop {
        let before = at.at;
        if !at.more(nth == 0, b'}')? {
            return Ok(block);
        }
        at.peek();
        let from = at.at;
        let key = at.key()?;
        at.peek();
        let value_at = at.at;
        let value = match key {
            b"content" => {
                block.content = content(at, marks)?;
                at.slice(value_at)
            }
            _ => at.skip()?,
        };
        nth += 1;
        if key == BREAKPOINT {
            marks.last = Some(value_at..at.at);
            let cut = if kept > 0 { before..at.at } else { from..after_comma(at) };
            marks.cuts.push(cut);
            continue;
        }
        kept += 1;
        if key == b"type" {
            block.kind =
                value.strip_prefix(b"\"").and_then(|v| v.strip_suffix(b"\"")).unwrap_or(b"");
        }
        block.members.push((key, value));
    }
}

/// Returns the position after the next comma, if one follows.
fn after_comma(at: &Cursor<'_>) -> usize {
    let mut ahead = at.clone();
    if ahead.takes(b',') { ahead.at } else { at.at }
}
