//! Repairs a frame of the log in which one byte changed.
//!
//! The checksum of a frame is a sum in which each word counts with a coefficient of its own: a change of `d` at a word
//! changes the two halves by `a*d` and `b*d`, modulo 2^32. So the difference between the stored and the computed
//! checksum shows whether one byte changed, and usually which one. It is ambiguous if a change in the highest bits of a
//! word has the same effect in several words. The probability that a frame with other damage seems to differ in only
//! one byte is about 2^-44: four thousand bytes with 255 other values each, and 64 bits that must agree.

use std::iter::once;

use crate::wal::{Checksum, FRAME_HEADER_BYTES, frame_checksum, word};

/// What is wrong with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameDamage {
    /// One byte of the frame or of its checksum had changed. The frame is now as it was written.
    Repaired,
    /// One byte of the page changed, at one of several places.
    OneByte,
    /// More than one byte changed, or the page number may be wrong: the frame cannot be used.
    More,
}

/// Repairs `frame`, which follows one with the checksum `before`.
pub(crate) fn repair(
    before: Checksum,
    stored: Checksum,
    frame: &mut [u8],
    big_endian: bool,
) -> FrameDamage {
    let computed = frame_checksum(before, frame, big_endian);
    if is_one_byte(stored, computed) {
        return FrameDamage::Repaired;
    }
    let difference = Checksum(stored.0.wrapping_sub(computed.0), stored.1.wrapping_sub(computed.1));
    let mut found = Vec::new();
    // The coefficients of the first and the second word of a pair, initially of the last pair.
    let (mut first, mut second) = (Checksum(1, 1), Checksum(0, 1));
    for pair in pairs(frame.len()).rev() {
        for (at, coefficients) in [(pair, first), (pair + 4, second)] {
            let Some(change) = solve(coefficients, difference) else { continue };
            let Some(word) = with_change(&frame[at..at + 4], change, big_endian) else { continue };
            found.push((at, word));
        }
        (first, second) = (before_a_pair(first), before_a_pair(second));
    }
    match found[..] {
        [(at, word)] => {
            frame[at..at + 4].copy_from_slice(&word);
            FrameDamage::Repaired
        }
        [_, .., (last, _)] if last >= FRAME_HEADER_BYTES => FrameDamage::OneByte,
        _ => FrameDamage::More,
    }
}

/// Returns where the checked pairs of words begin.
fn pairs(frame_bytes: usize) -> impl DoubleEndedIterator<Item = usize> {
    once(0).chain((FRAME_HEADER_BYTES..frame_bytes).step_by(8))
}

/// Returns the coefficients of a word that is one pair further from the end.
fn before_a_pair(Checksum(a, b): Checksum) -> Checksum {
    let a = a.wrapping_add(b);
    Checksum(a, b.wrapping_add(a))
}

/// Returns the change that leads to this difference. One of the coefficients is odd, because two neighboring Fibonacci
/// numbers are never both even.
fn solve(coefficients: Checksum, difference: Checksum) -> Option<u32> {
    let Checksum(a, b) = coefficients;
    let change = match a % 2 {
        1 => difference.0.wrapping_mul(inverse(a)),
        _ => difference.1.wrapping_mul(inverse(b)),
    };
    let fits = a.wrapping_mul(change) == difference.0 && b.wrapping_mul(change) == difference.1;
    fits.then_some(change)
}

/// Returns the inverse of an odd number modulo 2^32. Each step of Newton's method doubles the correct bits.
fn inverse(odd: u32) -> u32 {
    (0..5)
        .fold(odd, |inverse, _| inverse.wrapping_mul(2_u32.wrapping_sub(odd.wrapping_mul(inverse))))
}

/// Returns the changed word, if it differs in one byte.
fn with_change(bytes: &[u8], change: u32, big_endian: bool) -> Option<[u8; 4]> {
    let old = word(bytes, big_endian);
    let new = old.wrapping_add(change);
    let is_one = differing_bytes(old ^ new) == 1;
    is_one.then(|| if big_endian { new.to_be_bytes() } else { new.to_le_bytes() })
}

fn is_one_byte(one: Checksum, other: Checksum) -> bool {
    differing_bytes(one.0 ^ other.0) + differing_bytes(one.1 ^ other.1) == 1
}

fn differing_bytes(difference: u32) -> usize {
    difference.to_be_bytes().into_iter().filter(|byte| *byte != 0).count()
}
