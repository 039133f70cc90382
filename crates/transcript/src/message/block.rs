//! A content block: its bytes, its kind, and where its text is; read in one pass.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::ids::ToolUseId;
use crate::json::{self, BadJson, Cursor};

/// The kind of a block, as far as it matters for structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockKind {
    Text,
    ToolUse {
        id: ToolUseId,
        name: Arc<str>,
    },
    ToolResult {
        tool_use_id: ToolUseId,
        is_error: bool,
    },
    Thinking,
    RedactedThinking,
    Image,
    Document,
    /// Any other block, by its `type`; kept verbatim.
    Other(Arc<str>),
}

impl BlockKind {
    pub fn is_thinking(&self) -> bool {
        matches!(self, BlockKind::Thinking | BlockKind::RedactedThinking)
    }
}

/// One content block: its bytes exactly as they arrived, and its kind.
///
/// A message whose content is a bare string has one text block around that string's literal.
#[derive(Clone, Debug)]
pub struct Block {
    pub json: Bytes,
    pub kind: BlockKind,
    /// Number of images and documents in the block, including those nested in a tool result.
    pub media: u16,
    /// Whether the client marked the block as a cache breakpoint. bethink places its own breakpoints.
    pub has_cache_control: bool,
    /// If a provider would reject the block, bytes that it accepts: without half a surrogate pair, with an object as a call's
    /// input, or with text as a result's content.
    pub mended: Option<Bytes>,
    pub place: TextPlace,
}

/// Where a block's JSON contains its text or its input. Stored so that the JSON is searched only once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextPlace {
    Nowhere,
    At(Range<usize>),
    /// The text parts of a tool result.
    Parts(Box<[Range<usize>]>),
}

impl Block {
    /// Makes a block from a prompt's block, to read its text.
    pub fn shown(json: Bytes, kind: BlockKind) -> Self {
        let place = TextPlace::of(&json, &kind);
        Self { json, kind, media: 0, has_cache_control: false, mended: None, place }
    }

    pub fn as_str(&self) -> &str {
        text_of(&self.json)
    }

    /// Readable text of the block: text, thinking, or the text parts of a tool result.
    pub fn text(&self) -> Cow<'_, str> {
        match (&self.kind, &self.place) {
            (BlockKind::ToolUse { .. }, _) | (_, TextPlace::Nowhere) => Cow::Borrowed(""),
            // Content of another type is shown as JSON.
            (BlockKind::ToolResult { .. }, TextPlace::At(place))
                if !self.json_at(place).starts_with('"') =>
            {
                Cow::Borrowed(self.json_at(place))
            }
            (_, TextPlace::At(place)) => self.string_at(place),
            (_, TextPlace::Parts(parts)) => {
                Cow::Owned(parts.iter().map(|p| self.string_at(p)).collect::<Vec<_>>().join("\n"))
            }
        }
    }

    /// The `input` of a tool call, as JSON.
    pub fn input(&self) -> &str {
        match &self.place {
            TextPlace::At(place) => self.json_at(place),
            _ => "{}",
        }
    }

    fn json_at(&self, place: &Range<usize>) -> &str {
        self.as_str().get(place.clone()).unwrap_or_default()
    }

    fn string_at(&self, place: &Range<usize>) -> Cow<'_, str> {
        let json = self.json_at(place);
        if json.starts_with('"') { json::decode_string(json) } else { Cow::Borrowed("") }
    }
}

/// Why a message is invalid. `field` is a path within the message, such as `content[2].tool_use_id`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct ParseError {
    pub field: String,
    pub problem: String,
}

impl ParseError {
    pub(super) fn at(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }
}

/// A slice of a `str`, cut at the ends of a JSON value.
pub(super) fn text_of(json: &[u8]) -> &str {
    std::str::from_utf8(json).unwrap_or_default()
}

pub(super) fn string_of<'a>(field: &str, raw: &'a str) -> Result<Cow<'a, str>, ParseError> {
    match raw.starts_with('"') {
        true => Ok(json::decode_string(raw)),
        false => Err(ParseError::at(field, "must be a string")),
    }
}

/// Bytes that a provider accepts, if the cursor found half a surrogate pair.
pub(super) fn mended(json: &Bytes, at: &Cursor<'_>) -> Option<Bytes> {
    if at.met_surrogate { json::without_lone_surrogates(text_of(json)) } else { None }
}

/// Members of a block that are read. The content of a tool result is parsed as well.
const MEMBERS: [&str; 10] = [
    "type",
    "id",
    "name",
    "tool_use_id",
    "is_error",
    "cache_control",
    "text",
    "thinking",
    "input",
    "content",
];

/// The positions of a block's members, relative to its beginning, and facts about its content if that is an array of parts.
#[derive(Default)]
struct BlockObject {
    /// In the order of [`MEMBERS`].
    places: [Option<Range<usize>>; MEMBERS.len()],
    parts: Option<Box<[Range<usize>]>>,
    media: u16,
    is_plain: bool,
}

impl BlockObject {
    fn read(at: &mut Cursor<'_>) -> Result<Self, BadJson> {
        let start = at.at;
        let mut found = Self::default();
        found.is_plain = at.object(MEMBERS, |at, nth| {
            let is_list = at.peek() == Some(b'[') && MEMBERS[nth] == "content";
            let from = at.at;
            match is_list {
                true => found.parts_at(start, at)?,
                false => drop(at.skip()?),
            }
            let is_given = at.slice(from) != b"null";
            found.places[nth] = is_given.then(|| from - start..at.at - start);
            Ok(())
        })?;
        Ok(found)
    }

    /// Finds the text parts of a tool result, and counts images and documents. If a part is not an object with a `type`, the
    /// array counts as content of another type.
    fn parts_at(&mut self, start: usize, at: &mut Cursor<'_>) -> Result<(), BadJson> {
        let (mut texts, mut media, mut is_readable) = (Vec::new(), 0_u16, true);
        at.array(|at| {
            if at.peek() != Some(b'{') {
                is_readable = false;
                return at.skip().map(drop);
            }
            let mut is_typed = false;
            is_readable &= at.object(["type", "text"], |at, nth| {
                at.peek();
                let from = at.at;
                let value = at.skip()?;
                let kind = || json::decode_string(text_of(value));
                is_typed |= nth == 0 && value.starts_with(b"\"");
                if nth == 1 && value != b"null" {
                    texts.push(from - start..at.at - start);
                } else if nth == 0 && matches!(&*kind(), "image" | "document") {
                    media = media.saturating_add(1);
                }
                Ok(())
            })?;
            is_readable &= is_typed;
            Ok(())
        })?;
        self.parts = is_readable.then(|| texts.into());
        self.media = if is_readable { media } else { 0 };
        Ok(())
    }

    fn kind(&self, index: usize, json: &Bytes) -> Result<BlockKind, ParseError> {
        #[derive(Deserialize)]
        #[allow(dead_code, reason = "only whether they can be read matters")]
        struct Head {
            r#type: Option<IgnoredAny>,
            id: Option<IgnoredAny>,
            name: Option<IgnoredAny>,
            tool_use_id: Option<IgnoredAny>,
            is_error: Option<IgnoredAny>,
            content: Option<IgnoredAny>,
            text: Option<IgnoredAny>,
            cache_control: Option<IgnoredAny>,
        }
        if !self.is_plain
            && let Err(error) = serde_json::from_slice::<Head>(json)
        {
            return Err(ParseError::at(
                format!("content[{index}]"),
                format!("not a block: {error}"),
            ));
        }
        let [kind, id, name, tool_use_id, is_error, _, text, ..] = &self.places;
        let string = |member: &str, place: &Option<Range<usize>>| {
            let field = format!("content[{index}].{member}");
            match place {
                Some(place) => string_of(&field, text_of(&json[place.clone()])),
                None => Err(ParseError::at(field, "is missing")),
            }
        };
        let call = |member: &str, place: &Option<Range<usize>>| {
            ToolUseId::new(&string(member, place)?)
                .map_err(|e| ParseError::at(format!("content[{index}].{member}"), e.to_string()))
        };
        Ok(match &*string("type", kind)? {
            "text" => string("text", text).map(|_| BlockKind::Text)?,
            "tool_use" => BlockKind::ToolUse {
                id: call("id", id)?,
                name: string("name", name)?.as_ref().into(),
            },
            "tool_result" => BlockKind::ToolResult {
                tool_use_id: call("tool_use_id", tool_use_id)?,
                is_error: is_error.clone().is_some_and(|place| &json[place] == b"true"),
            },
            "thinking" => BlockKind::Thinking,
            "redacted_thinking" => BlockKind::RedactedThinking,
            "image" => BlockKind::Image,
            "document" => BlockKind::Document,
            other => BlockKind::Other(other.into()),
        })
    }

    /// Returns the member that a provider would reject in a block of this kind, and a value that it accepts.
    fn corrected(&self, kind: &BlockKind, json: &str) -> Option<(&'static str, String)> {
        let [.., input, content] = &self.places;
        let value = |place: &Range<usize>| json.get(place.clone()).unwrap_or_default();
        match kind {
            BlockKind::ToolUse { .. } => {
                let input = input.as_ref().map(value);
                let object = match input {
                    None => "{}".to_owned(),
                    Some(input) if input.starts_with('{') => return None,
                    Some(input) => {
                        object_in(input).unwrap_or_else(|| format!("{{\"input\":{input}}}"))
                    }
                };
                Some(("input", object))
            }
            BlockKind::ToolResult { .. } if self.parts.is_none() => {
                let content = value(content.as_ref()?);
                (!content.starts_with('"')).then(|| ("content", json::encode_string(content)))
            }
            _ => None,
        }
    }

    /// Where the text or the input of a block of this kind is.
    fn place(self, kind: &BlockKind) -> TextPlace {
        let [.., text, thinking, input, content] = self.places;
        let one = match kind {
            BlockKind::Text => text,
            BlockKind::Thinking => thinking,
            BlockKind::ToolUse { .. } => input,
            BlockKind::ToolResult { .. } => match self.parts {
                Some(parts) => return TextPlace::Parts(parts),
                None => content,
            },
            _ => None,
        };
        one.map_or(TextPlace::Nowhere, TextPlace::At)
    }
}

impl TextPlace {
    pub(super) fn of(json: &[u8], kind: &BlockKind) -> Self {
        let found = BlockObject::read(&mut Cursor::with_depth(json, usize::MAX));
        found.map_or(TextPlace::Nowhere, |found| found.place(kind))
    }
}

/// Returns the JSON object that a string contains. Some agents keep a call's arguments as text.
fn object_in(literal: &str) -> Option<String> {
    /// Far deeper than any tool's arguments; providers limit the depth of a request.
    const MAX_DEPTH: usize = 64;
    let text = literal.starts_with('"').then(|| json::decode_string(literal))?;
    if json::depth(text.as_bytes()) > MAX_DEPTH {
        return None;
    }
    json::members(&text)?;
    let mended = json::without_lone_surrogates(&text);
    Some(mended.map_or_else(|| text.into_owned(), |mended| text_of(&mended).to_owned()))
}

/// Reads the block that comes next. The error says what is wrong with it.
pub(super) fn block_at(
    body: &Bytes,
    index: usize,
    at: &mut Cursor<'_>,
) -> Result<Result<Block, ParseError>, BadJson> {
    if at.peek() != Some(b'{') {
        at.skip()?;
        let field = format!("content[{index}]");
        return Ok(Err(ParseError::at(field, "a block must be an object with a `type`")));
    }
    at.met_surrogate = false;
    let start = at.at;
    let found = BlockObject::read(at)?;
    let json = body.slice(start..at.at);
    let mended = mended(&json, at);
    Ok(found.kind(index, &json).map(|kind| Block {
        mended: {
            let whole = text_of(mended.as_ref().unwrap_or(&json));
            match found.corrected(&kind, whole) {
                Some((member, value)) => json::with_member(whole, member, &value),
                None => mended,
            }
        },
        media: match kind {
            BlockKind::ToolResult { .. } => found.media,
            BlockKind::Image | BlockKind::Document => 1,
            _ => 0,
        },
        has_cache_control: found.places[5].is_some(),
        place: found.place(&kind),
        kind,
        json,
    }))
}
