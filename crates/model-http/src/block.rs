//! The members that blocks of the Messages API share with other formats.

use std::borrow::Cow;

use bethink_transcript::json::decode_string;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
pub(crate) struct ContentBlock<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(crate) kind: Option<Cow<'a, str>>,
    pub(crate) text: Option<&'a RawValue>,
    pub(crate) source: Option<MediaSource<'a>>,
    pub(crate) id: Option<&'a RawValue>,
    pub(crate) name: Option<&'a RawValue>,
    pub(crate) input: Option<&'a RawValue>,
    pub(crate) tool_use_id: Option<&'a RawValue>,
    pub(crate) content: Option<&'a RawValue>,
    pub(crate) cache_control: Option<&'a RawValue>,
    pub(crate) encrypted_content: Option<&'a RawValue>,
    /// Members of a Responses API item that have no equivalent in its block.
    pub(crate) item: Option<&'a RawValue>,
    /// A Gemini part, or those of its members that have no equivalent in the block.
    pub(crate) part: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(crate) struct MediaSource<'a> {
    #[serde(borrow)]
    pub(crate) media_type: Option<&'a RawValue>,
    pub(crate) data: Option<&'a RawValue>,
    pub(crate) url: Option<&'a RawValue>,
}

impl MediaSource<'_> {
    /// Returns the URL, which may contain the data itself.
    pub(crate) fn to_url(&self) -> Option<String> {
        let text = |raw: Option<&RawValue>| {
            let literal = raw?.get().starts_with('"').then_some(raw?.get())?;
            Some(decode_string(literal).into_owned())
        };
        match (text(self.media_type), text(self.data)) {
            (Some(kind), Some(data)) => Some(format!("data:{kind};base64,{data}")),
            _ => text(self.url),
        }
    }
}
