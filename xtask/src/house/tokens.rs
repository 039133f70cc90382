//! Splits Rust source into tokens, without comments, characters and lifetimes.

/// A token of Rust. Numbers count as words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Word(&'a str),
    /// The content of a string literal, not unescaped.
    Text(&'a str),
    /// `::`.
    Path,
    Sign(char),
}

pub(super) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut reader = Reader { rest: source };
    let mut tokens = Vec::new();
    while let Some(next) = reader.rest.chars().next() {
        tokens.extend(reader.token(next));
    }
    tokens
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn token(&mut self, next: char) -> Option<Token<'a>> {
        if next.is_whitespace() {
            self.take(next.len_utf8());
            return None;
        }
        if self.rest.starts_with("//") {
            self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
            return None;
        }
        if self.rest.starts_with("/*") {
            self.block_comment();
            return None;
        }
        if let Some(text) = self.string() {
            return Some(Token::Text(text));
        }
        if next == '\'' {
            self.quote();
            return None;
        }
        if is_of_word(next) {
            let length = self.rest.find(|c| !is_of_word(c)).unwrap_or(self.rest.len());
            return Some(Token::Word(self.take(length)));
        }
        if self.rest.starts_with("::") {
            self.take(2);
            return Some(Token::Path);
        }
        self.take(next.len_utf8());
        Some(Token::Sign(next))
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// Skips a block comment, which may contain others.
    fn block_comment(&mut self) {
        let mut depth = 0;
        loop {
            if self.rest.starts_with("/*") {
                depth += 1;
                self.take(2);
            } else if self.rest.starts_with("*/") {
                depth -= 1;
                self.take(2);
            } else {
                let Some(next) = self.rest.chars().next() else { return };
                self.take(next.len_utf8());
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// Reads `"…"` or `r#"…"#`, also after `b` or `c`.
    fn string(&mut self) -> Option<&'a str> {
        let prefix = self.rest.find(|c| !matches!(c, 'b' | 'c' | 'r' | '#'))?;
        let (before, from_quote) = self.rest.split_at(prefix);
        let letters = before.trim_end_matches('#');
        let hashes = &before[letters.len()..];
        let raw = letters.ends_with('r');
        let known =
            matches!(letters, "" | "b" | "c" | "r" | "br" | "cr") && (raw || hashes.is_empty());
        if !known || !from_quote.starts_with('"') {
            return None;
        }
        self.take(prefix + 1);
        let length =
            if raw { self.rest.find(&format!("\"{hashes}")) } else { unescaped(self.rest, '"') };
        let text = self.take(length.unwrap_or(self.rest.len()));
        self.take(1 + hashes.len());
        Some(text)
    }

    /// Skips a character or a lifetime. The next character is its quote.
    fn quote(&mut self) {
        self.take(1);
        let mut after = self.rest.chars();
        let (first, second) = (after.next(), after.next());
        if first == Some('\\') || second == Some('\'') {
            let length = unescaped(self.rest, '\'').unwrap_or(self.rest.len());
            self.take(length + 1);
        } else {
            self.take(self.rest.find(|c| !is_of_word(c)).unwrap_or(self.rest.len()));
        }
    }
}

/// Finds the first `quote` that is not escaped.
fn unescaped(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    let mut found = text.char_indices().filter(|(_, c)| {
        let plain = !escaped;
        escaped = *c == '\\' && plain;
        plain && *c == quote
    });
    found.next().map(|(at, _)| at)
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::Token::{Path, Sign, Text, Word};
    use super::*;

    fn check(source: &str, expected: &[Token<'_>]) {
        assert_eq!(tokens(source), expected, "{source}");
    }

    #[test]
    fn source_is_cut_into_tokens() {
        check("use crate::a;", &[Word("use"), Word("crate"), Path, Word("a"), Sign(';')]);
        check("a // b\nc /* d /* e */ f */ g", &[Word("a"), Word("c"), Word("g")]);
        check("a / b", &[Word("a"), Sign('/'), Word("b")]);
        check(r#""a \" // b" c"#, &[Text(r#"a \" // b"#), Word("c")]);
        check(r###"r#"a " \"# b"###, &[Text(r#"a " \"#), Word("b")]);
        check(r#"b"\\" b'"' br"\" c"#, &[Text(r"\\"), Word("b"), Text(r"\"), Word("c")]);
        check("&'a str '\\'' '\"' 'x' '_ é", &[Sign('&'), Word("str"), Word("é")]);
        check("r#type bar", &[Word("r"), Sign('#'), Word("type"), Word("bar")]);
        check("\"open", &[Text("open")]);
        check("/* open", &[]);
    }
}
