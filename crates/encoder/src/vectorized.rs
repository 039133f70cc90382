//! Loops that use the widest vector instructions of this processor, and arithmetic that is written for them.

/// Loops that are compiled for several kinds of processors.
pub(crate) trait Loops {
    /// Runs the loops. This and all functions that it calls must be inlined; otherwise they use no wide instructions.
    fn run(self);
}

/// Runs the version of the loops that was compiled for this processor.
pub(crate) fn run_vectorized(loops: impl Loops) {
    pulp::Arch::new().dispatch(Dispatched(loops));
}

struct Dispatched<L>(L);

impl<L: Loops> pulp::WithSimd for Dispatched<L> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.0.run();
    }
}

/// Number of results that are computed side by side.
const LANES: usize = 16;

/// Applies a function to all numbers, and returns the sum of the results.
#[inline(always)]
pub(crate) fn sum_of(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    fold(values, 0.0, of, |sum, value| sum + value)
}

/// Applies a function to all numbers, and returns the largest result, or `least` if that is larger.
#[inline(always)]
pub(crate) fn most_of(values: &[f32], least: f32, of: impl Fn(f32) -> f32) -> f32 {
    fold(values, least, of, f32::max)
}

#[inline(always)]
fn fold(
    values: &[f32],
    start: f32,
    of: impl Fn(f32) -> f32,
    join: impl Fn(f32, f32) -> f32,
) -> f32 {
    let mut lanes = [start; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = join(*lane, of(*value));
        }
    }
    let rest = rest.iter().fold(start, |joined, value| join(joined, of(*value)));
    lanes.into_iter().fold(rest, join)
}

/// Returns the nearest whole number. The value must be between -32768 and 32767.
#[inline(always)]
pub(crate) fn whole(value: f32) -> i16 {
    (value + WHOLE).to_bits() as i16
}

/// In floats of this size, the last bit of the fraction has the value 1.
const WHOLE: f32 = 1.5 * (1 << 23) as f32;

/// Returns e to the power of `value`, with a relative error of at most 3e-7.
#[inline(always)]
pub(crate) fn exp(value: f32) -> f32 {
    let value = value.clamp(-87.0, 88.0);
    let twos = value * std::f32::consts::LOG2_E + WHOLE;
    let exponent = twos - WHOLE;
    // The logarithm of 2 in two parts, so that the difference is exact.
    let rest = value - exponent * 0.693_359_4 + exponent * 2.121_944_4e-4;
    let series = ((((rest * 1.987_569_2e-4 + 1.398_199_9e-3) * rest + 8.333_452e-3) * rest
        + 4.166_579_6e-2)
        * rest
        + 1.666_666_5e-1)
        * rest
        + 0.5;
    let power = f32::from_bits((twos.to_bits() << 23).wrapping_add(1.0_f32.to_bits()));
    (series * rest * rest + rest + 1.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_the_nearest() {
        for (value, expect) in
            [(0.0, 0), (0.4, 0), (-0.6, -1), (2_047.0, 2_047), (-2_047.4, -2_047)]
        {
            assert_eq!(whole(value), expect, "{value}");
        }
    }

    #[test]
    fn all_numbers_count_once() {
        for count in [0_u8, 1, 15, 16, 17, 100] {
            let values: Vec<f32> = (0..count).map(f32::from).collect();
            let squares: f32 = values.iter().map(|value| value * value).sum();
            assert_eq!(sum_of(&values, |value| value * value), squares);
            assert_eq!(most_of(&values, 3.0, |value| -value), 3.0);
            assert_eq!(most_of(&values, 3.0, |value| value), f32::from(count).max(4.0) - 1.0);
        }
    }

    #[test]
    fn powers_are_exact_enough() {
        for step in -8_700..=8_800 {
            let value = step as f32 / 100.0;
            let (power, expect) = (exp(value), value.exp());
            assert!((power - expect).abs() <= 3e-7 * expect, "{value}: {power} {expect}");
        }
        assert!(exp(-1_000.0) < 1e-37 && exp(1_000.0).is_finite());
    }
}
