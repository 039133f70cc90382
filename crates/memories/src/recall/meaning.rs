//! What topics mean, as vectors that are compared with what somebody asks.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{LazyLock, Mutex};

use bethink_encoder::{BrokenWeights, Embedding, Encoder};
use bethink_memdir::Hash;
use bethink_recall::topics::TopicId;
use bethink_service::locked;

use super::Key;
use super::library::Library;

/// Topics of a directory with more than this many have no passages, only a vector of name and description: with those of
/// all passages, 10,000 topics would take 20 MB, and half an hour to make.
const MOST_WITH_PASSAGES: usize = 1_000;
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
    /// A job that makes what is missing waits or runs.
    pub(super) is_asked: AtomicBool,
}

/// A topic whose vectors are to be made.
#[derive(Debug)]
pub(super) struct Missing {
    pub(super) key: Key,
    pub(super) hash: Hash,
    /// Texts that already have vectors, because only the passages are missing.
    pub(super) done: Vec<Embedding>,
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

    /// Forgets vectors of other texts, and returns what is missing: first those without any.
    pub(super) fn missing(&self, library: &Library) -> Vec<Missing> {
        let topics = library.hashes();
        let mut vectors = locked(&self.vectors);
        vectors.retain(|key, (hash, _)| topics.get(key) == Some(hash));
        let with_passages = topics.len() <= MOST_WITH_PASSAGES;
        let (mut bare, mut partial) = (Vec::new(), Vec::new());
        for (key, hash) in topics {
            match vectors.get(&key) {
                None => bare.push(Missing { key, hash, done: Vec::new() }),
                Some((_, done)) if with_passages && done.len() == 1 => {
                    partial.push(Missing { key, hash, done: done.clone() });
                }
                Some(_) => {}
            }
        }
        bare.append(&mut partial);
        bare
    }
}
