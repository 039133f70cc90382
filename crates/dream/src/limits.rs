//! All limits of a dream, with their reasons.

/// Least share of common words of duplicate topics: below it, sentences begin to differ in a word that matters.
pub const SAME_WORDS: f64 = 0.8;

/// A person's topic is only removed if it has at least this many sentences and another topic has them word for
/// word: a stub with one common sentence is not a copy.
pub const SAME_SENTENCES: usize = 2;

/// Least words of a line that counts as a duplicate: `Done` may occur twice.
pub const LINE_WORDS: usize = 5;

/// Longest index line, in characters; longer ones are reported (specification, 7).
pub const INDEX_LINE_CHARS: usize = 200;

/// From this number on, and if there are not more topics than that, dead links suggest an incomplete directory
/// (a checkout, a move) rather than deleted topics.
pub const MANY_DEAD: usize = 4;

/// An editor may have just created an empty file; after a day it is a leftover.
pub const EMPTY_MICROS: i64 = 86_400_000_000;

/// Most rounds of consolidation: each one makes the directory smaller, so few are needed.
pub const ROUNDS: usize = 8;

/// Most sentences of a directory that a model may reword in one dream, in percent: consolidation shortens, and
/// what a person said stays in their words.
pub const MODEL_REWORDS_PERCENT: usize = 30;

/// This many may always be reworded: in a small directory, a few sentences are all of it.
pub const MODEL_REWORDS: usize = 6;

/// Least share of a sentence's words, in percent, that one other sentence must have to say the same in other words.
pub const MERGED_WORDS_PERCENT: usize = 70;

/// Most bytes that a model may add in one dream: it should consolidate, not write.
pub const MODEL_ADDS_BYTES: usize = 64 * 1024;

/// Most characters of a text that a note or an error quotes.
pub const QUOTED_CHARS: usize = 100;

/// A word or sentence in more topics than this says nothing about a pair of them.
pub const MANY_ALIKE: usize = 64;

/// Most bytes of files that a model sees in one dream: some 40,000 tokens, which fits every current context window.
pub const MODEL_SHOWN_BYTES: usize = 160 * 1024;

/// Largest of these files, in bytes; a larger one is not a note to reword, and would take the place of twenty.
pub const MODEL_FILE_BYTES: usize = 16 * 1024;
