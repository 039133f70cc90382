//! Every number of a dream, with its reason.

/// Two topics are the same said twice from this share of common words on: below it, sentences that differ in a
/// word of weight begin to appear.
pub const SAME_WORDS: f64 = 0.8;

/// A person's topic goes only if so many sentences of it stand elsewhere word for word: a stub with one
/// common sentence is not a copy.
pub const SAME_SENTENCES: usize = 2;

/// Words that a line has to have to be a duplicate worth taking out: `Done` may stand twice.
pub const LINE_WORDS: usize = 5;

/// Characters of an index line, of which a longer one is reported (specification, 7).
pub const INDEX_LINE_CHARS: usize = 200;

/// From so many on, and where there are no more topics than that, dead links tell of a directory that is half
/// there (a checkout, a move) rather than of topics that went.
pub const MANY_DEAD: usize = 4;

/// An empty file may have been made by an editor a moment ago; after a day it is left over.
pub const EMPTY_MICROS: i64 = 86_400_000_000;

/// Consolidation is done again until nothing changes; each round makes the directory smaller, so few are needed.
pub const ROUNDS: usize = 8;

/// Of a directory's sentences, a model may reword so many in a hundred in one dream: consolidation shortens, and what
/// a person said stays in their words.
pub const MODEL_REWORDS_PERCENT: usize = 30;

/// So many may be reworded in any case: of a small directory, a few are all of it.
pub const MODEL_REWORDS: usize = 6;

/// Of a sentence's words, so many in a hundred must stand in one other sentence for that to be the same in other words.
pub const MERGED_WORDS_PERCENT: usize = 70;

/// Bytes that a model may add to a directory in one dream: it consolidates, and writes no books.
pub const MODEL_ADDS_BYTES: usize = 64 * 1024;

/// Characters of a text that a note or an error repeats.
pub const QUOTED_CHARS: usize = 100;

/// A word or a sentence that more topics share than this tells of no pair among them.
pub const MANY_ALIKE: usize = 64;

/// Bytes of files that a model is shown in one dream: some 40,000 tokens, which every window of today has.
pub const MODEL_SHOWN_BYTES: usize = 160 * 1024;

/// Bytes of one of them; a longer one is no note to be reworded, and would take the room of twenty.
pub const MODEL_FILE_BYTES: usize = 16 * 1024;
