//! Failures of hooks. The failures are kept in a file for `doctor`, because hooks print nothing.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

/// Maximum size of the file, in bytes. At this size, it is emptied.
const MAX_BYTES: u64 = 64 << 10;
/// Maximum length of a line, in bytes. A line is a reason, and never contains a client's input.
const MAX_LINE_BYTES: usize = 400;

/// The file that lists failures, one per line.
#[derive(Clone, Debug)]
pub struct Faults {
    path: PathBuf,
}

impl Faults {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Adds a failure. `when` is the time as it is shown.
    pub fn note(&self, when: &str, what: &str) -> io::Result<()> {
        let clean: String = what.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let end = clean.floor_char_boundary(MAX_LINE_BYTES);
        let full = fs::metadata(&self.path).is_ok_and(|file| file.len() > MAX_BYTES);
        if let Some(home) = self.path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(home)?;
        }
        let mut options = OpenOptions::new();
        options.create(true).mode(0o600);
        match full {
            true => options.write(true).truncate(true),
            false => options.append(true),
        };
        options.open(&self.path)?.write_all(format!("{when} {}\n", &clean[..end]).as_bytes())
    }

    pub fn read(&self) -> Option<(usize, String)> {
        let text = fs::read_to_string(&self.path).ok()?;
        let last = text.lines().last()?.to_owned();
        Some((text.lines().count(), last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_one_line_and_the_file_stays_small() {
        let dir = tempfile::tempdir().unwrap();
        let faults = Faults::at(dir.path().join("home/hooks.log"));
        assert_eq!(faults.read(), None);
        faults.note("now", "first\nforged\u{1b}[2J").unwrap();
        faults.note("later", &"ä".repeat(1_000)).unwrap();
        let (count, last) = faults.read().unwrap();
        assert_eq!((count, last.starts_with("later ää")), (2, true));
        assert!(last.len() < MAX_LINE_BYTES + 20);
        for _ in 0..400 {
            faults.note("again", &"x".repeat(MAX_LINE_BYTES)).unwrap();
        }
        let size = fs::metadata(dir.path().join("home/hooks.log")).unwrap().len();
        assert!(size <= MAX_BYTES + 1_000, "{size}");
    }
}
