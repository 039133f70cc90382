//! The complete lines at the beginning of a growing file, so that a later reading can continue after them.

/// Counts and hashes the complete lines of a file.
#[derive(Debug, Default)]
pub struct SettledLines {
    bytes: u64,
    hasher: blake3::Hasher,
    /// The beginning of the line that is not complete yet.
    rest: Vec<u8>,
}

impl SettledLines {
    /// Takes the next bytes of the file.
    pub fn take(&mut self, chunk: &[u8]) {
        let Some(end) = chunk.iter().rposition(|byte| *byte == b'\n') else {
            self.rest.extend_from_slice(chunk);
            return;
        };
        let (whole, rest) = chunk.split_at(end + 1);
        self.hasher.update(&self.rest).update(whole);
        self.bytes += (self.rest.len() + whole.len()) as u64;
        self.rest = rest.to_vec();
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the hash of the complete lines, in hexadecimal.
    pub fn hash(&self) -> String {
        self.hasher.finalize().to_hex().to_string()
    }
}
