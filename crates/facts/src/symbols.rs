//! The symbols that an edit defines: `fn parse`, `class Reader`, `func (s *Store) Get(`.
//!
//! Recognizes lines in common languages without a parser, because an edit is only part of a file.

/// Words that may precede the keyword of a definition.
const MODIFIERS: &str = "pub export default async static public private protected final abstract unsafe \
    extern inline virtual override sealed open internal declare readonly local partial";
/// Keywords that are followed by the name they define.
const KEYWORDS: &str = "fn func fun def class struct enum trait interface type const mod module function \
    object protocol record macro_rules! namespace";
/// Maximum length of a line, in bytes. Longer lines are skipped, because they probably contain data.
const LINE_BYTES: usize = 400;

/// Returns every symbol that `code` defines, in order, with repetitions.
pub(crate) fn defined(code: &str) -> impl Iterator<Item = &str> {
    code.lines().filter(|line| line.len() <= LINE_BYTES).filter_map(defined_by)
}

/// Returns the symbol that the line defines.
pub fn defined_by(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    loop {
        let end = rest.find(|c: char| c.is_whitespace() || c == '(').unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if KEYWORDS.split(' ').any(|keyword| keyword == word) {
            return name(without_receiver(after.trim_start()), word);
        }
        if !MODIFIERS.split(' ').any(|modifier| modifier == word) {
            return None;
        }
        rest = after.trim_start();
        // `pub(crate)`
        if rest.starts_with('(') && word == "pub" {
            rest = rest.split_once(')')?.1.trim_start();
        }
    }
}

/// Removes a receiver in Go: `(s *Store) Get` → `Get`.
fn without_receiver(rest: &str) -> &str {
    match rest.strip_prefix('(').and_then(|r| r.split_once(')')) {
        Some((_, after)) => after.trim_start(),
        None => rest,
    }
}

fn name<'a>(rest: &'a str, keyword: &str) -> Option<&'a str> {
    let rest = rest.strip_prefix("fn ").unwrap_or(rest);
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    let name = &rest[..end];
    // Some keywords are common words in prose or in other languages, so the next characters are checked as well.
    let after = rest[end..].trim_start();
    let fits = !matches!(keyword, "type" | "object" | "record" | "module" | "open")
        || after.starts_with(['=', '{', '<', '(', ':'])
        || ["struct", "interface", "func"].into_iter().any(|word| after.starts_with(word));
    (fits && name.len() >= 3 && name.starts_with(|c: char| c.is_alphabetic() || c == '_'))
        .then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_by_the_looks_of_their_line() {
        let check = |line: &str, expect: &[&str]| {
            assert_eq!(defined(line).collect::<Vec<_>>(), expect, "{line}");
        };
        check("    pub(crate) async fn read_line(&self) {", &["read_line"]);
        check("func (s *Store) Get(key string) error {", &["Get"]);
        check("export default class Reader extends Base {", &["Reader"]);
        check("def parse(self):\n    return 1\nclass Token:", &["parse", "Token"]);
        check("type Options struct {", &["Options"]);
        check("const LIMIT: usize = 3;", &["LIMIT"]);
        check("pub const fn zero() -> Self {", &["zero"]);
        check("type of thing", &[]);
        check("functional programming is fun", &[]);
        check("let x = 3;", &[]);
        check("", &[]);
        check(&"fn a".repeat(1_000), &[]);
    }
}
