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
    /// An operation on the queue of prompts, and the text of the prompt.
    pub(crate) operation: Option<&'a RawValue>,
    pub(crate) content: Option<&'a RawValue>,
    /// `true` in a line that bethink wrote for other readers; in a line of type `bethink`, bethink's own view of the
    /// session.
    pub(crate) bethink: Option<&'a RawValue>,
}

/// The contents of a `compact_boundary` record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CompactBoundary {
    pub(crate) trigger: String,
    pub(crate) pre_tokens: u64,
    /// Ids of the first and the last kept message that precede the boundary, if any were kept.
    pub(crate) kept: Option<(String, String)>,
    /// Whether bethink wrote the boundary.
    pub(crate) is_ours: bool,
}

impl LineEnvelope<'_> {
    pub(crate) fn time(&self) -> Option<UnixMicros> {
        let at: jiff::Timestamp = text(self.timestamp)?.parse().ok()?;
        Some(UnixMicros(at.as_microsecond()))
    }

    pub(crate) fn boundary(&self) -> CompactBoundary {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct CompactMetadata<'a> {
            #[serde(borrow)]
            trigger: Option<&'a RawValue>,
            pre_tokens: Option<&'a RawValue>,
            preserved_segment: Option<PreservedSegment<'a>>,
        }
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct PreservedSegment<'a> {
            #[serde(borrow)]
            head_uuid: Option<&'a RawValue>,
            tail_uuid: Option<&'a RawValue>,
        }
        let metadata: CompactMetadata<'_> = self
            .compact_metadata
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default();
        let trigger = text(metadata.trigger).unwrap_or(Cow::Borrowed("auto")).into_owned();
        let pre_tokens = metadata.pre_tokens.and_then(|raw| raw.get().parse().ok()).unwrap_or(0);
        let segment = metadata.preserved_segment.unwrap_or_default();
        let kept = text(segment.head_uuid).zip(text(segment.tail_uuid));
        let kept = kept.map(|(head, tail)| (head.into_owned(), tail.into_owned()));
        CompactBoundary { trigger, pre_tokens, kept, is_ours: is_true(self.bethink) }
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
