//! How likely a name is to be used again soon.
//!
//! A logistic model. Its weights were fitted on recorded sessions, with leave-one-out validation (`figures --only
//! needs` prints both results). The label is whether the name is used in the next 40 messages, not counting results.

use std::collections::HashSet;

use bethink_transcript::Seq;

use crate::names::NameUse;

pub const FEATURES: usize = 12;

/// The meaning of each weight, in order.
pub const FEATURE_NAMES: [&str; FEATURES] = [
    "constant",
    "number of messages since the last mention (logarithm)",
    "number of mentions (logarithm)",
    "number of mentions (slow decay)",
    "number of mentions (fast decay)",
    "mentioned by the user",
    "a file that was edited",
    "a file that was only read",
    "mentioned only in tool results",
    "a flag",
    "mentioned in an unresolved failure, an open todo or the newest messages",
    "share of the name's words that also occur in recently used names",
];

/// Features with fixed weights, by index. A free fit prefers the newest names, but the messages kept after a compaction show
/// those anyway. The fixed weights find 52% instead of 45% of the names from long ago, at the cost of missing one more name in
/// a hundred overall.
pub const HELD: [(usize, f32); 4] = [(1, -0.30), (2, -0.30), (3, 1.0), (4, -0.20)];

/// The fitted weights.
pub const WEIGHTS: [f32; FEATURES] =
    [-2.83, -0.30, -0.30, 1.0, -0.20, 0.09, 0.53, 0.47, -0.91, 0.29, 0.84, 0.68];

/// The situation for which needs are predicted.
#[derive(Debug)]
pub struct NeedMoment<'a> {
    pub now: Seq,
    /// Names in unfinished work.
    pub open: HashSet<&'a str>,
    /// Names of files that were edited, and of files that were only read.
    pub edited: HashSet<&'a str>,
    pub read: HashSet<&'a str>,
    /// Words in the names that are in use right now.
    pub words: HashSet<String>,
}

impl NeedMoment<'_> {
    /// Returns the share of the name's words that are in use right now, 0 to 1.
    fn topic(&self, name: &str) -> f32 {
        let (mut all, mut known) = (0, 0);
        for_each_word(name, |word| {
            all += 1;
            known += u32::from(self.words.contains(word));
        });
        if all == 0 { 0.0 } else { known as f32 / all as f32 }
    }
}

/// Calls `each` with the words of a name in lower case, without the shortest: `read` and `line` of `readLine`.
pub(crate) fn for_each_word(name: &str, mut each: impl FnMut(&str)) {
    const SHORTEST: usize = 4;
    let mut word = String::new();
    let mut upper = true;
    for c in name.chars().chain(['.']) {
        let starts = !c.is_alphanumeric() || (c.is_uppercase() && !upper);
        if starts {
            if word.len() >= SHORTEST {
                each(&word);
            }
            word.clear();
        }
        upper = c.is_uppercase();
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
}

/// Returns the features of a name, in the order of [`FEATURE_NAMES`].
pub fn features(name: &str, used: &NameUse, moment: &NeedMoment<'_>) -> [f32; FEATURES] {
    let age = |seq: Seq| (1.0 + moment.now.0.saturating_sub(seq.0) as f32).ln();
    let yes = |is: bool| f32::from(u8::from(is));
    [
        1.0,
        age(used.last),
        (1.0 + used.count as f32).ln(),
        (1.0 + used.slow(moment.now)).ln(),
        (1.0 + used.quick(moment.now)).ln(),
        yes(used.by_user),
        yes(moment.edited.contains(name)),
        yes(moment.read.contains(name)),
        yes(used.spoken == 0),
        yes(name.starts_with("--")),
        yes(moment.open.contains(name)),
        moment.topic(name),
    ]
}

/// Returns the probability that the name is used again soon.
pub fn need(name: &str, used: &NameUse, moment: &NeedMoment<'_>) -> f32 {
    let at = features(name, used, moment);
    let sum: f32 = at.iter().zip(WEIGHTS).map(|(x, w)| x * w).sum();
    1.0 / (1.0 + (-sum).exp())
}
