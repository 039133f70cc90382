//! One layer of the encoder: attention, then a small network for each piece.

use crate::matrix::Matrix;
use crate::vectorized::{Loops, exp, most_of, run_vectorized, sum_of};
use crate::weights::{BrokenWeights, Tensors};

/// Number of values of a piece.
pub(crate) const HIDDEN: usize = 384;
const HEADS: usize = 12;
const HEAD: usize = HIDDEN / HEADS;
const INNER: usize = 1_536;

#[derive(Debug)]
struct Linear<'a> {
    matrix: Matrix<'a>,
    bias: Vec<f32>,
}

impl<'a> Linear<'a> {
    fn read(
        tensors: &Tensors<'a>,
        name: &str,
        rows: usize,
        columns: usize,
    ) -> Result<Self, BrokenWeights> {
        let matrix = tensors.matrix(&format!("{name}.weight"), rows, columns)?;
        Ok(Self { matrix, bias: tensors.vector(&format!("{name}.bias"), rows)? })
    }

    fn of(&self, inputs: &[f32]) -> Vec<f32> {
        self.matrix.products(inputs, &self.bias)
    }
}

/// Normalizes the values of a piece to mean 0 and standard deviation 1, then scales and shifts them.
#[derive(Debug)]
pub(crate) struct Normalization {
    scale: Vec<f32>,
    shift: Vec<f32>,
}

impl Normalization {
    pub(crate) fn read(tensors: &Tensors<'_>, name: &str) -> Result<Self, BrokenWeights> {
        let scale = tensors.vector(&format!("{name}.weight"), HIDDEN)?;
        Ok(Self { scale, shift: tensors.vector(&format!("{name}.bias"), HIDDEN)? })
    }

    pub(crate) fn apply(&self, values: &mut [f32]) {
        for piece in values.chunks_exact_mut(HIDDEN) {
            let mean = sum_of(piece, |value| value) / HIDDEN as f32;
            let spread = sum_of(piece, |value| (value - mean) * (value - mean));
            let inverse = (spread / HIDDEN as f32 + 1e-12).sqrt().recip();
            for ((value, scale), shift) in piece.iter_mut().zip(&self.scale).zip(&self.shift) {
                *value = (*value - mean) * inverse * scale + shift;
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct Layer<'a> {
    query: Linear<'a>,
    key: Linear<'a>,
    value: Linear<'a>,
    attended: Linear<'a>,
    after_attention: Normalization,
    widened: Linear<'a>,
    narrowed: Linear<'a>,
    after_all: Normalization,
}

impl<'a> Layer<'a> {
    pub(crate) fn read(tensors: &Tensors<'a>, number: usize) -> Result<Self, BrokenWeights> {
        let name = |rest: &str| format!("encoder.layer.{number}.{rest}");
        let square = |rest: &str| Linear::read(tensors, &name(rest), HIDDEN, HIDDEN);
        Ok(Self {
            query: square("attention.self.query")?,
            key: square("attention.self.key")?,
            value: square("attention.self.value")?,
            attended: square("attention.output.dense")?,
            after_attention: Normalization::read(tensors, &name("attention.output.LayerNorm"))?,
            widened: Linear::read(tensors, &name("intermediate.dense"), INNER, HIDDEN)?,
            narrowed: Linear::read(tensors, &name("output.dense"), HIDDEN, INNER)?,
            after_all: Normalization::read(tensors, &name("output.LayerNorm"))?,
        })
    }

    pub(crate) fn apply(&self, hidden: &[f32]) -> Vec<f32> {
        let context =
            attention(&self.query.of(hidden), &self.key.of(hidden), &self.value.of(hidden));
        let mut attended = self.attended.of(&context);
        add(&mut attended, hidden);
        self.after_attention.apply(&mut attended);
        let mut inner = self.widened.of(&attended);
        gelu(&mut inner);
        let mut out = self.narrowed.of(&inner);
        add(&mut out, &attended);
        self.after_all.apply(&mut out);
        out
    }
}

fn add(values: &mut [f32], others: &[f32]) {
    for (value, other) in values.iter_mut().zip(others) {
        *value += other;
    }
}

/// Returns for each piece, head by head, the mean of all pieces' values, weighted by how well their keys match its query.
fn attention(query: &[f32], key: &[f32], value: &[f32]) -> Vec<f32> {
    let mut context = vec![0.0; query.len()];
    let weights = vec![0.0; query.len() / HIDDEN];
    run_vectorized(Attention { query, key, value, weights, context: &mut context });
    context
}

struct Attention<'a> {
    query: &'a [f32],
    key: &'a [f32],
    value: &'a [f32],
    weights: Vec<f32>,
    context: &'a mut [f32],
}

impl Loops for Attention<'_> {
    #[inline(always)]
    fn run(mut self) {
        let queries = self.query.as_chunks::<HEAD>().0;
        let contexts = self.context.as_chunks_mut::<HEAD>().0;
        for (at, (query, context)) in queries.iter().zip(contexts).enumerate() {
            let head = at % HEADS;
            let (keys, values) = (head_of(self.key, head), head_of(self.value, head));
            attend(query, keys, values, &mut self.weights, context);
        }
    }
}

/// Returns a head's part of each piece.
#[inline(always)]
fn head_of(pieces: &[f32], head: usize) -> impl Iterator<Item = &[f32; HEAD]> {
    pieces.as_chunks::<HEAD>().0.iter().skip(head).step_by(HEADS)
}

#[inline(always)]
fn attend<'a>(
    query: &[f32; HEAD],
    keys: impl Iterator<Item = &'a [f32; HEAD]>,
    values: impl Iterator<Item = &'a [f32; HEAD]>,
    weights: &mut [f32],
    context: &mut [f32; HEAD],
) {
    let scale = (HEAD as f32).sqrt().recip();
    for (weight, key) in weights.iter_mut().zip(keys) {
        *weight = dot(query, key) * scale;
    }
    to_shares(weights);
    for (weight, value) in weights.iter().zip(values) {
        for (out, value) in context.iter_mut().zip(value) {
            *out += weight * value;
        }
    }
}

/// Number of products that are summed side by side, so that the compiler uses vector instructions.
const LANES: usize = 8;

/// Returns the dot product of two vectors.
#[inline(always)]
fn dot(left: &[f32; HEAD], right: &[f32; HEAD]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    for (left, right) in left.as_chunks::<LANES>().0.iter().zip(right.as_chunks::<LANES>().0) {
        for ((sum, left), right) in sums.iter_mut().zip(left).zip(right) {
            *sum += left * right;
        }
    }
    sums.iter().sum()
}

/// Replaces numbers with positive shares whose sum is 1 (softmax).
#[inline(always)]
fn to_shares(weights: &mut [f32]) {
    let most = most_of(weights, f32::NEG_INFINITY, |weight| weight);
    weights.iter_mut().for_each(|weight| *weight = exp(*weight - most));
    let sum = sum_of(weights, |weight| weight);
    weights.iter_mut().for_each(|weight| *weight /= sum);
}

/// Applies the activation function, with the error function of Abramowitz and Stegun, 7.1.26, whose error is at most 1.5e-7.
fn gelu(values: &mut [f32]) {
    run_vectorized(Gelu(values));
}

struct Gelu<'a>(&'a mut [f32]);

impl Loops for Gelu<'_> {
    #[inline(always)]
    fn run(self) {
        for value in self.0 {
            let x = (*value * std::f32::consts::FRAC_1_SQRT_2).abs();
            let t = 1.0 / (x * 0.327_591_1 + 1.0);
            let series = ((((t * 1.061_405_4 - 1.453_152) * t + 1.421_413_7) * t - 0.284_496_74)
                * t
                + 0.254_829_6)
                * t;
            let erf = (1.0 - series * exp(-x * x)).copysign(*value);
            *value *= 0.5 * (erf + 1.0);
        }
    }
}
