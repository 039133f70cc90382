//! Reads the weights from a safetensors file: vectors as 32-bit floats, matrices as 4-bit numbers with scales.

use std::collections::HashMap;

use serde::Deserialize;

use crate::matrix::Matrix;

/// The reason why a file of weights cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenWeights {
    #[error("this program was built without the encoder's weights")]
    LeftOut,
    #[error("the encoder's weights are truncated: {have} of {need} bytes")]
    CutShort { have: usize, need: usize },
    #[error("could not read the list of the encoder's weights: {reason}")]
    Header { reason: String },
    #[error("the encoder's weights do not include {name:?}")]
    Missing { name: String },
    #[error("the encoder's weight {name:?} has {have} bytes, not {need}")]
    Size { name: String, have: usize, need: usize },
    #[error("the encoder's vocabulary has {have} words, not {need}")]
    Vocabulary { have: usize, need: usize },
}

/// The tensors of a file, by name; they are not copied.
#[derive(Debug)]
pub(crate) struct Tensors<'a> {
    data: &'a [u8],
    places: HashMap<String, Place>,
}

#[derive(Debug, Deserialize)]
struct Place {
    data_offsets: [usize; 2],
}

/// Number of bytes before the header that contain its length.
const LENGTH_BYTES: usize = 8;

impl<'a> Tensors<'a> {
    pub(crate) fn read(file: &'a [u8]) -> Result<Self, BrokenWeights> {
        let have = file.len();
        let cut_short = |need: usize| BrokenWeights::CutShort { have, need };
        let (length, rest) = file.split_first_chunk().ok_or(cut_short(LENGTH_BYTES))?;
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let need = length.saturating_add(LENGTH_BYTES);
        let (header, data) = rest.split_at_checked(length).ok_or(cut_short(need))?;
        let header_fault =
            |error: serde_json::Error| BrokenWeights::Header { reason: error.to_string() };
        let all: HashMap<String, serde_json::Value> =
            serde_json::from_slice(header).map_err(header_fault)?;
        let mut places = HashMap::new();
        for (name, value) in all.into_iter().filter(|(name, _)| name != "__metadata__") {
            let place: Place = serde_json::from_value(value).map_err(header_fault)?;
            let [start, end] = place.data_offsets;
            if start > end || end > data.len() {
                return Err(cut_short(need.saturating_add(end)));
            }
            places.insert(name, place);
        }
        Ok(Self { data, places })
    }

    /// Returns a vector of 32-bit floats.
    pub(crate) fn vector(&self, name: &str, length: usize) -> Result<Vec<f32>, BrokenWeights> {
        let (numbers, _) = self.bytes(name, length * 4)?.as_chunks();
        Ok(numbers.iter().map(|number| f32::from_le_bytes(*number)).collect())
    }

    /// Returns a matrix, without copying it.
    pub(crate) fn matrix(
        &self,
        name: &str,
        rows: usize,
        columns: usize,
    ) -> Result<Matrix<'a>, BrokenWeights> {
        let count = rows * columns;
        let packed = self.bytes(&format!("{name}.q4"), count / 2)?;
        let scales = self.bytes(&format!("{name}.scales"), count / crate::matrix::GROUP * 2)?;
        Ok(Matrix::new(packed, scales, columns))
    }

    fn bytes(&self, name: &str, need: usize) -> Result<&'a [u8], BrokenWeights> {
        let place = self.places.get(name);
        let place = place.ok_or_else(|| BrokenWeights::Missing { name: name.to_owned() })?;
        let bytes = &self.data[place.data_offsets[0]..place.data_offsets[1]];
        if bytes.len() != need {
            let name = name.to_owned();
            return Err(BrokenWeights::Size { name, have: bytes.len(), need });
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend_from_slice(header.as_bytes());
        file.extend_from_slice(data);
        file
    }

    #[test]
    fn a_damaged_file_is_told_apart() {
        let header = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
        let whole = file(header, &[0, 0, 128, 63, 0, 0, 0, 64]);
        assert_eq!(Tensors::read(&whole).unwrap().vector("a", 2).unwrap(), [1.0, 2.0]);
        for length in 0..whole.len() {
            let error = Tensors::read(&whole[..length]).unwrap_err();
            assert!(matches!(error, BrokenWeights::CutShort { .. }), "{length}: {error}");
        }
        let tensors = Tensors::read(&whole).unwrap();
        let wrong = BrokenWeights::Size { name: "a".to_owned(), have: 8, need: 12 };
        assert_eq!(tensors.vector("a", 3), Err(wrong));
        assert_eq!(tensors.vector("b", 3), Err(BrokenWeights::Missing { name: "b".to_owned() }));
        for header in ["{", "[]", r#"{"a":{}}"#, r#"{"a":{"data_offsets":[-1,4]}}"#] {
            let error = Tensors::read(&file(header, &[0; 8])).unwrap_err();
            assert!(matches!(error, BrokenWeights::Header { .. }), "{header}: {error}");
        }
        let backwards = file(r#"{"a":{"data_offsets":[8,4]}}"#, &[0; 8]);
        assert!(Tensors::read(&backwards).is_err());
    }
}
