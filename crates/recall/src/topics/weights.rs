//! The constants of the ranking, each with its reason.
//!
//! Few and round on purpose: they were validated with other questions, on directories of different kinds.

/// The probability that a topic is about a word, for each part of the topic that contains it. People choose names and
/// descriptions so that others find the topic; a body mentions much in passing.
pub const NAME: f32 = 0.75;
pub const DESCRIPTION: f32 = 0.7;
pub const HEADING: f32 = 0.45;
/// A name from code, which nobody mentions by chance.
pub const IDENTIFIER: f32 = 0.35;
/// The maximum, for a word that the body repeats.
pub const BODY: f32 = 0.6;

/// The number of mentions in an average body that give half of [`BODY`].
pub const HALF_MENTIONS: f32 = 1.0;
/// The part of that which grows with the length of a body: a word mentioned once in three sentences is their subject,
/// once in ten pages it is mentioned in passing.
pub const LENGTH_SHARE: f32 = 0.75;
/// Number of terms in an average body.
pub const PLAIN_LENGTH: f32 = 150.0;

/// Number of imaginary topics added to the directory. With two real topics, how many contain a word says nothing; with
/// thousands, these make no difference.
pub const IMAGINED_TOPICS: f32 = 30.0;

/// Information of a common working word ("fix", "file"), compared with a specific one.
pub const COMMON: f32 = 0.35;
/// A word for something that people have rules for ("commit", "test").
pub const HABITUAL: f32 = 0.6;
/// A number by itself.
pub const NUMBER: f32 = 0.4;
/// A word that occurs nowhere: it may be the subject of the question, or just a way of speaking.
pub const UNKNOWN: f32 = 0.7;

/// How many words of a question count in full; the information of each further one is divided by its rank, because a
/// long question is not about all of its words.
pub const FULL_WORDS: usize = 5;
/// The most words of a question that are looked up.
pub const MOST_WORDS: usize = 32;
/// How many bytes of a question are read from its beginning and its end: pasted text is usually in between.
pub const HEAD_BYTES: usize = 1_500;
pub const TAIL_BYTES: usize = 700;

/// Weights of the score. How much of the question a topic is about, judged by where the words occur.
pub const COVERED: f32 = 0.25;
/// How much of it is in one passage: words that belong together occur together.
pub const TOGETHER: f32 = 0.25;
/// How much is in that passage besides its most informative word: one rare word may be chance, two hardly.
pub const JOINT: f32 = 0.2;
/// How much of the topic's name occurs in the question.
pub const NAMED: f32 = 0.1;
/// How much information is covered, whatever its share of the question; [`FULL_EVIDENCE`] is about two rare words.
pub const EVIDENT: f32 = 0.3;
pub const FULL_EVIDENCE: f32 = 1.5;

/// The threshold: topics below it are not picked.
pub const FITS: f32 = 0.32;
/// The minimum information that must be covered: a question of common words fits everything.
pub const EVIDENCE: f32 = 0.25;
/// A topic with less than this share of the best score is not picked.
pub const BESIDE_BEST: f32 = 0.5;

/// How many of the best-covered topics are scored in detail.
pub const CLOSE_LOOK: usize = 64;
