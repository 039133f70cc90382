//! Which directories a session's instructions come from, and reading them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bethink_instructions::{MANAGED, Places, Request, load, root_of};
use bethink_transcript::UnixMicros;

use super::disk::RealDisk;
use super::standing::Read;

/// What does not change while the daemon runs.
#[derive(Clone, Debug)]
pub(super) struct Ground {
    pub(super) home: Option<PathBuf>,
    pub(super) now: UnixMicros,
}

/// Reads everything for a working directory; blocks on the disk.
pub(super) fn read(
    ground: &Ground,
    dir: &Path,
    cwd: &Path,
    touched: &[PathBuf],
    approved: Arc<BTreeSet<PathBuf>>,
) -> Read {
    let disk = RealDisk::new(ground.now);
    let places = Places {
        managed: MANAGED.into(),
        home: ground.home.clone(),
        root: root_of(&disk, dir),
        cwd: cwd.to_path_buf(),
    };
    let found = load(&disk, Request { places: &places, touched, approved: &approved });
    Read {
        found: Arc::new(found),
        places,
        touched: touched.len(),
        approved,
        stamps: Arc::new(disk.into_stamps()),
    }
}

impl Read {
    /// Nothing that it depends on has changed; blocks on the disk for a look at each file.
    pub(super) fn holds(&self, touched: usize, approved: &Arc<BTreeSet<PathBuf>>) -> bool {
        self.touched == touched && self.approved == *approved && self.stamps.hold()
    }
}
