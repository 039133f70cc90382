//! The examples of a parser: `tests/campaign/corpus/NAME/*`, and findings that are not fixed yet.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct Corpus {
    pub examples: Vec<Vec<u8>>,
}

impl Corpus {
    /// Reads the examples in order of their names, so that a run can be repeated with its seed.
    pub fn of(name: &str) -> Self {
        let mut files: Vec<PathBuf> = match fs::read_dir(directory().join(name)) {
            Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
            Err(_) => Vec::new(),
        };
        files.sort();
        Self { examples: files.iter().filter_map(|file| fs::read(file).ok()).collect() }
    }
}

pub(super) fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// Saves an input with which a check failed, in the build directory. When the parser is fixed, the file is added to the
/// corpus.
pub(super) fn save(name: &str, input: &[u8]) -> io::Result<PathBuf> {
    let folder = std::env::temp_dir().join("bethink-campaign").join(name);
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{:016x}", fingerprint(input)));
    fs::write(&path, input)?;
    Ok(path)
}

/// Returns the FNV-1a hash, so that equal inputs have the same file name.
fn fingerprint(input: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    input.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}
