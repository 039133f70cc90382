//! Writes parts from blocks of the Messages API.

use bethink_transcript::json::{encode_string, members, with_member, without_key};
use serde_json::value::RawValue;

use super::content::{ContentPart, FunctionResponse, given};
use crate::block::{ContentBlock, MediaSource};

/// Returns the parts for blocks that bethink wrote; `None` for a call or a result, which only a client writes. Thinking
/// is left out.
pub fn parts_of_blocks<'a>(blocks: impl IntoIterator<Item = &'a str>) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    for raw in blocks {
        let block: ContentBlock<'_> = serde_json::from_str(raw).ok()?;
        match block.kind.as_deref()? {
            "text" => parts.push(format!(r#"{{"text":{}}}"#, block.text?.get())),
            "image" | "document" => parts.push(media(block.source.as_ref()?)?),
            "part" => parts.push(block.part?.get().to_owned()),
            "thinking" | "redacted_thinking" => {}
            _ => return None,
        }
    }
    Some(parts)
}

fn media(source: &MediaSource<'_>) -> Option<String> {
    let mime = source.media_type.map_or("\"\"", RawValue::get);
    Some(match (source.data, source.url) {
        (Some(data), _) => {
            format!(r#"{{"inlineData":{{"mimeType":{mime},"data":{}}}}}"#, data.get())
        }
        (None, Some(url)) => {
            format!(r#"{{"fileData":{{"mimeType":{mime},"fileUri":{}}}}}"#, url.get())
        }
        (None, None) => return None,
    })
}

/// Returns a response part in which the block's text replaces the output; `None` if either is invalid. The part's other
/// members are kept. Media are kept if the block has any.
pub fn with_response(part: &str, block: &str) -> Option<String> {
    let read: ContentPart<'_> = serde_json::from_str(part).ok()?;
    let own = given(read.function_response)?.get();
    let response: FunctionResponse<'_> = serde_json::from_str(own).ok()?;
    let block: ContentBlock<'_> = serde_json::from_str(block).ok()?;
    let (text, has_media) = output(block.content)?;
    let name = response.output_member().map_or("output", |(name, _)| name);
    let shorter = with_member(own, "response", &format!(r#"{{"{name}":{text}}}"#))?;
    let shorter = match has_media {
        true => shorter,
        false => without_key(std::str::from_utf8(&shorter).ok()?, "parts")?,
    };
    let all = members(part)?;
    let is_own = |name: &str| matches!(name, "functionResponse" | "function_response");
    let (name, _) = all.iter().find(|(name, _)| is_own(name))?;
    String::from_utf8(with_member(part, name, std::str::from_utf8(&shorter).ok()?)?.to_vec()).ok()
}

/// Returns a result's text as JSON, and whether the result has images or documents.
fn output(content: Option<&RawValue>) -> Option<(String, bool)> {
    let content = content.map_or("\"\"", RawValue::get);
    if content.starts_with('"') {
        return Some((content.to_owned(), false));
    }
    let blocks: Vec<ContentBlock<'_>> = serde_json::from_str(content).ok()?;
    let has_media = blocks.iter().any(|block| block.source.is_some());
    let texts = blocks.iter().filter_map(|block| serde_json::from_str(block.text?.get()).ok());
    Some((encode_string(&texts.collect::<Vec<String>>().join("\n")), has_media))
}
