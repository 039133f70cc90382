//! The weight of each kind of evidence.

/// Constants of the ranking, fitted by `figures --only ranking`, which also validates each conversation with constants
/// fitted on the others. Small changes to them make little difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// How soon repetitions of a word stop counting, in a message and in a stretch (`k1` of BM25).
    pub repeats: f32,
    pub stretch_repeats: f32,
    /// How much length matters (`b` of BM25). The length of a message is its number of terms; the length of a stretch
    /// is its number of messages.
    pub length: f32,
    pub stretch_length: f32,
    /// Weight of the stretch relative to the message.
    pub stretch: f32,
    /// Weight of a word that only shares a prefix with a term.
    pub family: f32,
    /// Shares of the scores of neighboring messages: one after, one before, two after and two before this message.
    pub next: f32,
    pub before: f32,
    pub second_next: f32,
    pub second_before: f32,
    /// Increase in the previous message's share if that message asks something, because this message may be the answer.
    pub answers: f32,
    /// Added to messages by the speaker that the question is about. The unit is a term's weight, which is about 1 for a
    /// term in a third of all messages and 6 for a term in one of a few hundred.
    pub speaker: f32,
    /// Added to a message that states a time, if the question asks when.
    pub when: f32,
    /// Added to messages of a named day: as much as a rare word, because people name a day on purpose.
    pub named_day: f32,
    /// Subtracted from a message that ends with a question.
    pub asking: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            repeats: 1.2,
            stretch_repeats: 1.2,
            length: 0.4,
            stretch_length: 0.75,
            stretch: 1.0,
            family: 0.2,
            next: 0.3,
            before: 0.4,
            second_next: 0.1,
            second_before: 0.2,
            answers: 0.8,
            speaker: 1.4,
            when: 1.0,
            named_day: 3.0,
            asking: 0.5,
        }
    }
}
