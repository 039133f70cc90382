//! One layer of the encoder: attention, then a small network for each piece.

use wide::f32x8;

use crate::matrix::{Matrix, dot};
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

/// Brings the values of a piece to mean 0 and deviation 1, then scales and shifts them.
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
            let mean = piece.iter().sum::<f32>() / HIDDEN as f32;
            let spread: f32 = piece.iter().map(|value| (value - mean) * (value - mean)).sum();
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

/// Returns for each piece, head by head, the mean of all pieces' values, weighted by how well their keys match its
/// query.
fn attention(query: &[f32], key: &[f32], value: &[f32]) -> Vec<f32> {
    let scale = (HEAD as f32).sqrt().recip();
    let mut context = vec![0.0; query.len()];
    let mut weights = Vec::with_capacity(query.len() / HIDDEN);
    for (query, context) in query.chunks_exact(HIDDEN).zip(context.chunks_exact_mut(HIDDEN)) {
        for head in (0..HIDDEN).step_by(HEAD) {
            let of_head = head..head + HEAD;
            let keys = key.chunks_exact(HIDDEN).map(|key| &key[of_head.clone()]);
            weights.clear();
            weights.extend(keys.map(|key| dot(&query[of_head.clone()], key) * scale));
            to_shares(&mut weights);
            let out = &mut context[of_head.clone()];
            for (weight, value) in weights.iter().zip(value.chunks_exact(HIDDEN)) {
                for (out, value) in out.iter_mut().zip(&value[of_head.clone()]) {
                    *out += weight * value;
                }
            }
        }
    }
    context
}

/// Turns numbers into positive ones with the sum 1 (softmax).
fn to_shares(weights: &mut [f32]) {
    let most = weights.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    weights.iter_mut().for_each(|weight| *weight = (*weight - most).exp());
    let sum: f32 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
}

/// Applies the activation function, with the error function of Abramowitz and Stegun, 7.1.26, whose error is at most
/// 1.5e-7.
fn gelu(values: &mut [f32]) {
    let (eights, _) = values.as_chunks_mut::<8>();
    for eight in eights {
        let value = f32x8::new(*eight);
        let x = (value * std::f32::consts::FRAC_1_SQRT_2).abs();
        let t = f32x8::ONE / (x * 0.327_591_1 + 1.0);
        let series = ((((t * 1.061_405_4 - 1.453_152) * t + 1.421_413_7) * t - 0.284_496_74) * t
            + 0.254_829_6)
            * t;
        let erf = (f32x8::ONE - series * (-x * x).exp()).copysign(value);
        *eight = (value * 0.5 * (erf + 1.0)).to_array();
    }
}
