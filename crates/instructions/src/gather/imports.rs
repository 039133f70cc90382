//! Loads the imports of a file, each followed by its own imports.

use std::path::{Path, PathBuf};

use super::admit::is_absent;
use super::{FileCandidate, Gather};
use crate::disk::FileType;
use crate::imports::{self, ImportMark};
use crate::limits::MOST_IMPORTS;
use crate::places::absolute;
use crate::report::{InstructionKind, Reason, SkipReason};

impl Gather<'_> {
    pub(super) fn imports_of(&mut self, file: &FileCandidate, real: &Path, content: &str) {
        let left = MOST_IMPORTS.saturating_sub(self.imports);
        let (found, more) = imports::find(content, left);
        let mut trail = file.trail.clone();
        trail.push(real.to_path_buf());
        // If a person's file imports a project's file, the imported file still belongs to the project.
        let own = file.own && !self.is_inside(real);
        let imported = FileCandidate {
            path: PathBuf::new(),
            kind: InstructionKind::Import,
            why: SkipReason::Imported,
            base: file.base.clone(),
            own,
            imported_by: Some(file.path.clone()),
            trail,
        };
        for import in found {
            if self.imports >= MOST_IMPORTS {
                self.report(&file.path, None, None, Reason::TooManyImports);
                return;
            }
            self.imports += 1;
            self.import(&imported, &import, file);
        }
        if more {
            self.report(&file.path, None, None, Reason::TooManyImports);
        }
    }

    /// Loads an import from the first of its possible paths that exists.
    fn import(&mut self, imported: &FileCandidate, import: &ImportMark, file: &FileCandidate) {
        let mut nowhere = None;
        for reading in import.readings() {
            let Some(path) = self.resolve(reading, &file.path) else { continue };
            match self.disk.look(&path) {
                Err(error) if is_absent(&error) => nowhere = Some(path),
                // A single word may happen to be the name of a directory. A path to a directory is reported as a
                // mistake.
                Ok(look) if look.node == FileType::Directory && !import.is_meant() => return,
                _ => {
                    let why = follow(imported, file);
                    self.offer(FileCandidate { path, why, ..imported.clone() });
                    return;
                }
            }
        }
        if let Some(path) = nowhere.filter(|_| import.is_meant()) {
            self.report(&path, None, Some(file.path.clone()), Reason::NoSuchFile);
        }
    }

    fn resolve(&self, reading: &str, file: &Path) -> Option<PathBuf> {
        if let Some(below) = reading.strip_prefix("~/") {
            return Some(absolute(self.places.home.as_deref()?, Path::new(below)));
        }
        if reading.starts_with('~') {
            return None;
        }
        Some(absolute(file.parent()?, Path::new(reading)))
    }
}

/// Returns the reason for loading an import: the importing file's own reason, if that file was loaded for a touched
/// file.
fn follow(imported: &FileCandidate, file: &FileCandidate) -> SkipReason {
    match &file.why {
        SkipReason::Always | SkipReason::Imported => imported.why.clone(),
        touched => touched.clone(),
    }
}
