//! Reads front matter line by line if it is not valid YAML, such as `description: fix: the fog`.

use super::yaml::YamlNode;

/// Maximum length of a key, in characters; a longer key must be a sentence with a colon.
const KEY_CHARS: usize = 40;

/// Reads keys with values, one level of nesting, and lists of one-line items. Never fails.
pub(super) fn parse(text: &str) -> YamlNode {
    let mut map: Vec<(String, YamlNode)> = Vec::new();
    for line in text.lines() {
        let words = line.trim();
        if words.is_empty() || words.starts_with('#') {
            continue;
        }
        let nested = line.starts_with([' ', '\t']);
        match (key(words), map.last_mut().filter(|_| nested)) {
            (Some((key, value)), Some((_, parent @ (YamlNode::Nothing | YamlNode::Map(_))))) => {
                put(parent, key, value);
            }
            (Some((key, value)), None) => map.push((key.to_owned(), scalar(value))),
            (None, None) if !words.starts_with("- ") => {}
            _ => {
                if let Some((_, last)) = map.last_mut() {
                    go_on(last, words);
                }
            }
        }
    }
    YamlNode::Map(map)
}

/// Splits `key: value` or `key:`. A key is one word or a few.
pub(super) fn key(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.trim().split_once(':')?;
    let starts = key.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let word = key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' '));
    let apart = value.is_empty() || value.starts_with([' ', '\t']);
    (starts && word && apart && key.chars().count() <= KEY_CHARS)
        .then(|| (key.trim_end(), value.trim()))
}

fn put(parent: &mut YamlNode, key: &str, value: &str) {
    if let YamlNode::Nothing = parent {
        *parent = YamlNode::Map(Vec::new());
    }
    if let YamlNode::Map(map) = parent {
        map.push((key.to_owned(), scalar(value)));
    }
}

/// Adds a line that does not begin with a key: a list item, or the continuation of a long value.
fn go_on(node: &mut YamlNode, words: &str) {
    match (node, words.strip_prefix("- ")) {
        (YamlNode::List(items), Some(item)) => items.push(scalar(item.trim())),
        (YamlNode::Map(map), _) => {
            if let Some((_, last)) = map.last_mut() {
                go_on(last, words);
            }
        }
        (node @ YamlNode::Nothing, Some(item)) => *node = YamlNode::List(vec![scalar(item.trim())]),
        (node @ YamlNode::Nothing, None) => *node = scalar(words),
        (YamlNode::Text(text), _) => {
            text.push(' ');
            text.push_str(words);
        }
        (YamlNode::List(_), None) => {}
    }
}

fn scalar(value: &str) -> YamlNode {
    let quoted = |mark: char| value.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
    match value {
        "" | "~" | "null" | "|" | ">" | "|-" | ">-" => YamlNode::Nothing,
        _ => YamlNode::Text(value.to_owned()),
    }
}
