//! Matches the `paths` of a rule: globs as in `.gitignore`. The last glob that matches decides.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::limits::{MOST_PATTERN_BYTES, MOST_PATTERNS};

#[derive(Clone, Debug)]
pub(crate) struct Patterns {
    globs: Vec<Pattern>,
    /// Invalid patterns, and the reasons.
    pub(crate) faults: Vec<String>,
}

#[derive(Clone, Debug)]
struct Pattern {
    text: String,
    /// Whether the pattern begins with `!`.
    excludes: bool,
    /// Matches the path itself, and paths below a directory of that name.
    paths: GlobSet,
}

impl Patterns {
    pub(crate) fn new(texts: &[String]) -> Self {
        let (mut globs, mut faults) = (Vec::new(), Vec::new());
        for text in texts.iter().take(MOST_PATTERNS) {
            match Pattern::new(text) {
                Ok(glob) => globs.push(glob),
                Err(why) => faults.push(why),
            }
        }
        if texts.len() > MOST_PATTERNS {
            faults.push(format!(
                "there are {} patterns; only the first {MOST_PATTERNS} are used",
                texts.len()
            ));
        }
        Self { globs, faults }
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        self.globs.iter().map(|glob| glob.text.clone()).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.globs.is_empty()
    }

    /// Returns the pattern that matches a path, which is relative to the rule's directory.
    pub(crate) fn matching(&self, path: &Path) -> Option<&str> {
        let last = self.globs.iter().rev().find(|glob| glob.paths.is_match(path))?;
        (!last.excludes).then_some(last.text.as_str())
    }
}

impl Pattern {
    fn new(text: &str) -> Result<Self, String> {
        let shown: String = text.chars().take(80).collect();
        if text.len() > MOST_PATTERN_BYTES {
            return Err(format!(
                "the pattern {shown:?}… is longer than {MOST_PATTERN_BYTES} bytes"
            ));
        }
        let (excludes, glob) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
        let anchored = glob.strip_prefix("./").or_else(|| glob.strip_prefix('/')).unwrap_or(glob);
        let name = anchored.trim_end_matches('/');
        // A bare name applies in every directory.
        let whole = if name.contains('/') || glob.starts_with(['/', '.']) && glob != name {
            name.to_owned()
        } else {
            format!("**/{name}")
        };
        if name.is_empty() {
            return Err(format!("the pattern {shown:?} is empty"));
        }
        let paths = set(&whole)
            .map_err(|why| format!("the pattern {shown:?} is not valid: {}", why.kind()))?;
        Ok(Self { text: text.to_owned(), excludes, paths })
    }
}

/// Compiles a glob to a set, because a single matcher panics on a deeply nested glob.
fn set(glob: &str) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for glob in [glob, &format!("{glob}/**")] {
        set.add(GlobBuilder::new(glob).literal_separator(true).build()?);
    }
    set.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(patterns: &[&str], path: &str, expect: bool) {
        let texts: Vec<String> = patterns.iter().map(|&p| p.to_owned()).collect();
        let patterns = Patterns::new(&texts);
        assert!(patterns.faults.is_empty(), "{:?}", patterns.faults);
        assert_eq!(patterns.matching(Path::new(path)).is_some(), expect, "{texts:?} {path}");
    }

    #[test]
    fn globs() {
        check(&["src/**/*.ts"], "src/a.ts", true);
        check(&["src/**/*.ts"], "src/a/b/c.ts", true);
        check(&["src/**/*.ts"], "lib/src/a.ts", false);
        check(&["src/*.ts"], "src/a/b.ts", false);
        check(&["*.{ts,tsx}"], "src/a/b.tsx", true);
        check(&["**/*.rs"], "a.rs", true);
        check(&["/a.rs"], "b/a.rs", false);
        check(&["./a.rs"], "a.rs", true);
        check(&["./a.rs"], "b/a.rs", false);
        check(&["src"], "src/a/b.ts", true);
        check(&["src/"], "x/src/b.ts", true);
        check(&["src/api"], "src/api/v1/x.ts", true);
        check(&["src/api"], "src/apis/x.ts", false);
        check(&["*.RS"], "a.rs", false);
        check(&[".env*"], "a/.env.local", true);
        check(&["**"], "any/thing", true);
    }

    #[test]
    fn the_last_that_matches_decides() {
        check(&["src/**", "!src/gen/**"], "src/gen/a.rs", false);
        check(&["src/**", "!src/gen/**"], "src/a.rs", true);
        check(&["!src/gen/**", "src/**"], "src/gen/a.rs", true);
        check(&["!a"], "b", false);
    }

    #[test]
    fn faults_are_told_and_the_others_count() {
        let long = "a".repeat(1_000);
        let texts: Vec<String> =
            ["[a", "{b", "", "/", &long, "c"].iter().map(|&p| p.to_owned()).collect();
        let patterns = Patterns::new(&texts);
        assert_eq!(patterns.faults.len(), 5, "{:?}", patterns.faults);
        assert_eq!(patterns.texts(), ["c"]);
    }

    #[test]
    fn many_and_deep_patterns_are_bounded() {
        let deep = format!("{}a{}", "{".repeat(250), "}".repeat(250));
        let wide = "{a,b}".repeat(100);
        let mut texts = vec![deep, wide, "*".repeat(500)];
        texts.extend((0..200).map(|n| format!("a{n}")));
        let patterns = Patterns::new(&texts);
        assert!(patterns.faults.iter().any(|fault| fault.contains("only the first 100")));
        assert!(patterns.texts().len() <= MOST_PATTERNS);
        assert_eq!(patterns.matching(Path::new("x/y")), Some("*".repeat(500).as_str()));
    }
}
