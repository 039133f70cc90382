//! Marks of a conversation's prefixes, and the scope within which conversations are compared.

use crate::likeness::{MessageReading, Speaker};

/// A group of conversations. A request may continue only a conversation in its own scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChainScope(pub u64);

impl ChainScope {
    /// Hashes the parts, in order, to a scope.
    pub fn of(parts: &[&str]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        let mut first = [0; 8];
        hasher.finalize_xof().fill(&mut first);
        Self(u64::from_le_bytes(first))
    }
}

/// Computes the marks of one conversation, message by message.
///
/// Before the first answer, the text does not distinguish conversations: an agent's conversation and the request that
/// generates its title begin with the same sentence. Until then, `setting` (model, tools) distinguishes them. After the
/// first answer, `setting` does not count, because clients change it.
#[derive(Clone, Debug)]
pub struct Chain {
    setting: u128,
    said: u128,
    answered: bool,
}

impl Chain {
    pub fn new(setting: &[&str]) -> Self {
        let ChainScope(setting) = ChainScope::of(setting);
        Self { setting: u128::from(setting), said: 0, answered: false }
    }

    /// Returns the mark of all messages so far, including this one. Equal marks mean equal conversations.
    pub fn push(&mut self, message: &MessageReading) -> u128 {
        self.answered |= message.speaker == Speaker::Assistant;
        self.said = joined(self.said, message.likeness);
        if self.answered { self.said } else { joined(self.setting, self.said) }
    }
}

fn joined(before: u128, next: u128) -> u128 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&before.to_le_bytes());
    hasher.update(&next.to_le_bytes());
    first_half(&hasher)
}

pub(crate) fn first_half(hasher: &blake3::Hasher) -> u128 {
    let mut half = [0; 16];
    hasher.finalize_xof().fill(&mut half);
    u128::from_le_bytes(half)
}
