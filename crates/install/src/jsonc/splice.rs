//! Adds or removes one member or element, and changes nothing else.

use serde_json::Value;

use super::parse::{JsonNode, blank_from};
use crate::edit::in_order;

pub(super) enum Item<'a> {
    Member(&'a str, &'a Value),
    Element(&'a Value),
}

/// Adds an item at the end of a container, in the style of the other items.
pub(super) fn insert(text: &str, container: &JsonNode, item: &Item<'_>) -> String {
    let style = JsonStyle::of(text);
    let close = container.span.end - 1;
    let items = container.items();
    let body = &text[container.span.clone()];
    let outer = indent_at(text, container.span.start);
    let Some(last) = items.last() else { return first(text, container, item, &style) };
    let is_wide = body.contains('\n');
    let own = match is_wide && begins_line(text, last.start) {
        true => indent_at(text, last.start),
        false => format!("{outer}{}", style.unit),
    };
    let (comma, point) = behind(text, last.end, close);
    let gap = match (is_wide, body.contains(", ")) {
        (true, _) => format!("{}{own}", style.line_end),
        (false, true) => " ".to_owned(),
        (false, false) => String::new(),
    };
    let written = written(item, is_wide.then_some(&style), &own);
    let (before, after) = match comma {
        Some(_) => ("", ","),
        None => (",", ""),
    };
    format!(
        "{}{before}{}{gap}{written}{after}{}",
        &text[..last.end],
        &text[last.end..point],
        &text[point..]
    )
}

/// Adds the first item to a container, on separate lines unless the whole file is on one line.
fn first(text: &str, container: &JsonNode, item: &Item<'_>, style: &JsonStyle) -> String {
    let (open, close) = (container.span.start, container.span.end - 1);
    let (_, point) = behind(text, open + 1, close);
    let blank = &text[point..close];
    let is_wide = text.contains('\n') || open == 0;
    if !is_wide {
        let written = written(item, None, "");
        return format!("{}{written}{}", &text[..point], &text[point..]);
    }
    let outer = indent_at(text, open);
    let own = format!("{outer}{}", style.unit);
    let written = written(item, Some(style), &own);
    let line_end = style.line_end;
    let closing = match blank.contains('\n') {
        true => blank.to_owned(),
        false => format!("{line_end}{outer}"),
    };
    format!("{}{line_end}{own}{written}{closing}{}", &text[..point], &text[close..])
}

/// Removes an item, with its comma.
pub(super) fn remove(text: &str, container: &JsonNode, at: usize) -> String {
    let items = container.items();
    let Some(item) = items.get(at) else { return text.to_owned() };
    let close = container.span.end - 1;
    let begin = text[..item.start].trim_end().len();
    let (comma, _) = behind(text, item.end, close);
    let mut out = String::with_capacity(text.len());
    match (comma, at.checked_sub(1).and_then(|before| items.get(before))) {
        (Some(comma), _) => {
            out.push_str(&text[..begin]);
            out.push_str(&text[item.end..comma]);
            out.push_str(&text[comma + 1..]);
        }
        (None, Some(before)) => {
            // The previous item becomes the last one, so its comma is removed.
            let comma = behind(text, before.end, item.start).0.unwrap_or(before.end);
            out.push_str(&text[..comma]);
            out.push_str(&text[(comma + 1).min(begin)..begin]);
            out.push_str(&text[item.end..]);
        }
        (None, None) => {
            out.push_str(&text[..begin]);
            out.push_str(&text[item.end..]);
        }
    }
    if items.len() == 1 {
        return closed(&out, container.span.start);
    }
    out
}

/// Removes the white space from an empty container.
fn closed(text: &str, open: usize) -> String {
    let inner = &text[open + 1..];
    match inner.trim_start() {
        rest if rest.starts_with(['}', ']']) => format!("{}{rest}", &text[..=open]),
        _ => text.to_owned(),
    }
}

pub(super) fn replace(text: &str, old: &JsonNode, value: &Value) -> String {
    let style = JsonStyle::of(text);
    let is_wide = text[old.span.clone()].contains('\n');
    let indent = indent_at(text, old.span.start);
    let mut out = text[..old.span.start].to_owned();
    write(value, is_wide.then_some(&style), &indent, &mut out);
    out.push_str(&text[old.span.end..]);
    out
}

/// Returns the comma after a position, if there is one before `end`, and the position after the comma and its comments.
fn behind(text: &str, from: usize, end: usize) -> (Option<usize>, usize) {
    let at = blank_from(text, from);
    let comma = (at < end && text[at..].starts_with(',')).then_some(at);
    let last = match comma {
        Some(comma) => blank_from(text, comma + 1).min(end),
        None => at.min(end),
    };
    (comma, text[..last].trim_end().len().max(from))
}

fn written(item: &Item<'_>, style: Option<&JsonStyle>, indent: &str) -> String {
    let mut out = String::new();
    match item {
        Item::Member(key, value) => {
            out.push_str(&Value::from(*key).to_string());
            out.push_str(if style.is_some() { ": " } else { ":" });
            write(value, style, indent, &mut out);
        }
        Item::Element(value) => write(value, style, indent, &mut out),
    }
    out
}

/// Writes a value in the file's style; without a style, on one line.
fn write(value: &Value, style: Option<&JsonStyle>, indent: &str, out: &mut String) {
    let (open, close, items): (char, char, Vec<(Option<&str>, &Value)>) = match value {
        Value::Object(members) if !members.is_empty() => {
            let members =
                in_order(members).into_iter().map(|(key, value)| (Some(key), value)).collect();
            ('{', '}', members)
        }
        Value::Array(elements) if !elements.is_empty() => {
            ('[', ']', elements.iter().map(|value| (None, value)).collect())
        }
        other => return out.push_str(&other.to_string()),
    };
    // A list of strings is written on one line.
    let style =
        style.filter(|_| items.iter().any(|(key, value)| key.is_some() || !value.is_string()));
    let inner = style.map(|style| format!("{indent}{}", style.unit)).unwrap_or_default();
    out.push(open);
    for (n, (key, value)) in items.into_iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        match style {
            Some(style) => out.push_str(&format!("{}{inner}", style.line_end)),
            None if n > 0 => out.push(' '),
            None => {}
        }
        if let Some(key) = key {
            out.push_str(&Value::from(key).to_string());
            out.push_str(": ");
        }
        write(value, style, &inner, out);
    }
    if let Some(style) = style {
        out.push_str(&format!("{}{indent}", style.line_end));
    }
    out.push(close);
}

struct JsonStyle {
    unit: String,
    line_end: &'static str,
}

impl JsonStyle {
    fn of(text: &str) -> Self {
        let indents = text.lines().map(|line| &line[..line.len() - line.trim_start().len()]);
        let unit = indents.filter(|indent| !indent.is_empty()).min_by_key(|indent| indent.len());
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        // One space is not a nesting level, but the indentation of a comment.
        let unit = unit.filter(|unit| unit.len() > 1 || unit.starts_with('\t')).unwrap_or("  ");
        Self { unit: unit.to_owned(), line_end }
    }
}

fn indent_at(text: &str, at: usize) -> String {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = &text[start..];
    line[..line.len() - line.trim_start_matches([' ', '\t']).len()].to_owned()
}

fn begins_line(text: &str, at: usize) -> bool {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    text[start..at].trim().is_empty()
}
