//! Patterns, compiled for short sentences that are looked at on one thread after another.

use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

/// What a pattern may keep of the states that it met. The library keeps up to 2 MiB for each pattern and for each of
/// several threads, which for a hundred patterns is more than the daemon has; a sentence meets a few states.
const CACHE_BYTES: usize = 32 << 10;

pub(super) fn pattern(text: &str) -> Option<Regex> {
    RegexBuilder::new(text).dfa_size_limit(CACHE_BYTES).build().ok()
}

/// Empty where one of them is no pattern; a test holds that none is.
pub(super) fn set(patterns: &[&str]) -> RegexSet {
    let built = RegexSetBuilder::new(patterns).dfa_size_limit(CACHE_BYTES).build();
    built.unwrap_or_else(|_| RegexSet::empty())
}
