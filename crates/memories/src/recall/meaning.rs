//! What topics mean, as vectors that are compared with a question's vector.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use bethink_encoder::{BrokenWeights, Embedding, Encoder};
use bethink_memdir::Hash;
use bethink_recall::topics::TopicId;
use bethink_service::locked;
use tokio::sync::watch;

use super::Key;
use super::library::Library;

/// If a project has more topics than this, vectors are made only of each topic's name and description, and not of its
/// passages: for 10,000 topics, vectors of all passages would take 20 MB, and half an hour to make.
const MOST_WITH_PASSAGES: usize = 1_000;
/// Number of words per passage, and maximum number of passages per topic. The encoder reads about 90 words at a time.
const PASSAGE_WORDS: usize = 80;
const MOST_PASSAGES: usize = 8;
/// Minimum number of words of a passage. A shorter passage says little about the topic, and would weigh as much as its
/// description.
const FEWEST_WORDS: usize = 8;
/// How long a question waits for vectors that are being made, and the maximum number of topics for which it waits. The
/// vectors of 60 topics take about a second.
const PATIENCE: Duration = Duration::from_secs(2);
const MOST_AWAITED: usize = 100;
/// The encoder. Its weights are part of the program, so it takes no memory until it is used.
pub(super) static ENCODER: LazyLock<Option<Encoder<'static>>> =
    LazyLock::new(|| match Encoder::bundled() {
        Ok(encoder) => Some(encoder),
        Err(BrokenWeights::LeftOut) => None,
        Err(error) => {
            tracing::error!(%error, "could not use the encoder; recalling by words alone");
            None
        }
    });

/// The vectors of a project's topics.
#[derive(Debug, Default)]
pub(crate) struct Meanings {
    pub(super) vectors: Mutex<HashMap<Key, (Hash, Vec<Embedding>)>>,
    /// Whether the stored vectors were read.
    pub(super) is_read: tokio::sync::Mutex<bool>,
    /// Whether a job that makes missing vectors is waiting or running.
    pub(super) is_asked: AtomicBool,
    /// Number of topics that cannot yet be found by their meaning, because the name and description, or the first passage, has
    /// no vector.
    pub(super) pending: watch::Sender<usize>,
}

impl Meanings {
    /// Returns the same vectors, for a copy of the library. No job makes those that are missing.
    pub(super) fn copied(&self) -> Self {
        Self { vectors: Mutex::new(locked(&self.vectors).clone()), ..Self::default() }
    }

    /// Records that no job will make the missing vectors, so that no question waits for them.
    pub(super) fn is_no_longer_asked(&self) {
        self.is_asked.store(false, Ordering::Relaxed);
        self.pending.send_replace(0);
    }
}

/// A topic whose vectors are to be made.
#[derive(Debug)]
pub(super) struct Missing {
    pub(super) key: Key,
    pub(super) hash: Hash,
    /// The vectors that already exist, in this order: name and description, first passage, other passages.
    pub(super) done: Vec<Embedding>,
}

impl Missing {
    /// Returns which vectors of the topic come next: that of the name and description (0), that of the first passage
    /// (1), or all others (2).
    pub(super) fn stage(&self) -> usize {
        self.done.len().min(2)
    }
}

/// Returns the parts of a topic that get vectors of their own: passages of its text, and the questions that it answers.
pub(super) fn passages(body: &str, questions: &[String]) -> Vec<String> {
    let words: Vec<&str> = body.split_whitespace().take(MOST_PASSAGES * PASSAGE_WORDS).collect();
    let passages = words.chunks(PASSAGE_WORDS).filter(|words| words.len() >= FEWEST_WORDS);
    passages.map(|words| words.join(" ")).chain(questions.iter().cloned()).collect()
}

/// Returns the number of parts that [`passages`] returns.
pub(super) fn count_passages(body: &str, questions: &[String]) -> usize {
    let words = body.split_whitespace().take(MOST_PASSAGES * PASSAGE_WORDS).count();
    let last = usize::from(words % PASSAGE_WORDS >= FEWEST_WORDS);
    words / PASSAGE_WORDS + last + questions.len()
}

impl Meanings {
    /// Returns how similar each topic is to a question in meaning: by its name and description, and by its best passage.
    pub(super) fn similar_to(&self, question: &str, library: &Library) -> Vec<(TopicId, f32)> {
        if locked(&self.vectors).is_empty() {
            return Vec::new();
        }
        let Some(encoder) = &*ENCODER else { return Vec::new() };
        let question = encoder.encode(question);
        let (vectors, held) = (locked(&self.vectors), library.held());
        let similar = vectors.iter().filter_map(|(key, (_, vectors))| {
            let (header, passages) = vectors.split_first()?;
            let header = question.similarity(header);
            let best = passages.iter().map(|passage| question.similarity(passage));
            let best =
                best.fold(None, |best: Option<f32>, one| Some(best.map_or(one, |b| b.max(one))));
            Some((held.id(key)?, (header + best.unwrap_or(header)) / 2.0))
        });
        similar.collect()
    }

    /// Waits until new topics can be found by their meaning, but no longer than [`PATIENCE`], and not at all if there
    /// are many of them.
    pub(super) async fn wait_for_few(&self) {
        let mut pending = self.pending.subscribe();
        if *pending.borrow() <= MOST_AWAITED {
            let made = pending.wait_for(|pending| *pending == 0);
            drop(tokio::time::timeout(PATIENCE, made).await);
        }
    }

    /// Drops vectors of outdated texts.
    pub(super) fn forget_outdated(&self, library: &Library) {
        let hashes = library.hashes();
        locked(&self.vectors).retain(|key, (hash, _)| hashes.get(key) == Some(hash));
    }

    /// Drops vectors of outdated texts, and returns the topics with missing vectors: first those that lack the vector
    /// of the name and description, then those that lack the vector of the first passage, and last all others.
    pub(super) fn missing(&self, library: &Library) -> Vec<Missing> {
        if ENCODER.is_none() {
            return Vec::new();
        }
        self.forget_outdated(library);
        let topics = library.passages();
        let vectors = locked(&self.vectors);
        let has_passages = topics.len() <= MOST_WITH_PASSAGES;
        let mut missing = Vec::new();
        for (key, hash, passages) in topics {
            let known = vectors.get(&key).map_or(&[][..], |(_, known)| known);
            // A topic without text has its header's vector in place of the first passage.
            let needed = if has_passages { 1 + passages.max(1) } else { 1 };
            if known.len() < needed {
                missing.push(Missing { key, hash, done: known.to_vec() });
            }
        }
        missing.sort_by_key(Missing::stage);
        self.pending.send_replace(missing.partition_point(|one| one.stage() < 2));
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_question_waits_for_a_few_new_topics() {
        let meanings = Meanings::default();
        let begun = tokio::time::Instant::now();
        for pending in [0, MOST_AWAITED + 1] {
            meanings.pending.send_replace(pending);
            meanings.wait_for_few().await;
        }
        meanings.pending.send_replace(1);
        tokio::join!(meanings.wait_for_few(), async { meanings.pending.send_replace(0) });
        assert_eq!(begun.elapsed(), Duration::ZERO);
        meanings.pending.send_replace(1);
        meanings.wait_for_few().await;
        assert_eq!(begun.elapsed(), PATIENCE, "it gets an answer although no vector was made");
    }

    #[test]
    fn passages_cover_the_beginning_of_a_text() {
        for (words, read) in [(0, 0), (7, 0), (8, 8), (80, 80), (81, 80), (90, 90), (2_000, 640)] {
            let text = "word ".repeat(words);
            let passages = passages(&text, &[]);
            assert_eq!(passages.len(), count_passages(&text, &[]), "{words}");
            let found: usize = passages.iter().map(|passage| passage.split(' ').count()).sum();
            assert_eq!(found, read);
        }
        let questions = ["May I push?".to_owned()];
        assert_eq!(passages("No.", &questions), ["May I push?"]);
        assert_eq!(count_passages("No.", &questions), 1);
    }
}
