//! An embedding: a vector of length 1, stored with one byte per component.

use crate::layer::HIDDEN;

/// Size of an embedding, in bytes: the scale, and one byte per component.
pub const EMBEDDING_BYTES: usize = 4 + HIDDEN;
/// Largest value of a stored component.
const MOST: f32 = 127.0;

/// The embedding of a text: texts with similar meanings have vectors with similar directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    numbers: Box<[i8; HIDDEN]>,
    /// The factor for all components that makes the length of the vector 1.
    scale: f32,
}

impl Embedding {
    /// Returns the vector scaled to length 1. A zero vector stays zero, and its similarity to any other is 0.
    pub(crate) fn of(vector: &[f32]) -> Self {
        let most = vector.iter().fold(0.0_f32, |most, number| most.max(number.abs()));
        let mut numbers = Box::new([0; HIDDEN]);
        let mut squares = 0.0;
        for (stored, number) in numbers.iter_mut().zip(vector) {
            let number = (number / most * MOST).round();
            *stored = number as i8;
            squares += number * number;
        }
        let scale = if squares.is_finite() && squares > 0.0 { squares.sqrt().recip() } else { 0.0 };
        Self { numbers, scale }
    }

    /// Returns how similar two texts are, from -1 to 1: the cosine of the angle between their vectors.
    pub fn similarity(&self, other: &Self) -> f32 {
        let products = self.numbers.iter().zip(other.numbers.iter());
        let sum: i32 = products.map(|(a, b)| i32::from(i16::from(*a) * i16::from(*b))).sum();
        sum as f32 * self.scale * other.scale
    }

    pub fn to_bytes(&self) -> [u8; EMBEDDING_BYTES] {
        let mut bytes = [0; EMBEDDING_BYTES];
        bytes[..4].copy_from_slice(&self.scale.to_le_bytes());
        for (byte, number) in bytes[4..].iter_mut().zip(self.numbers.iter()) {
            *byte = number.to_le_bytes()[0];
        }
        bytes
    }

    /// Returns `None` if the bytes are not those of an embedding.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (scale, stored) = bytes.split_first_chunk()?;
        let stored: &[u8; HIDDEN] = stored.try_into().ok()?;
        let scale = f32::from_le_bytes(*scale);
        let numbers = Box::new(stored.map(|byte| i8::from_le_bytes([byte])));
        (0.0..=1.0).contains(&scale).then_some(Self { numbers, scale })
    }
}
