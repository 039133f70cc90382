//! Whether anything that was looked at has changed, without reading it.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bethink_transcript::UnixMicros;

/// A file that was written so shortly before it was read may be written again within the same tick of its
/// file system's clock, which is two seconds on the coarsest ones.
const YOUNG_MICROS: i64 = 2_000_000;

/// What a path led to; `None` where nothing was.
type Stamp = Option<(u64, u64, u64, i64, i64)>;

/// Every path that a loading looked at, those that were not there included.
#[derive(Clone, Debug, Default)]
pub(super) struct Stamps {
    paths: BTreeMap<PathBuf, Stamp>,
    young: bool,
}

impl Stamps {
    /// Taken before the path is read, so that a change meanwhile is seen next time.
    pub(super) fn take(&mut self, path: &Path, now: UnixMicros) {
        if self.paths.contains_key(path) {
            return;
        }
        let stamp = stamp(path);
        let age = |(_, _, _, _, changed): (u64, u64, u64, i64, i64)| {
            now.0.saturating_sub(changed / 1_000)
        };
        self.young |= stamp.is_some_and(|stamp| age(stamp) < YOUNG_MICROS);
        self.paths.insert(path.to_path_buf(), stamp);
    }

    pub(super) fn hold(&self) -> bool {
        !self.young && self.paths.iter().all(|(path, known)| stamp(path) == *known)
    }
}

/// Device, inode, bytes, and nanoseconds of the last change of content and of anything.
fn stamp(path: &Path) -> Stamp {
    let found = std::fs::metadata(path).ok()?;
    let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000) + nanos;
    let modified = nanos(found.mtime(), found.mtime_nsec());
    Some((
        found.dev(),
        found.ino(),
        found.len(),
        modified,
        nanos(found.ctime(), found.ctime_nsec()),
    ))
}
