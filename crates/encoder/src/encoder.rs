//! Computes the embedding of a text.

use crate::embedding::Embedding;
use crate::layer::{HIDDEN, Layer, Normalization};
use crate::matrix::Matrix;
use crate::weights::{BrokenWeights, Tensors};
use crate::word_pieces::{VOCABULARY, WordPieces};

const LAYERS: usize = 6;
const POSITIONS: usize = 512;

/// The encoder's weights, which are read in place and not copied.
#[derive(Debug)]
pub struct Encoder<'a> {
    pieces: WordPieces<'a>,
    words: Matrix<'a>,
    positions: Matrix<'a>,
    /// The vector that is added to every piece: the "first sentence" type, because a text counts as one sentence.
    sentence: Vec<f32>,
    normalization: Normalization,
    layers: Vec<Layer<'a>>,
}

impl Encoder<'static> {
    /// Identifies the weights and how texts are prepared. Vectors of different encoders cannot be compared.
    pub const ID: &'static str = "minilm-l6-q4-1";

    /// Returns the encoder whose weights are part of the program.
    #[cfg(feature = "bundled")]
    pub fn bundled() -> Result<Self, BrokenWeights> {
        Self::read(
            include_bytes!("../weights/minilm-l6-q4.safetensors"),
            include_str!("../weights/vocabulary.txt"),
        )
    }

    #[cfg(not(feature = "bundled"))]
    pub fn bundled() -> Result<Self, BrokenWeights> {
        Err(BrokenWeights::LeftOut)
    }
}

impl<'a> Encoder<'a> {
    pub fn read(weights: &'a [u8], vocabulary: &'a str) -> Result<Self, BrokenWeights> {
        let tensors = Tensors::read(weights)?;
        let of = |name: &str, rows| {
            tensors.matrix(&format!("embeddings.{name}_embeddings.weight"), rows, HIDDEN)
        };
        let mut sentence = vec![0.0; HIDDEN];
        of("token_type", 2)?.row(0, &mut sentence);
        let layers = (0..LAYERS).map(|number| Layer::read(&tensors, number));
        Ok(Self {
            pieces: WordPieces::read(vocabulary)?,
            words: of("word", VOCABULARY)?,
            positions: of("position", POSITIONS)?,
            sentence,
            normalization: Normalization::read(&tensors, "embeddings.LayerNorm")?,
            layers: layers.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the embedding of a text. Only about the first 90 words of a long text are read.
    pub fn encode(&self, text: &str) -> Embedding {
        let pieces = self.pieces.of(text);
        let mut hidden = vec![0.0; pieces.len() * HIDDEN];
        let mut position_row = [0.0; HIDDEN];
        for (position, (piece, values)) in
            pieces.iter().zip(hidden.chunks_exact_mut(HIDDEN)).enumerate()
        {
            self.words.row(usize::from(*piece), values);
            self.positions.row(position, &mut position_row);
            for ((value, sentence), position) in
                values.iter_mut().zip(&self.sentence).zip(&position_row)
            {
                *value += sentence + position;
            }
        }
        self.normalization.apply(&mut hidden);
        for layer in &self.layers {
            hidden = layer.apply(&hidden);
        }
        let mut sum = vec![0.0; HIDDEN];
        for piece in hidden.chunks_exact(HIDDEN) {
            sum.iter_mut().zip(piece).for_each(|(sum, value)| *sum += value);
        }
        Embedding::of(&sum)
    }
}
