//! Patterns of paths, such as `~/secret/**`.

use std::path::{Component, Path};

/// Maximum length of a pattern, in bytes: the usual limit of a path's length.
const MOST_PATTERN_BYTES: usize = 4_096;
/// Stands for any number of directories.
const ANY_DIRECTORIES: &str = "**";

/// A pattern of paths. A pattern matches a path, and everything below that path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    text: String,
    /// The names in the pattern, without the implied `**` at the end, which matches everything below.
    names: Vec<String>,
}

impl PathPattern {
    /// Parses a pattern; `person` is the user's home directory, for `~`. `None` if it is not valid, or needs a home
    /// directory and there is none.
    pub fn new(text: &str, person: Option<&Path>) -> Option<Self> {
        if !is_path_pattern(text) {
            return None;
        }
        let whole = match text.strip_prefix('~') {
            Some(rest) => format!("{}{rest}", person?.to_str()?),
            None => text.to_owned(),
        };
        let names = whole.split('/').filter(|name| !name.is_empty()).map(str::to_owned);
        Some(Self { text: text.to_owned(), names: names.collect() })
    }

    /// Returns the pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether the pattern matches a path, or a directory above that path.
    pub fn matches(&self, path: &Path) -> bool {
        let names: Option<Vec<&str>> = path
            .components()
            .filter(|part| *part != Component::RootDir)
            .map(|part| part.as_os_str().to_str())
            .collect();
        let mut pattern: Vec<&str> = self.names.iter().map(String::as_str).collect();
        pattern.push(ANY_DIRECTORIES);
        let same = |pattern: &&str, name: &&str| name_matches(pattern, name);
        names.is_some_and(|names| {
            matches_all(&pattern, &names, |part| *part == ANY_DIRECTORIES, same)
        })
    }
}

/// Whether a text is a valid pattern: it begins with `/` or `~/`, and contains no `.` or `..`, and `**` only as a whole name.
pub(crate) fn is_path_pattern(text: &str) -> bool {
    let is_rooted = text.starts_with('/') || text == "~" || text.starts_with("~/");
    let is_name = |name: &str| {
        !matches!(name, "." | "..") && (name == ANY_DIRECTORIES || !name.contains(ANY_DIRECTORIES))
    };
    is_rooted
        && text.len() <= MOST_PATTERN_BYTES
        && !text.contains(char::is_control)
        && text.split('/').all(is_name)
}

/// Whether a name in a path matches a name in a pattern, in which `*` stands for any characters.
fn name_matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    matches_all(&pattern, &name, |c| *c == '*', |one, other| one == other)
}

/// Whether a pattern matches a whole sequence. The search goes back only to the last wildcard, so the time is at most the
/// product of both lengths.
fn matches_all<P, T>(
    pattern: &[P],
    text: &[T],
    is_wildcard: impl Fn(&P) -> bool,
    same: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut at, mut place) = (0, 0);
    let mut wildcard: Option<(usize, usize)> = None;
    while place < text.len() {
        if pattern.get(at).is_some_and(&is_wildcard) {
            wildcard = Some((at, place));
            at += 1;
        } else if pattern.get(at).is_some_and(|part| same(part, &text[place])) {
            at += 1;
            place += 1;
        } else if let Some((from, taken)) = wildcard {
            wildcard = Some((from, taken + 1));
            at = from + 1;
            place = taken + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(is_wildcard)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, path: &str, expect: bool) {
        let home = Path::new("/home/ada");
        let pattern = PathPattern::new(pattern, Some(home)).unwrap();
        assert_eq!(pattern.matches(Path::new(path)), expect, "{pattern:?} {path}");
    }

    #[test]
    fn a_pattern_matches_what_is_below() {
        for pattern in ["~/secret/**", "~/secret", "~/secret/", "/home/*/secret", "/**/secret"] {
            check(pattern, "/home/ada/secret", true);
            check(pattern, "/home/ada/secret/client/src", true);
            check(pattern, "/home/ada/secrets", false);
            check(pattern, "/home/ada", false);
        }
        check("/home/user/**/private", "/home/user/private", true);
        check("/home/user/**/private", "/home/user/a/b/private/c", true);
        check("/home/user/**/private", "/home/user/a/b", false);
        check("/home/user/client-*", "/home/user/client-a/x", true);
        check("/home/user/*-*-x", "/home/user/a-b-c-x", true);
        check("/home/user/client-*", "/home/user/client", false);
        check("/home/user/*/x", "/home/user/a/b/x", false);
        check("~", "/home/ada/app", true);
        check("/", "/any/thing", true);
        check("/a", "relative/a", false);
    }

    #[test]
    fn other_patterns_are_not_valid() {
        let long = format!("/{}", "a".repeat(5_000));
        for text in
            ["", "secret", "./a", "../a", "/a/../b", "/a/./b", "/a**", "~ada/x", "/a\nb", &long]
        {
            assert_eq!(PathPattern::new(text, Some(Path::new("/home/ada"))), None, "{text:?}");
        }
        assert_eq!(PathPattern::new("~/a", None), None);
    }

    #[test]
    fn wildcards_take_no_exponential_time() {
        let pattern = format!("/{}b", "a*".repeat(1_000));
        check(&pattern, &format!("/{}", "a".repeat(4_000)), false);
        check(&format!("{}/b", "/**/a".repeat(200)), &"/a".repeat(2_000), false);
    }
}
