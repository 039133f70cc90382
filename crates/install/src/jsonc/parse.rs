//! Parses JSON with comments and trailing commas, and records the position of each value.

use std::ops::Range;

use serde_json::Value;

use crate::edit::NotEdited;

/// Maximum nesting depth. Settings files have only a few levels.
const MAX_DEPTH: usize = 128;
const BOM: &str = "\u{feff}";

#[derive(Clone, Debug)]
pub(super) struct JsonNode {
    pub(super) span: Range<usize>,
    pub(super) kind: NodeKind,
}

#[derive(Clone, Debug)]
pub(super) enum NodeKind {
    Object(Vec<Member>),
    Array(Vec<JsonNode>),
    Scalar,
}

#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) key: String,
    /// The range of the key and the value.
    pub(super) span: Range<usize>,
    pub(super) value: JsonNode,
}

impl JsonNode {
    /// Returns the value at a path of keys. If a key is repeated, the last value counts, as in other parsers.
    pub(super) fn at(&self, path: &[String]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.member(key))
    }

    pub(super) fn member(&self, key: &str) -> Option<&Self> {
        let NodeKind::Object(members) = &self.kind else { return None };
        members.iter().rev().find(|member| member.key == key).map(|member| &member.value)
    }

    /// Returns the container of the value at a path, and the value's index in it.
    pub(super) fn place(&self, path: &[String]) -> Option<(&Self, usize)> {
        let (last, above) = path.split_last()?;
        let parent = self.at(above)?;
        let NodeKind::Object(members) = &parent.kind else { return None };
        members.iter().rposition(|member| member.key == *last).map(|at| (parent, at))
    }

    pub(super) fn child(&self, at: usize) -> Option<&Self> {
        match &self.kind {
            NodeKind::Object(members) => members.get(at).map(|member| &member.value),
            NodeKind::Array(elements) => elements.get(at),
            NodeKind::Scalar => None,
        }
    }

    pub(super) fn items(&self) -> Vec<Range<usize>> {
        match &self.kind {
            NodeKind::Object(members) => members.iter().map(|member| member.span.clone()).collect(),
            NodeKind::Array(elements) => elements.iter().map(|node| node.span.clone()).collect(),
            NodeKind::Scalar => Vec::new(),
        }
    }

    /// Returns whether this is a container without items or comments.
    pub(super) fn is_empty(&self, text: &str) -> bool {
        !matches!(self.kind, NodeKind::Scalar)
            && text[self.span.start + 1..self.span.end - 1].trim().is_empty()
    }

    pub(super) fn value(&self, text: &str) -> Value {
        match &self.kind {
            NodeKind::Object(members) => Value::Object(
                members.iter().map(|m| (m.key.clone(), m.value.value(text))).collect(),
            ),
            NodeKind::Array(elements) => elements.iter().map(|node| node.value(text)).collect(),
            NodeKind::Scalar => serde_json::from_str(&text[self.span.clone()]).unwrap_or_default(),
        }
    }
}

pub(super) fn parse(text: &str) -> Result<JsonNode, NotEdited> {
    let at = if text.starts_with(BOM) { BOM.len() } else { 0 };
    let mut parser = Parser { text, at };
    parser.blank()?;
    let node = parser.value(0)?;
    parser.blank()?;
    match parser.peek() {
        None => Ok(node),
        Some(_) => Err(parser.wrong("unexpected text after the JSON value")),
    }
}

/// Returns the end of the white space and comments that begin at a position.
pub(super) fn blank_from(text: &str, at: usize) -> usize {
    let mut parser = Parser { text, at };
    // The text was parsed before, so every comment is closed.
    drop(parser.blank());
    parser.at
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn wrong(&self, what: &str) -> NotEdited {
        NotEdited::at(self.text, self.at, what)
    }

    fn blank(&mut self) -> Result<(), NotEdited> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                Some(b'/') if self.rest().starts_with("//") => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                Some(b'/') if self.rest().starts_with("/*") => {
                    let end = self.rest()[2..].find("*/");
                    let end = end.ok_or_else(|| self.wrong("this comment is not closed"))?;
                    self.at += end + 4;
                }
                _ => return Ok(()),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<JsonNode, NotEdited> {
        if depth > MAX_DEPTH {
            return Err(self.wrong("the value is nested too deeply"));
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => NodeKind::Object(self.members(depth)?),
            Some(b'[') => NodeKind::Array(self.elements(depth)?),
            Some(b'"') => self.string().map(|_| NodeKind::Scalar)?,
            Some(_) => self.word().map(|()| NodeKind::Scalar)?,
            None => return Err(self.wrong("a value is missing here")),
        };
        Ok(JsonNode { span: start..self.at, kind })
    }

    fn members(&mut self, depth: usize) -> Result<Vec<Member>, NotEdited> {
        let mut members = Vec::new();
        self.list(b'}', |parser| {
            let start = parser.at;
            if parser.peek() != Some(b'"') {
                return Err(parser.wrong("a key in quotes is expected here"));
            }
            let key = parser.string()?;
            parser.blank()?;
            if parser.peek() != Some(b':') {
                return Err(parser.wrong("`:` is expected here"));
            }
            parser.at += 1;
            parser.blank()?;
            let value = parser.value(depth + 1)?;
            members.push(Member { key, span: start..value.span.end, value });
            Ok(())
        })?;
        Ok(members)
    }

    fn elements(&mut self, depth: usize) -> Result<Vec<JsonNode>, NotEdited> {
        let mut elements = Vec::new();
        self.list(b']', |parser| {
            elements.push(parser.value(depth + 1)?);
            Ok(())
        })?;
        Ok(elements)
    }

    fn list(
        &mut self,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Result<(), NotEdited>,
    ) -> Result<(), NotEdited> {
        self.at += 1;
        loop {
            self.blank()?;
            match self.peek() {
                Some(byte) if byte == close => {
                    self.at += 1;
                    return Ok(());
                }
                None => return Err(self.wrong(&format!("`{}` is missing", close as char))),
                Some(_) => item(self)?,
            }
            self.blank()?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(byte) if byte == close => {}
                _ => {
                    return Err(self.wrong(&format!("`,` or `{}` is expected here", close as char)));
                }
            }
        }
    }

    fn string(&mut self) -> Result<String, NotEdited> {
        let start = self.at;
        let mut is_escaped = false;
        for (at, byte) in self.text.bytes().enumerate().skip(start + 1) {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => {
                    self.at = at + 1;
                    let literal = &self.text[start..self.at];
                    return serde_json::from_str(literal).map_err(|_| {
                        NotEdited::at(self.text, start, "this string is not valid JSON")
                    });
                }
                _ => {}
            }
        }
        Err(self.wrong("this string is not closed"))
    }

    /// Skips a number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<(), NotEdited> {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        let length = self.rest().bytes().take_while(|byte| is_part(*byte)).count();
        match serde_json::from_str::<Value>(&self.rest()[..length]) {
            Ok(_) => {
                self.at += length;
                Ok(())
            }
            Err(_) => Err(self.wrong("a value is expected here")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_no_fault() {
        let text = "// c\n{\"a\": [1, 2,], /* } */ \"b\": {\"c\": \"// no comment\",},} // end";
        let root = parse(text).unwrap();
        let expect = serde_json::json!({ "a": [1, 2], "b": { "c": "// no comment" } });
        assert_eq!(root.value(text), expect);
    }

    #[test]
    fn a_fault_has_its_line_and_column() {
        for (text, line, column, what) in [
            ("", 1, 1, "missing"),
            ("{\n  \"a\": 1\n  \"b\": 2\n}", 3, 3, "`,` or `}`"),
            ("{\n  a: 1\n}", 2, 3, "key in quotes"),
            ("{\"ä\": tru}", 1, 7, "a value is expected"),
            ("{} {}", 1, 4, "after the JSON value"),
            ("{ /* x", 1, 3, "comment is not closed"),
            ("{\"a", 1, 2, "string is not closed"),
            ("{\"a\":[1", 1, 8, "`,` or `]`"),
            ("{\"a\" 1}", 1, 6, "`:`"),
        ] {
            let fault = parse(text).unwrap_err();
            assert_eq!((fault.line, fault.column), (line, column), "{text}: {fault}");
            assert!(fault.what.contains(what), "{text}: {fault}");
        }
        assert!(parse(&"[".repeat(100_000)).unwrap_err().what.contains("too deeply"));
    }
}
