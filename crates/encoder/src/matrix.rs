//! Products with matrices of 4-bit numbers.
//!
//! Weights and inputs are rounded to 12-bit integers. The error is below 0.3%, and the time is halved, because any
//! processor multiplies eight such integers at once.

use wide::{i16x8, i32x4};

/// Number of columns that share a scale.
pub(crate) const GROUP: usize = 32;
/// Number of rows, and of inputs, that are multiplied at once, so that their sums fit into the processor's registers.
/// All matrices have an even number of rows.
const ROWS: usize = 2;
const INPUTS: usize = 4;
/// Number of columns whose products are summed as integers. The sum of more could overflow 32 bits.
const BLOCK: usize = 384;
/// Number of integers that are multiplied at once.
const EIGHT: usize = 8;
/// Maximum number of columns.
const MOST_COLUMNS: usize = 1_536;
/// Largest rounded weight or input.
const MOST: f32 = 2_047.0;
/// The largest 4-bit number.
const MOST_PACKED: f32 = 8.0;

/// A matrix as stored in the file: two columns per byte, the first in the lower half, and one half-precision scale per
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
        let groups = packed.chunks_exact(GROUP / 2).zip(scales);
        for ((group, scale), out) in groups.zip(out.chunks_exact_mut(GROUP)) {
            let scale = half(*scale);
            for (byte, pair) in group.iter().zip(out.chunks_exact_mut(2)) {
                pair[0] = (f32::from(byte & 15) - 8.0) * scale;
                pair[1] = (f32::from(byte >> 4) - 8.0) * scale;
            }
        }
    }

    fn at(&self, row: usize) -> (&'a [u8], &'a [[u8; 2]]) {
        let groups = self.columns / GROUP;
        let scales = &self.scales[row * groups * 2..(row + 1) * groups * 2];
        (&self.packed[row * self.columns / 2..(row + 1) * self.columns / 2], scales.as_chunks().0)
    }

    /// Unpacks a row to integers, and returns their scale. The even columns of each group come first, because that
    /// order needs no shuffling.
    fn whole_row(&self, row: usize, out: &mut [i16x8]) -> f32 {
        let (packed, scales) = self.at(row);
        let most = scales.iter().map(|scale| half(*scale)).fold(f32::MIN_POSITIVE, f32::max);
        let unit = most * MOST_PACKED / MOST;
        let (groups, _) = packed.as_chunks::<{ GROUP / 2 }>();
        let (out, _) = out.as_chunks_mut::<{ GROUP / EIGHT }>();
        for ((group, scale), out) in groups.iter().zip(scales).zip(out) {
            let factor = i16x8::splat((half(*scale) / unit).round_ties_even() as i16);
            let eight = i16x8::splat(8);
            let packed: [i16x8; 2] = std::array::from_fn(|at| {
                i16x8::new(std::array::from_fn(|lane| i16::from(group[EIGHT * at + lane])))
            });
            for at in 0..2 {
                out[at] = ((packed[at] & i16x8::splat(15)) - eight) * factor;
                out[at + 2] = ((packed[at] >> 4) - eight) * factor;
            }
        }
        unit
    }

    /// Returns the products of the matrix with each of the inputs, plus the bias.
    pub(crate) fn products(&self, inputs: &[f32], bias: &[f32]) -> Vec<f32> {
        let (columns, rows) = (self.columns, bias.len());
        let count = inputs.len() / columns;
        let (whole, units) = whole_inputs(inputs, columns);
        let mut out = vec![0.0; count * rows];
        let mut pair = [[i16x8::ZERO; MOST_COLUMNS / EIGHT]; ROWS];
        let [left, right] = &mut pair;
        let (left, right) = (&mut left[..columns / EIGHT], &mut right[..columns / EIGHT]);
        for (number, bias) in (0..rows).step_by(ROWS).zip(bias.chunks_exact(ROWS)) {
            let unit = [self.whole_row(number, left), self.whole_row(number + 1, right)];
            let batches = whole.chunks_exact(INPUTS * left.len());
            for (batch, first) in batches.zip((0..).step_by(INPUTS)) {
                let sums = dots([left, right], batch);
                for ((input, sums), of_input) in (first..count).zip(sums).zip(&units[first..]) {
                    for row in 0..ROWS {
                        out[input * rows + number + row] =
                            sums[row] * unit[row] * of_input + bias[row];
                    }
                }
            }
        }
        out
    }
}

/// Returns the inputs as integers in the column order of [`Matrix::whole_row`], padded with zeros to a multiple of
/// [`INPUTS`], and the scale of each input.
fn whole_inputs(inputs: &[f32], columns: usize) -> (Vec<i16x8>, Vec<f32>) {
    let count = inputs.len() / columns;
    let mut whole = vec![i16x8::ZERO; count.next_multiple_of(INPUTS) * columns / EIGHT];
    let mut units = Vec::with_capacity(count);
    for (input, whole) in inputs.chunks_exact(columns).zip(whole.chunks_exact_mut(columns / EIGHT))
    {
        let most = input.iter().fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs()));
        let inverse = MOST / most;
        units.push(most / MOST);
        for (group, out) in input.chunks_exact(GROUP).zip(whole.chunks_exact_mut(GROUP / EIGHT)) {
            for (at, eight) in out.iter_mut().enumerate() {
                let first = at % 2 * 2 * EIGHT + at / 2;
                let number =
                    |lane: usize| (group[first + 2 * lane] * inverse).round_ties_even() as i16;
                *eight = i16x8::new(std::array::from_fn(number));
            }
        }
    }
    (whole, units)
}

/// Returns the products of [`ROWS`] rows with each of [`INPUTS`] inputs.
fn dots(rows: [&[i16x8]; ROWS], batch: &[i16x8]) -> [[f32; ROWS]; INPUTS] {
    let length = rows[0].len();
    let mut inputs = batch.chunks_exact(length);
    let inputs: [&[i16x8]; INPUTS] = std::array::from_fn(|_| inputs.next().unwrap_or_default());
    let mut sums = [[0.0; ROWS]; INPUTS];
    for start in (0..length).step_by(BLOCK / EIGHT) {
        let end = length.min(start + BLOCK / EIGHT);
        let [left, right] = rows.map(|row| &row[start..end]);
        let [a, b, c, d] = inputs.map(|input| &input[start..end]);
        let mut whole = [[i32x4::ZERO; ROWS]; INPUTS];
        let columns = left.iter().zip(right).zip(a).zip(b).zip(c).zip(d);
        for (((((left, right), a), b), c), d) in columns {
            for (whole, input) in whole.iter_mut().zip([a, b, c, d]) {
                whole[0] += left.dot(*input);
                whole[1] += right.dot(*input);
            }
        }
        for (sums, whole) in sums.iter_mut().zip(whole) {
            for (sum, whole) in sums.iter_mut().zip(whole) {
                *sum += whole.reduce_add() as f32;
            }
        }
    }
    sums
}

/// Number of products that are summed side by side, so that the compiler uses vector instructions.
const LANES: usize = 8;

/// Returns the product of two vectors.
pub(crate) fn dot(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let ((left, left_rest), (right, right_rest)) =
        (left.as_chunks::<LANES>(), right.as_chunks::<LANES>());
    for (left, right) in left.iter().zip(right) {
        for lane in 0..LANES {
            sums[lane] += left[lane] * right[lane];
        }
    }
    let rest: f32 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
    sums.iter().sum::<f32>() + rest
}

/// Returns the value of a half-precision number.
fn half(bytes: [u8; 2]) -> f32 {
    let bits = u16::from_le_bytes(bytes);
    let (sign, exponent, fraction) = (bits >> 15, (bits >> 10) & 31, bits & 1023);
    let fraction = f32::from(fraction) / 1024.0;
    let value = match exponent {
        0 => fraction * 2.0_f32.powi(-14),
        31 => return if fraction == 0.0 { f32::INFINITY } else { f32::NAN },
        _ => (1.0 + fraction) * 2.0_f32.powi(i32::from(exponent) - 15),
    };
    if sign == 1 { -value } else { value }
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
