//! The constants of the ranking, in one place, each with its reason.
//!
//! Few and round on purpose: they are judged by questions that did not fit them, on directories of different kinds.

/// How much a word in each part of a topic tells of what the topic is about: chance that a topic with a word there
/// is about that word. People choose names and descriptions for others to find a topic by; a body mentions much in
/// passing.
pub const NAME: f32 = 0.75;
pub const DESCRIPTION: f32 = 0.7;
pub const HEADING: f32 = 0.45;
/// A name from code: nobody mentions one by chance.
pub const IDENTIFIER: f32 = 0.35;
/// At most, and for a word that the body comes back to.
pub const BODY: f32 = 0.6;

/// Mentions in a plain body at which it has half of [`BODY`].
pub const HALF_MENTIONS: f32 = 1.0;
/// Part of that which grows with the length of a body: what is mentioned once in three sentences is what they are
/// about, once in ten pages it is mentioned in passing.
pub const LENGTH_SHARE: f32 = 0.75;
/// Terms of a plain body.
pub const PLAIN_LENGTH: f32 = 150.0;

/// Topics of an imagined directory beside the real one. In a directory of two topics, how many of them hold a word
/// says nothing; among thousands these change nothing.
pub const IMAGINED_TOPICS: f32 = 30.0;

/// What a common word of work ("fix", "file") tells, compared with a word that was chosen.
pub const COMMON: f32 = 0.35;
/// A word for something that people have rules for ("commit", "test").
pub const HABITUAL: f32 = 0.6;
/// A number alone.
pub const NUMBER: f32 = 0.4;
/// A word that occurs nowhere: it may be the very thing asked for, or a manner of speaking.
pub const UNKNOWN: f32 = 0.7;

/// Words of a question that count in full; the information of each further one is divided by its rank. A long
/// question is not about all of its words.
pub const FULL_WORDS: usize = 5;
/// Words of a question that are looked up, at most.
pub const MOST_WORDS: usize = 32;
/// Bytes of a question that are read, from its beginning and from its end: what is pasted stands between what is
/// asked about it.
pub const HEAD_BYTES: usize = 1_500;
pub const TAIL_BYTES: usize = 700;

/// Shares of the verdict. How much of the question a topic is about, by where the words stand.
pub const COVERED: f32 = 0.25;
/// How much of it one passage holds: words that were meant together stand together.
pub const TOGETHER: f32 = 0.25;
/// How much that passage holds beside its most telling word: one rare word may be there by chance, two hardly.
pub const JOINT: f32 = 0.2;
/// How much of the topic's own name the question says.
pub const NAMED: f32 = 0.1;
/// How much is covered at all, whatever share of the question it is; [`FULL_EVIDENCE`] is about two rare words.
pub const EVIDENT: f32 = 0.3;
pub const FULL_EVIDENCE: f32 = 1.5;

/// Below this, a topic is not what was asked for.
pub const FITS: f32 = 0.32;
/// Information that must be covered at all: a question of common words fits everything and nothing.
pub const EVIDENCE: f32 = 0.25;
/// A topic that fits much less than the best one is not picked beside it.
pub const BESIDE_BEST: f32 = 0.5;

/// Of the topics with the most covered, so many are looked at closely.
pub const CLOSE_LOOK: usize = 64;
