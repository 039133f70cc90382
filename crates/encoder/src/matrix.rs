//! Products with matrices of 4-bit numbers.
//!
//! Both sides are converted to whole numbers of twelve bits, which changes a product by less than three thousandths and
//! halves the time. The loops are written so that the compiler uses vector instructions for them.

use crate::vectorized::{Loops, most_of, run_vectorized, whole};

/// Number of columns that share a scale.
pub(crate) const GROUP: usize = 32;
/// Number of columns whose products are summed as whole numbers: more could exceed 32 bits.
const BLOCK: usize = 384;
/// The largest whole number on either side.
const MOST: f32 = 2_047.0;
/// The largest absolute value of a 4-bit number, which is from -8 to 7.
const MOST_PACKED: f32 = 8.0;

/// A matrix as it is in the file: two columns in a byte, the first in the lower half, and a half-precision scale per
/// [`GROUP`] columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix<'a> {
    packed: &'a [u8],
    scales: &'a [u8],
    columns: usize,
}

impl<'a> Matrix<'a> {
    pub(crate) fn new(packed: &'a [u8], scales: &'a [u8], columns: usize) -> Self {
        Self { packed, scales, columns }
    }

    /// Returns a row.
    pub(crate) fn row(&self, row: usize, out: &mut [f32]) {
        let (packed, scales) = self.at(row);
        for ((group, scale), out) in packed.iter().zip(scales).zip(out.chunks_exact_mut(GROUP)) {
            let scale = half(*scale);
            for (byte, pair) in group.iter().zip(out.chunks_exact_mut(2)) {
                pair[0] = (f32::from(byte & 15) - 8.0) * scale;
                pair[1] = (f32::from(byte >> 4) - 8.0) * scale;
            }
        }
    }

    fn at(&self, row: usize) -> (&'a [[u8; GROUP / 2]], &'a [[u8; 2]]) {
        let groups = self.columns / GROUP;
        let scales = &self.scales[row * groups * 2..(row + 1) * groups * 2];
        let packed = &self.packed[row * self.columns / 2..(row + 1) * self.columns / 2];
        (packed.as_chunks().0, scales.as_chunks().0)
    }

    /// Converts a row to whole numbers, and returns their scale. In each group, the even columns come first, because that
    /// needs no shuffling.
    #[inline(always)]
    fn whole_row(&self, row: usize, out: &mut [i16]) -> f32 {
        let (packed, scales) = self.at(row);
        let most = scales.iter().map(|scale| half(*scale)).fold(f32::MIN_POSITIVE, f32::max);
        let unit = most * MOST_PACKED / MOST;
        let (out, _) = out.as_chunks_mut::<GROUP>();
        for ((group, scale), out) in packed.iter().zip(scales).zip(out) {
            let factor = whole(half(*scale) / unit);
            let (even, odd) = out.split_at_mut(GROUP / 2);
            for ((byte, even), odd) in group.iter().zip(even).zip(odd) {
                *even = (i16::from(byte & 15) - 8) * factor;
                *odd = (i16::from(byte >> 4) - 8) * factor;
            }
        }
        unit
    }

    /// Returns the products of the matrix with each of the inputs, plus the bias.
    pub(crate) fn products(&self, inputs: &[f32], bias: &[f32]) -> Vec<f32> {
        let mut out = vec![0.0; inputs.len() / self.columns * bias.len()];
        run_vectorized(Products { matrix: *self, inputs, bias, out: &mut out });
        out
    }
}

struct Products<'a> {
    matrix: Matrix<'a>,
    inputs: &'a [f32],
    bias: &'a [f32],
    out: &'a mut [f32],
}

impl Loops for Products<'_> {
    #[inline(always)]
    fn run(self) {
        let (columns, rows) = (self.matrix.columns, self.bias.len());
        let (inputs, units) = whole_inputs(self.inputs, columns);
        let mut row = vec![0; columns];
        for (number, bias) in self.bias.iter().enumerate() {
            let unit = self.matrix.whole_row(number, &mut row);
            let inputs = inputs.chunks_exact(columns).zip(&units);
            for ((input, of_input), out) in inputs.zip(self.out.chunks_exact_mut(rows)) {
                out[number] = product(&row, input) * unit * of_input + bias;
            }
        }
    }
}

/// Returns the inputs as whole numbers in the order of [`Matrix::whole_row`], and the scale of each.
#[inline(always)]
fn whole_inputs(inputs: &[f32], columns: usize) -> (Vec<i16>, Vec<f32>) {
    let mut whole_inputs = vec![0; inputs.len()];
    let mut units = Vec::with_capacity(inputs.len() / columns);
    for (input, out) in inputs.chunks_exact(columns).zip(whole_inputs.chunks_exact_mut(columns)) {
        let most = most_of(input, f32::MIN_POSITIVE, f32::abs);
        let inverse = MOST / most;
        units.push(most / MOST);
        let (groups, _) = input.as_chunks::<GROUP>();
        for (group, out) in groups.iter().zip(out.chunks_exact_mut(GROUP)) {
            let (even, odd) = out.split_at_mut(GROUP / 2);
            for ((pair, even), odd) in group.as_chunks::<2>().0.iter().zip(even).zip(odd) {
                *even = whole(pair[0] * inverse);
                *odd = whole(pair[1] * inverse);
            }
        }
    }
    (whole_inputs, units)
}

/// Returns the dot product of two vectors of whole numbers.
#[inline(always)]
fn product(left: &[i16], right: &[i16]) -> f32 {
    let ((left, left_rest), (right, right_rest)) =
        (left.as_chunks::<BLOCK>(), right.as_chunks::<BLOCK>());
    let blocks = left.iter().zip(right).map(|(left, right)| block_product(left, right) as f32);
    let rest = left_rest.iter().zip(right_rest);
    let rest: i32 = rest.map(|(left, right)| i32::from(*left) * i32::from(*right)).sum();
    blocks.sum::<f32>() + rest as f32
}

#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "the compiler makes better instructions of it")]
fn block_product(left: &[i16; BLOCK], right: &[i16; BLOCK]) -> i32 {
    let mut sum = 0;
    for at in 0..BLOCK {
        sum += i32::from(left[at]) * i32::from(right[at]);
    }
    sum
}

/// Returns the value of a half-precision number. The exponent for infinity is read like any other.
#[inline(always)]
fn half(bytes: [u8; 2]) -> f32 {
    let bits = u32::from(u16::from_le_bytes(bytes));
    // The exponent of a float is larger by 112, also for numbers that are too small for one of their own.
    let value = f32::from_bits((bits & 0x7FFF) << 13) * 2.0_f32.powi(112);
    if bits >> 15 == 1 { -value } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_is_read() {
        for (bits, value) in [
            (0x0000, 0.0),
            (0x3C00, 1.0),
            (0xC000, -2.0),
            (0x3555, 0.333_251_95),
            (0x0001, 5.960_464_5e-8),
            (0x7BFF, 65_504.0),
        ] {
            assert_eq!(half(u16::to_le_bytes(bits)), value, "{bits:x}");
        }
    }

    #[test]
    fn products_of_any_number_of_inputs_are_those_of_one() {
        let columns = 64;
        let packed: Vec<u8> = (0..4 * columns / 2).map(|n| (n * 37 % 256) as u8).collect();
        let scales: Vec<u8> = (0..8).flat_map(|n: u16| (0x3400 + n * 64).to_le_bytes()).collect();
        let matrix = Matrix::new(&packed, &scales, columns);
        let bias = [0.5, -1.0, 2.0, 0.0];
        for count in 0..11 {
            let inputs: Vec<f32> = (0..count * columns).map(|n| (n as f32 * 0.37).sin()).collect();
            let products = matrix.products(&inputs, &bias);
            for (input, products) in inputs.chunks(columns).zip(products.chunks(4)) {
                for (number, product) in products.iter().enumerate() {
                    let mut row = [0.0; 64];
                    matrix.row(number, &mut row);
                    let each = || row.iter().zip(input).map(|(a, b)| a * b);
                    let (slow, size) = (each().sum::<f32>(), each().map(f32::abs).sum::<f32>());
                    let error = (product - slow - bias[number]).abs();
                    assert!(error < 0.003 * size, "{count} {number}: {error} of {size}");
                }
            }
        }
    }
}
