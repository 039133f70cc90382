//! How much each kind of evidence counts.

/// Constants of the ranking. They are fitted by `figures --only ranking`, which also judges each
/// conversation by constants fitted on the others; they lie on broad optima.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// How soon a repeated word says nothing new in a message, and in a stretch (`k1` of BM25).
    pub repeats: f32,
    pub stretch_repeats: f32,
    /// Share of the length's weight (`b` of BM25) of a message, in terms, and of a stretch, in
    /// messages.
    pub length: f32,
    pub stretch_length: f32,
    /// Weight of the stretch beside that of the message.
    pub stretch: f32,
    /// Share of the weight of a word that only begins alike.
    pub family: f32,
    /// Shares of the evidence of the message after, before, the second after, and the second before.
    pub next: f32,
    pub before: f32,
    pub second_next: f32,
    pub second_before: f32,
    /// The share of the message before is so much larger if that asks something: this may be the
    /// answer.
    pub answers: f32,
    /// Added to the turns of the one speaker who is asked about, in units of the weight of a term,
    /// which is about 1 for one in a third of all messages and 6 for one in a few hundred.
    pub speaker: f32,
    /// Added to a message that tells when where that is asked.
    pub when: f32,
    /// Added to messages of a day that is named: as much as a rare word, for who names a day means it.
    pub named_day: f32,
    /// Taken from a message that ends with a question.
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
