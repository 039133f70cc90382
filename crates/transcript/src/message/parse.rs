//! Reads a message object in one pass: only the members that matter for structure are parsed.

use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::ids::AssistantMessageId;
use crate::json::{BadJson, Cursor};

use super::block::{block_at, mended, string_of, text_of};
use super::{
    Block, BlockKind, MAX_BLOCKS, Message, MessageMeta, MessageSource, ParseError, Role, TextPlace,
    TokenUsage,
};

/// A message object as it was found in a JSON text, not yet validated.
#[derive(Debug)]
pub struct MessageObject<'a> {
    /// JSON; `None` if it is absent or `null`, as for the other members.
    pub id: Option<&'a str>,
    pub created_at: Option<&'a str>,
    role: Option<&'a str>,
    assistant_message_id: Option<&'a str>,
    model: Option<&'a str>,
    usage: Option<&'a str>,
    said_as: Option<&'a str>,
    content: Option<Result<Vec<Block>, ParseError>>,
    raw: Bytes,
}

impl<'a> MessageObject<'a> {
    /// Reads `raw`, which must be exactly one message object.
    pub fn whole(raw: &'a Bytes) -> Result<Self, ParseError> {
        let text = std::str::from_utf8(raw).map_err(|e| {
            ParseError::at("", format!("invalid UTF-8 at byte {}", e.valid_up_to()))
        })?;
        let mut at = Cursor::with_depth(raw, usize::MAX);
        let object = Self::read(raw, &mut at);
        object.and_then(|object| at.end().map(|()| object)).map_err(|_| explain(text))
    }

    /// Reads the object that comes next in `body`, which `at` walks. A repeated member is an error.
    pub fn read(body: &'a Bytes, at: &mut Cursor<'a>) -> Result<Self, BadJson> {
        at.peek();
        let start = at.at;
        let mut values = [None; 7];
        let mut content = None;
        let names = [
            "id",
            "created_at",
            "role",
            "assistant_message_id",
            "model",
            "usage",
            "said_as",
            "content",
        ];
        let is_plain = at.object(names, |at, nth| {
            match values.get_mut(nth) {
                Some(value) => *value = Some(text_of(at.skip()?)).filter(|text| *text != "null"),
                None => content = content_at(body, at)?,
            }
            Ok(())
        })?;
        if !is_plain {
            return Err(at.wrong());
        }
        let [id, created_at, role, assistant_message_id, model, usage, said_as] = values;
        let raw = body.slice(start..at.at);
        Ok(Self { id, created_at, role, assistant_message_id, model, usage, said_as, content, raw })
    }

    /// Returns the message, or the first thing that is wrong with it.
    pub fn message(self, meta: MessageMeta, source: MessageSource) -> Result<Message, ParseError> {
        let role = role_of(self.role)?;
        let blocks = self.content.unwrap_or_else(|| {
            Err(ParseError::at("content", "is missing; use a string or an array of blocks"))
        })?;
        // The `id` is the assistant message's only if the object comes from the provider.
        let own_id = self.id.filter(|_| source == MessageSource::Provider);
        let id = self.assistant_message_id.or(own_id).filter(|_| role == Role::Assistant);
        let field = "assistant_message_id";
        let id_of = |raw| {
            AssistantMessageId::new(&string_of(field, raw)?)
                .map_err(|e| ParseError::at(field, e.to_string()))
        };
        let assistant_message_id = id.map(id_of).transpose()?;
        let model = self.model.map(|raw| string_of("model", raw)).transpose()?;
        let usage = self.usage.map(usage_of).transpose()?;
        let MessageMeta { seq, id, created_at } = meta;
        Ok(Message {
            seq,
            id,
            created_at,
            role,
            assistant_message_id,
            model: model.map(|model| model.into_owned().into_boxed_str()),
            usage,
            is_instruction: role == Role::User && self.said_as.is_some(),
            blocks: blocks.into_boxed_slice(),
            raw: self.raw,
        })
    }
}

/// Explains why `text` is not a message object.
fn explain(text: &str) -> ParseError {
    #[derive(Deserialize)]
    #[allow(dead_code, reason = "only whether they can be read matters")]
    struct Head {
        role: Option<IgnoredAny>,
        content: Option<IgnoredAny>,
        id: Option<IgnoredAny>,
        created_at: Option<IgnoredAny>,
        assistant_message_id: Option<IgnoredAny>,
        model: Option<IgnoredAny>,
        usage: Option<IgnoredAny>,
    }
    let problem = match (text.trim_start().chars().next(), serde_json::from_str::<Head>(text)) {
        (Some('{'), Err(error)) => format!("not a message object: {error}"),
        (Some(_), _) => "a message must be an object with `role` and `content`".to_owned(),
        (None, _) => "empty: a message must be an object with `role` and `content`".to_owned(),
    };
    ParseError::at("", problem)
}

fn role_of(raw: Option<&str>) -> Result<Role, ParseError> {
    match raw {
        Some(r#""user""#) => Ok(Role::User),
        Some(r#""assistant""#) => Ok(Role::Assistant),
        Some(other) => {
            let shown: String = other.chars().take(40).collect();
            let problem = format!("{shown} is not a role: use \"user\" or \"assistant\"");
            Err(ParseError::at("role", problem))
        }
        None => Err(ParseError::at("role", "is missing; use \"user\" or \"assistant\"")),
    }
}

fn usage_of(raw: &str) -> Result<TokenUsage, ParseError> {
    // Every figure is read by itself: providers send null or fractions for unknown ones.
    let value: serde_json::Value = serde_json::from_str(raw)
        .map_err(|e| ParseError::at("usage", format!("not readable: {e}")))?;
    let Some(object) = value.as_object() else {
        return Err(ParseError::at("usage", "must be an object of token counts"));
    };
    let figure = |key: &str| match object.get(key) {
        None | Some(serde_json::Value::Null) => Ok(0),
        Some(value) => value.as_u64().filter(|n| *n <= u64::from(u32::MAX)).ok_or_else(|| {
            let problem = format!("must be a whole number from 0 to {}", u32::MAX);
            ParseError::at(format!("usage.{key}"), problem)
        }),
    };
    Ok(TokenUsage {
        input_tokens: figure("input_tokens")?,
        output_tokens: figure("output_tokens")?,
        cache_creation_input_tokens: figure("cache_creation_input_tokens")?,
        cache_read_input_tokens: figure("cache_read_input_tokens")?,
    })
}

/// Reads the blocks of the content that comes next; `None` for `null`. The error names the first thing that is wrong
/// with them.
fn content_at(
    body: &Bytes,
    at: &mut Cursor<'_>,
) -> Result<Option<Result<Vec<Block>, ParseError>>, BadJson> {
    match at.peek() {
        Some(b'"') => {
            at.met_surrogate = false;
            let literal = [b"\"", at.string()?, b"\""].concat();
            let json = Bytes::from([br#"{"type":"text","text":"#, &*literal, b"}"].concat());
            let end = json.len() - 1;
            let block = Block {
                mended: mended(&json, at),
                kind: BlockKind::Text,
                media: 0,
                has_cache_control: false,
                place: TextPlace::At(end - literal.len()..end),
                json,
            };
            Ok(Some(Ok(vec![block])))
        }
        Some(b'[') => {
            let mut blocks = Ok(Vec::new());
            let mut count = 0;
            at.array(|at| {
                let block = block_at(body, count, at)?;
                count += 1;
                if count > MAX_BLOCKS {
                    blocks = Ok(Vec::new());
                } else if let Ok(known) = &mut blocks {
                    match block {
                        Ok(block) => known.push(block),
                        Err(wrong) => blocks = Err(wrong),
                    }
                }
                Ok(())
            })?;
            if count > MAX_BLOCKS {
                let problem = format!("must have at most {MAX_BLOCKS} blocks, but has {count}");
                blocks = Err(ParseError::at("content", problem));
            }
            Ok(Some(blocks))
        }
        _ if at.skip()? == b"null" => Ok(None),
        _ => Ok(Some(Err(ParseError::at("content", "must be a string or an array of blocks")))),
    }
}
