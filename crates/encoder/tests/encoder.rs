//! The encoder with its weights: what it gives, and what damaged weights do.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::sync::LazyLock;

use bethink_encoder::{BrokenWeights, Embedding, Encoder};
use proptest::prelude::{ProptestConfig, proptest};

const WEIGHTS: &[u8] = include_bytes!("../weights/minilm-l6-q4.safetensors");
const VOCABULARY: &str = include_str!("../weights/vocabulary.txt");

#[allow(clippy::unwrap_used, reason = "without the encoder there is nothing to test")]
static ENCODER: LazyLock<Encoder<'static>> =
    LazyLock::new(|| Encoder::read(WEIGHTS, VOCABULARY).unwrap());

fn check(left: &str, right: &str, expect: f32) {
    let similarity = ENCODER.encode(left).similarity(&ENCODER.encode(right));
    assert!((similarity - expect).abs() < 0.01, "{left} | {right}: {similarity}");
}

/// The values are those of the same weights in NumPy, with the tokenizer of Hugging Face.
#[test]
fn similarities_are_those_of_the_model() {
    check("Send a document", "Send a document", 1.0);
    check("Send a document", "Transfer a file", 0.527);
    check("Send a document", "A volcano erupts", 0.052);
    check("Déjà vu: the naïve parser's getUserById() fails!", "Transfer a file", -0.087);
    check("日本語", "Send a document", 0.219);
}

#[test]
fn the_first_numbers_are_those_of_the_model() {
    let bytes = ENCODER.encode("A volcano erupts").to_bytes();
    let (scale, numbers) = bytes.split_first_chunk().unwrap();
    let scale = f32::from_le_bytes(*scale);
    for (number, expect) in numbers.iter().zip([-0.0431, 0.0763, 0.0481, 0.0647, -0.0299, -0.0581])
    {
        let number = f32::from(i8::from_le_bytes([*number])) * scale;
        assert!((number - expect).abs() < 0.003, "{number} {expect}");
    }
}

#[test]
fn an_embedding_comes_back_from_its_bytes() {
    let embedding = ENCODER.encode("fog");
    let bytes = embedding.to_bytes();
    assert_eq!(Embedding::from_bytes(&bytes), Some(embedding));
    assert_eq!(Embedding::from_bytes(&bytes[1..]), None);
    assert_eq!(Embedding::from_bytes(&[]), None);
    let mut damaged = bytes;
    damaged[..4].copy_from_slice(&f32::NAN.to_le_bytes());
    assert_eq!(Embedding::from_bytes(&damaged), None);
}

#[test]
fn damaged_weights_are_refused() {
    for length in [0, 7, 8, 100, 20_000, WEIGHTS.len() / 2, WEIGHTS.len() - 1] {
        let error = Encoder::read(&WEIGHTS[..length], VOCABULARY).unwrap_err();
        assert!(matches!(error, BrokenWeights::CutShort { .. }), "{length}: {error}");
    }
    for length in [0, 1, VOCABULARY.len() / 2, VOCABULARY.len() - 1] {
        let cut = &VOCABULARY[..VOCABULARY.floor_char_boundary(length)];
        let error = Encoder::read(WEIGHTS, cut).unwrap_err();
        assert!(matches!(error, BrokenWeights::Vocabulary { .. }), "{length}: {error}");
    }
}

#[test]
fn any_size_of_text_is_read_in_bounded_time() {
    let long = "a word of many ".repeat(700_000);
    assert_eq!(ENCODER.encode(&long), ENCODER.encode(&long[..20_000]), "the beginning counts");
    for text in ["", " ", "\u{0}", "\u{200b}", &"x".repeat(100_000), &"字".repeat(100_000)] {
        let similarity = ENCODER.encode(text).similarity(&ENCODER.encode("fog"));
        assert!(similarity.abs() <= 1.01, "{similarity}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn any_text_is_encoded(text in "\\PC{0,200}") {
        let embedding = ENCODER.encode(&text);
        let similarity = embedding.similarity(&embedding);
        proptest::prop_assert!((similarity - 1.0).abs() < 0.01, "{}", similarity);
    }
}
