//! Writes items of the Responses API from blocks of the Messages API.

use std::borrow::Cow;

use bethink_transcript::json::{encode_string, members, with_member};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::item::PLAIN_CALLS;
use crate::block::{ContentBlock, MediaSource};

const USER: &str = "user";

/// Returns the items for blocks of one message; `None` if a block is invalid. Adjacent texts become one message. Items
/// have no ids, because the provider may not have stored them. Reasoning that the provider did not return in encrypted
/// form is left out for the same reason. `role` is that of the messages to write: `user`, `assistant` or `developer`.
pub fn items_of_blocks<'a>(
    role: &str,
    blocks: impl IntoIterator<Item = &'a str>,
) -> Option<Vec<String>> {
    let (mut items, mut parts) = (Vec::new(), Vec::new());
    for raw in blocks {
        let block: ContentBlock<'_> = serde_json::from_str(raw).ok()?;
        let kind = block.kind.as_deref()?;
        if let Some(part) = part(&block, raw, role) {
            parts.push(part);
            continue;
        }
        items.extend(message(role, &mut parts));
        match kind {
            "tool_use" => items.push(call(&block)?),
            "tool_result" => items.push(result(&block)?),
            "reasoning" if !is_encrypted(&block) => {}
            "thinking" | "redacted_thinking" => {}
            _ => items.push(without(raw, &["id", "cache_control"])?),
        }
    }
    items.extend(message(role, &mut parts));
    Some(items)
}

fn is_encrypted(reasoning: &ContentBlock<'_>) -> bool {
    reasoning.encrypted_content.is_some_and(|raw| raw.get().starts_with('"') && raw.get() != "\"\"")
}

/// Returns a result in which the block's content replaces the output; `None` if outputs of this kind cannot be
/// shortened.
pub fn with_output(item: &str, block: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
        output: Option<&'a RawValue>,
    }
    let block: ContentBlock<'_> = serde_json::from_str(block).ok()?;
    let item_kind: Kind<'_> = serde_json::from_str(item).ok()?;
    let output = match &*item_kind.kind {
        "shell_call_output" => shell_output(item_kind.output?.get(), &text_of(&block))?,
        "computer_call_output" | "tool_search_output" | "mcp_approval_response" => return None,
        _ => output_of(&block)?,
    };
    let written = with_member(item, "output", &output)?;
    // The call may have another id in this prompt than in the client's request.
    let id = block.tool_use_id.filter(|_| PLAIN_CALLS.contains(&&*item_kind.kind));
    let written = match id {
        Some(id) => with_member(std::str::from_utf8(&written).ok()?, "call_id", id.get())?,
        None => written,
    };
    String::from_utf8(written.to_vec()).ok()
}

/// Returns a shell's output as one chunk with `text` as its stdout, an empty stderr, and the outcome of the last command.
fn shell_output(output: &str, text: &str) -> Option<String> {
    let chunks: Vec<&RawValue> = serde_json::from_str(output).ok()?;
    let last = with_member(chunks.last()?.get(), "stdout", &encode_string(text))?;
    let last = with_member(std::str::from_utf8(&last).ok()?, "stderr", "\"\"")?;
    Some(format!("[{}]", std::str::from_utf8(&last).ok()?))
}

/// Returns the content part for a block; `None` if the block becomes a separate item.
fn part(block: &ContentBlock<'_>, raw: &str, role: &str) -> Option<String> {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    match block.kind.as_deref()? {
        "text" => {
            let text = block.text?.get();
            let mark = breakpoint(block);
            Some(format!(r#"{{"type":"{kind}","text":{text}{mark}}}"#))
        }
        "image" => Some(image(block)),
        // A part of a kind that blocks do not have, such as a file.
        kind if kind.starts_with("input_") => Some(raw.to_owned()),
        _ => None,
    }
}

fn breakpoint(block: &ContentBlock<'_>) -> String {
    let mark = block.cache_control.filter(|mark| mark.get() != "null");
    mark.map_or_else(String::new, |mark| format!(",\"prompt_cache_breakpoint\":{}", mark.get()))
}

fn image(block: &ContentBlock<'_>) -> String {
    let url = block.source.as_ref().and_then(MediaSource::to_url);
    url.map_or_else(
        || r#"{"type":"input_text","text":"[image]"}"#.to_owned(),
        |url| format!(r#"{{"type":"input_image","image_url":{}}}"#, encode_string(&url)),
    )
}

/// Returns a message with these parts, and empties the list.
fn message(role: &str, parts: &mut Vec<String>) -> Option<String> {
    let parts = std::mem::take(parts);
    (!parts.is_empty())
        .then(|| format!(r#"{{"type":"message","role":"{role}","content":[{}]}}"#, parts.join(",")))
}

fn call(block: &ContentBlock<'_>) -> Option<String> {
    let (id, name) = (block.id?.get(), block.name?.get());
    let input = block.input.map_or("{}", RawValue::get);
    let Own { kind, rest, is_whole, .. } = own(block, "function_call")?;
    if is_whole {
        return Some(format!("{{{rest}}}"));
    }
    let argument = match &*kind {
        "custom_tool_call" => {
            let fields = members(input)?;
            let text = fields.iter().find(|(name, _)| name == "input");
            format!("\"input\":{}", text.map_or("\"\"", |(_, text)| text.get()))
        }
        _ => format!("\"arguments\":{}", encode_string(input)),
    };
    let kind = encode_string(&kind);
    let rest = after_comma(&rest);
    Some(format!(r#"{{"type":{kind},"call_id":{id},"name":{name},{argument}{rest}}}"#))
}

fn result(block: &ContentBlock<'_>) -> Option<String> {
    let id = block.tool_use_id?.get();
    let Own { kind, rest, is_whole, has_output } = own(block, "function_call_output")?;
    if is_whole {
        let output = match has_output || kind == "mcp_approval_response" {
            true => String::new(),
            false => format!(",\"output\":{}", output_of(block)?),
        };
        return Some(format!("{{{rest}{output}}}"));
    }
    let (kind, output) = (encode_string(&kind), output_of(block)?);
    let rest = after_comma(&rest);
    Some(format!(r#"{{"type":{kind},"call_id":{id},"output":{output}{rest}}}"#))
}

/// The `item` member of a block.
struct Own<'a> {
    kind: Cow<'a, str>,
    /// The members of `item`, without `type` if the rest of the item comes from the block.
    rest: String,
    /// Whether `rest` contains all members of the item.
    is_whole: bool,
    has_output: bool,
}

fn own<'a>(block: &ContentBlock<'a>, plain: &'static str) -> Option<Own<'a>> {
    let Some(item) = block.item else {
        let kind = Cow::Borrowed(plain);
        return Some(Own { kind, rest: String::new(), is_whole: false, has_output: false });
    };
    let members = members(item.get())?;
    let kind = members.iter().find(|(name, _)| name == "type");
    let kind: Cow<'_, str> = match kind {
        Some((_, kind)) => Cow::Owned(serde_json::from_str(kind.get()).ok()?),
        None => Cow::Borrowed(plain),
    };
    let is_whole = !super::item::PLAIN_CALLS.contains(&&*kind);
    let rest = members.iter().filter(|(name, _)| is_whole || name != "type");
    let rest: Vec<String> =
        rest.map(|(name, value)| format!("{}:{}", encode_string(name), value.get())).collect();
    let has_output = members.iter().any(|(name, _)| name == "output");
    Some(Own { kind, rest: rest.join(","), is_whole, has_output })
}

fn after_comma(rest: &str) -> String {
    if rest.is_empty() { String::new() } else { format!(",{rest}") }
}

/// Returns an output with a result's content, as JSON.
fn output_of(block: &ContentBlock<'_>) -> Option<String> {
    let mark = breakpoint(block);
    match block.content.map(RawValue::get) {
        None | Some("null") => Some("\"\"".to_owned()),
        Some(text) if text.starts_with('"') && mark.is_empty() => Some(text.to_owned()),
        Some(text) if text.starts_with('"') => {
            Some(format!(r#"[{{"type":"input_text","text":{text}{mark}}}]"#))
        }
        Some(array) => {
            let blocks: Vec<&RawValue> = serde_json::from_str(array).ok()?;
            let mut parts = Vec::with_capacity(blocks.len());
            for raw in &blocks {
                let block: ContentBlock<'_> = serde_json::from_str(raw.get()).ok()?;
                parts.push(part(&block, raw.get(), USER).unwrap_or_else(|| raw.get().to_owned()));
            }
            if let (Some(last), false) = (parts.last_mut(), mark.is_empty())
                && !last.contains("\"prompt_cache_breakpoint\":")
                && let Some(open) = last.strip_suffix('}')
            {
                *last = format!("{open}{mark}}}");
            }
            Some(format!("[{}]", parts.join(",")))
        }
    }
}

/// Returns the text of a result's content.
fn text_of(block: &ContentBlock<'_>) -> String {
    let content = block.content.map_or("\"\"", RawValue::get);
    if let Ok(text) = serde_json::from_str::<String>(content) {
        return text;
    }
    let blocks: Vec<ContentBlock<'_>> = serde_json::from_str(content).unwrap_or_default();
    let texts = blocks.iter().filter_map(|block| serde_json::from_str(block.text?.get()).ok());
    texts.collect::<Vec<String>>().join("\n")
}

/// Returns the object without these members.
fn without(object: &str, names: &[&str]) -> Option<String> {
    let members = members(object)?;
    let kept = members.iter().filter(|(name, _)| !names.contains(&name.as_str()));
    let kept: Vec<String> =
        kept.map(|(name, value)| format!("{}:{}", encode_string(name), value.get())).collect();
    Some(format!("{{{}}}", kept.join(",")))
}
