//! Limits of a dream, with their reasons.

/// Minimum share of words that two topics must have in common to count as duplicates. Below it, sentences begin to
/// differ in words that matter.
pub const SAME_WORDS: f64 = 0.8;

/// Minimum number of sentences that a person's topic must have to be removed because another topic has all of them: a
/// single shared sentence does not make a topic a copy.
pub const SAME_SENTENCES: usize = 2;

/// Minimum number of words in a line that counts as a duplicate. Shorter lines, such as `Done`, may occur twice.
pub const LINE_WORDS: usize = 5;

/// Maximum length of an index line, in characters. Longer ones are reported.
pub const INDEX_LINE_CHARS: usize = 200;

/// If there are at least this many dead links, and at least as many as there are topics, the directory is probably
/// incomplete (for example during a checkout), so the links are kept.
pub const MANY_DEAD: usize = 4;

/// Age in microseconds from which an empty topic is removed. An editor may have just created a younger one.
pub const EMPTY_MICROS: i64 = 86_400_000_000;

/// Maximum number of rounds of consolidation. Each one leaves less to do, so few are needed.
pub const ROUNDS: usize = 8;

/// Maximum share of a directory's sentences that a model may reword in a dream, in percent.
pub const MODEL_REWORDS_PERCENT: usize = 30;

/// Number of sentences that a model may always reword: in a small directory, a few are already a large share.
pub const MODEL_REWORDS: usize = 6;

/// Minimum share of a sentence's words that another sentence must contain to count as a rewording of it, in percent.
pub const MERGED_WORDS_PERCENT: usize = 70;

/// Maximum number of bytes that a model may add in a dream: it should consolidate, not write new text.
pub const MODEL_ADDS_BYTES: usize = 64 * 1024;

/// Maximum length of a quotation in a note or an error, in characters.
pub const QUOTED_CHARS: usize = 100;

/// A word or sentence that occurs in more topics than this is too common to suggest that two topics are alike.
pub const MANY_ALIKE: usize = 64;

/// Maximum size of the files that a model sees in a dream, in bytes: about 40,000 tokens.
pub const MODEL_SHOWN_BYTES: usize = 160 * 1024;

/// Maximum size of a file that a model sees in a dream, in bytes. A larger file would take up the room of many ordinary files.
pub const MODEL_FILE_BYTES: usize = 16 * 1024;
