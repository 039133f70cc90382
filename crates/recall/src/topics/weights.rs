//! The constants of the ranking, and the reasons for their values.
//!
//! There are few constants, and they are round numbers. They were validated with other questions, on directories of
//! different kinds.

/// Probabilities that a topic is about a word that occurs in its name, in its description, or in another part. People
/// choose names and descriptions so that the topic is found; a body mentions many things in passing.
pub const NAME: f32 = 0.75;
pub const DESCRIPTION: f32 = 0.7;
/// Probability for a word in a topic's questions, which are written so that other words find the topic, too. It is
/// lower than for a word in the description, so that a topic whose description uses the words of a question comes
/// first.
pub const QUESTION: f32 = 0.6;
pub const HEADING: f32 = 0.45;
/// Probability for a name from code that occurs in the body. Such a name is not mentioned by chance.
pub const IDENTIFIER: f32 = 0.35;
/// Maximum probability for a word in the body, if it is repeated often.
pub const BODY: f32 = 0.6;

/// Number of mentions that give half of [`BODY`], in a body of average length.
pub const HALF_MENTIONS: f32 = 1.0;
/// The share of [`HALF_MENTIONS`] that grows with the length of the body: a word that occurs once in three sentences is
/// their subject, but a word that occurs once in ten pages is not.
pub const LENGTH_SHARE: f32 = 0.75;
/// Number of terms in an average body.
pub const PLAIN_LENGTH: f32 = 150.0;

/// Number of imaginary topics that are added to the directory. If a directory has two topics, the number of topics that
/// contain a word says little; if it has thousands, the imaginary topics make no difference.
pub const IMAGINED_TOPICS: f32 = 30.0;

/// Information carried by a word that is common at work ("fix", "file"). A specific word carries 1.
pub const COMMON: f32 = 0.35;
/// Information carried by a word that people often have rules about ("commit", "test").
pub const HABITUAL: f32 = 0.6;
/// Information carried by a number.
pub const NUMBER: f32 = 0.4;
/// Information carried by a word that occurs in no topic. Such a word may be the subject of the question, or just part
/// of a phrase.
pub const UNKNOWN: f32 = 0.7;

/// If no topic contains a compound name, each part of the name keeps only this share of its information: a topic that
/// mentions files is not about `filesTouched`.
pub const PART: f32 = 0.5;
/// How well related words match an explicit question if the word itself also occurs. Topics with the word itself thus
/// come first.
pub const BESIDE_EXACT: f32 = 0.5;

/// Number of a question's words that count in full. The information of each further word is divided by its rank,
/// because a long question is not about all of its words.
pub const FULL_WORDS: usize = 5;
/// Maximum number of a question's words that are looked up.
pub const MOST_WORDS: usize = 32;
/// Number of bytes that are read from the beginning and from the end of a question. Pasted text is usually in between.
pub const HEAD_BYTES: usize = 1_500;
pub const TAIL_BYTES: usize = 700;

/// Weight in the score: how much of the question the topic is about.
pub const COVERED: f32 = 0.25;
/// Weight in the score: how much of the question is in one passage, because related words occur together.
pub const TOGETHER: f32 = 0.25;
/// Weight in the score: how much of the question is in that passage, not counting its most informative word, which may
/// be there by coincidence.
pub const JOINT: f32 = 0.2;
/// Weight in the score: how much of the topic's name occurs in the question.
pub const NAMED: f32 = 0.1;
/// Weight in the score: how much information is covered, up to [`FULL_EVIDENCE`], which is about two rare words.
pub const EVIDENT: f32 = 0.3;
pub const FULL_EVIDENCE: f32 = 1.5;

/// Minimum score that a topic needs to be picked. With a minimum of 0.32, a third of the topics that were shown for
/// real prompts from other projects had been found by a single word.
pub const FITS: f32 = 0.45;
/// Minimum information that a topic must cover, because a question made of common words would otherwise fit every
/// topic.
pub const EVIDENCE: f32 = 0.25;
/// Minimum share of the best score that a topic must have to be picked.
pub const BESIDE_BEST: f32 = 0.5;

/// Weights that order topics for an explicit question: how much of the question the topic is about, how much of it is
/// in one passage, and how much of it is in the name and description. People write those so that the topic is found.
pub const NEAR_COVERED: f32 = 0.5;
pub const NEAR_TOGETHER: f32 = 0.1;
pub const NEAR_HEADER: f32 = 0.4;

/// If the first topic is sure and its score by words alone is at least this, topics are not compared by meaning. With
/// half of this value, one question that used other words than its topic did not find it. With this value, every
/// question found its topic, and two thirds of the questions in the topic's own words needed no vector.
pub const ANSWERED: f32 = 0.4;

/// Weight of the similarity in meaning when topics are ordered for an explicit question. Only the part above the mean
/// of all topics counts. Half and twice this value gave the same results.
pub const NEAR_MEANING: f32 = 2.0;
/// Minimum similarity in meaning. A less similar topic does not count as similar.
pub const ALIKE: f32 = 0.2;

/// Number of topics that are scored in detail: those that cover the most of the question.
pub const CLOSE_LOOK: usize = 64;
/// Number of topics to rank, before dropping those that the session has seen or that explain its tools.
pub const WIDE_LOOK: usize = 512;
