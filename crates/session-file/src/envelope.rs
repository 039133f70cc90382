//! The members of a record that bethink uses, borrowed from the line.

use std::borrow::Cow;

use bethink_transcript::{UnixMicros, json};
use serde::Deserialize;
use serde_json::value::RawValue;

/// All members are raw JSON, so that a member of an unexpected type can be ignored while the rest of the
/// line is still read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct LineEnvelope<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: Option<&'a RawValue>,
    pub(crate) subtype: Option<&'a RawValue>,
    pub(crate) message: Option<&'a RawValue>,
    pub(crate) uuid: Option<&'a RawValue>,
    pub(crate) parent_uuid: Option<&'a RawValue>,
    pub(crate) timestamp: Option<&'a RawValue>,
    pub(crate) is_sidechain: Option<&'a RawValue>,
    pub(crate) agent_id: Option<&'a RawValue>,
    pub(crate) is_compact_summary: Option<&'a RawValue>,
    pub(crate) is_meta: Option<&'a RawValue>,
    pub(crate) session_id: Option<&'a RawValue>,
    pub(crate) cwd: Option<&'a RawValue>,
    pub(crate) git_branch: Option<&'a RawValue>,
    pub(crate) version: Option<&'a RawValue>,
    pub(crate) compact_metadata: Option<&'a RawValue>,
    pub(crate) summary: Option<&'a RawValue>,
    pub(crate) leaf_uuid: Option<&'a RawValue>,
    pub(crate) custom_title: Option<&'a RawValue>,
    pub(crate) ai_title: Option<&'a RawValue>,
    pub(crate) tag: Option<&'a RawValue>,
    pub(crate) tags: Option<&'a RawValue>,
}

impl LineEnvelope<'_> {
    pub(crate) fn time(&self) -> Option<UnixMicros> {
        let at: jiff::Timestamp = text(self.timestamp)?.parse().ok()?;
        Some(UnixMicros(at.as_microsecond()))
    }

    /// Returns the trigger of a boundary, and the tokens before it.
    pub(crate) fn boundary(&self) -> (String, u64) {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct CompactMetadata<'a> {
            #[serde(borrow)]
            trigger: Option<&'a RawValue>,
            #[serde(borrow)]
            pre_tokens: Option<&'a RawValue>,
        }
        let metadata: CompactMetadata<'_> = self
            .compact_metadata
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default();
        let trigger = text(metadata.trigger).unwrap_or(Cow::Borrowed("auto")).into_owned();
        let pre_tokens = metadata.pre_tokens.and_then(|raw| raw.get().parse().ok()).unwrap_or(0);
        (trigger, pre_tokens)
    }

    /// Returns all tags. bethink writes them as `tags`, next to the one `tag` that Claude Code knows.
    pub(crate) fn all_tags(&self) -> Vec<String> {
        let many = self.tags.and_then(|raw| serde_json::from_str::<Vec<String>>(raw.get()).ok());
        let mut tags =
            many.unwrap_or_else(|| text(self.tag).map(Cow::into_owned).into_iter().collect());
        tags.retain(|tag| !tag.is_empty());
        tags
    }
}

pub(crate) fn text(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    raw.map(RawValue::get).filter(|raw| raw.starts_with('"')).map(json::decode_string)
}

pub(crate) fn is_true(raw: Option<&RawValue>) -> bool {
    raw.is_some_and(|raw| raw.get() == "true")
}
