//! A gzip stream of a few megabytes that unpacks to a gigabyte of zeros.

/// The header: deflate, no name, no time.
pub(crate) const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// How often [`block`] is repeated.
pub(crate) const BLOCKS: usize = 1024;
/// Number of runs in a block.
const RUNS: usize = 4096;

/// Returns a deflate block with fixed codes: a zero, followed by runs of 258 more; about a megabyte unpacked. Ends at
/// a byte boundary, so that blocks can be repeated.
pub(crate) fn block() -> Vec<u8> {
    let mut bits = Bits::default();
    // Not the last block; fixed codes.
    bits.number(0, 1);
    bits.number(1, 2);
    // The literal 0 has the code 00110000.
    bits.code(0b0011_0000, 8);
    for _ in 0..RUNS {
        // Length 258 is symbol 285, code 11000101; distance 1 is code 00000.
        bits.code(0b1100_0101, 8);
        bits.code(0, 5);
    }
    // End of block, then an empty stored block, so that the next one begins at a byte boundary.
    bits.code(0, 7);
    bits.number(0, 3);
    bits.pad();
    bits.bytes.extend([0, 0, 0xff, 0xff]);
    bits.bytes
}

#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: usize,
}

impl Bits {
    fn bit(&mut self, bit: bool) {
        if self.used.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << (self.used % 8);
        }
        self.used += 1;
    }

    /// Numbers are written lowest bit first, codes highest bit first.
    fn number(&mut self, value: u32, bits: u32) {
        (0..bits).for_each(|at| self.bit(value >> at & 1 == 1));
    }

    fn code(&mut self, value: u32, bits: u32) {
        (0..bits).rev().for_each(|at| self.bit(value >> at & 1 == 1));
    }

    fn pad(&mut self) {
        self.used = self.bytes.len() * 8;
    }
}
