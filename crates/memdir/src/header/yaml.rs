//! Reads YAML of any shape as plain text in lists and maps, within a tight budget.
//!
//! Typed parsing would reject the whole header if one key had an unexpected shape.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Budget, DuplicateKeyPolicy, MergeKeyPolicy, Options};

/// Maximum number of nodes and events in a header; thirty lines have far fewer.
const MOST_NODES: usize = 2_000;
/// Maximum depth of nested maps. Reading is recursive, so this limits the stack too.
const MOST_DEPTH: usize = 16;
/// Maximum number of anchors and aliases. Legitimate headers have none, and each can multiply the input.
const MOST_ALIASES: usize = 4;
/// Maximum length of the part of the parser's message that is shown, in characters.
const FAULT_CHARS: usize = 160;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum YamlNode {
    Nothing,
    Text(String),
    List(Vec<YamlNode>),
    /// Keys with their values, in the file's order. A key may occur twice.
    Map(Vec<(String, YamlNode)>),
}

impl YamlNode {
    /// Returns the text, or a list's items, as one line; `None` if there is none.
    pub(super) fn text(&self) -> Option<String> {
        let text = match self {
            YamlNode::Nothing | YamlNode::Map(_) => return None,
            YamlNode::Text(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
            YamlNode::List(items) => {
                items.iter().filter_map(YamlNode::text).collect::<Vec<_>>().join(", ")
            }
        };
        Some(text).filter(|text| !text.is_empty())
    }

    /// Returns the items of a list, or the text as the only item.
    pub(super) fn texts(&self) -> Vec<String> {
        match self {
            YamlNode::List(items) => items.iter().filter_map(YamlNode::text).collect(),
            other => other.text().into_iter().collect(),
        }
    }

    pub(super) fn entries(&self) -> &[(String, YamlNode)] {
        match self {
            YamlNode::Map(entries) => entries,
            _ => &[],
        }
    }
}

/// The error describes the fault, and states its line if the parser knows the line.
pub(super) fn parse(text: &str) -> Result<YamlNode, String> {
    serde_saphyr::from_str_with_options(text, options()).map_err(|error| {
        let first = error.to_string();
        let first = first.lines().next().unwrap_or_default();
        let words = first.chars().filter(|c| !c.is_control()).take(FAULT_CHARS);
        format!("is not valid YAML ({})", words.collect::<String>().trim())
    })
}

fn options() -> Options {
    let mut budget = Budget::default();
    budget.max_events = MOST_NODES * 2;
    budget.max_nodes = MOST_NODES;
    budget.max_depth = MOST_DEPTH;
    budget.flow_nesting_limit = MOST_DEPTH;
    budget.max_anchors = MOST_ALIASES;
    budget.max_aliases = MOST_ALIASES;
    budget.max_recorded_anchor_events = MOST_NODES;
    budget.max_recorded_anchor_bytes = super::HEADER_BYTES;
    budget.max_total_scalar_bytes = super::HEADER_BYTES;
    budget.max_documents = 1;
    let mut options = Options::default();
    options.budget = Some(budget);
    options.alias_limits.max_total_replayed_events = MOST_NODES;
    options.duplicate_keys = DuplicateKeyPolicy::PassThrough;
    options.merge_keys = MergeKeyPolicy::AsOrdinary;
    options.strict_booleans = true; // `yes` and `no` are words
    options.ignore_binary_tag_for_string = true;
    options.with_snippet = false;
    options
}

impl<'de> Deserialize<'de> for YamlNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything)
    }
}

struct Anything;

/// Methods for values that become text.
macro_rules! visit_as_text {
    ($($visit:ident($value:ty))*) => {$(
        fn $visit<E>(self, value: $value) -> Result<YamlNode, E> {
            Ok(YamlNode::Text(value.to_string()))
        }
    )*};
}

impl<'de> Visitor<'de> for Anything {
    type Value = YamlNode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("front matter")
    }

    fn visit_str<E>(self, text: &str) -> Result<YamlNode, E> {
        Ok(YamlNode::Text(text.to_owned()))
    }

    visit_as_text! { visit_bool(bool) visit_i64(i64) visit_u64(u64) }
    visit_as_text! { visit_i128(i128) visit_u128(u128) visit_f64(f64) }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<YamlNode, E> {
        Ok(YamlNode::Nothing)
    }

    fn visit_unit<E>(self) -> Result<YamlNode, E> {
        Ok(YamlNode::Nothing)
    }

    fn visit_none<E>(self) -> Result<YamlNode, E> {
        Ok(YamlNode::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<YamlNode, D::Error> {
        YamlNode::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<YamlNode, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(YamlNode::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<YamlNode, A::Error> {
        let mut map = Vec::new();
        while let Some((key, value)) = pairs.next_entry::<YamlNode, YamlNode>()? {
            map.push((key.text().unwrap_or_default(), value));
        }
        Ok(YamlNode::Map(map))
    }
}
