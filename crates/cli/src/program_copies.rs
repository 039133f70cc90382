//! Copies of programs that run from a cache, because settings must not name a file that may disappear.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use bethink_install::{COPIES, Installation, PROGRAMS, SOURCE};

use crate::failure::CliFailure;

/// Copies the programs to the home if this one runs from a cache. Returns whether a new copy was made.
pub(crate) fn keep(program: &Path, home: &Path) -> Result<bool, CliFailure> {
    let source = Installation::of(program, home);
    if !source.is_cached(program, home) {
        return Ok(false);
    }
    let dir = home.join(COPIES);
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error: io::Error| CliFailure::file("write", &path, &error)
    };
    DirBuilder::new().recursive(true).mode(0o700).create(&dir).map_err(failed(&dir))?;
    let mut is_new = false;
    for name in PROGRAMS {
        let (from, to) = (program.with_file_name(name), dir.join(name));
        let bytes = fs::read(&from).map_err(|error| CliFailure::file("read", &from, &error))?;
        if fs::read(&to).is_ok_and(|old| old == bytes) {
            continue;
        }
        // A rename also replaces a program that is running.
        let mut new = tempfile::NamedTempFile::new_in(&dir).map_err(failed(&to))?;
        new.write_all(&bytes).map_err(failed(&to))?;
        new.as_file().set_permissions(Permissions::from_mode(0o755)).map_err(failed(&to))?;
        // Settings will name this file, so it must be whole after a power cut.
        new.as_file().sync_all().map_err(failed(&to))?;
        new.persist(&to).map_err(|error| failed(&to)(error.error))?;
        is_new = true;
    }
    let note = dir.join(SOURCE);
    fs::write(&note, source.as_str()).map_err(failed(&note))?;
    Ok(is_new)
}

#[cfg(test)]
mod tests {
    use bethink_install::lasting;

    use super::*;

    #[test]
    fn programs_in_a_cache_are_copied_once_and_again_when_they_change() {
        let dir = tempfile::tempdir().unwrap();
        let (home, cache) = (dir.path().join("home"), dir.path().join("uv/archive-v0/x/bin"));
        fs::create_dir_all(&cache).unwrap();
        for name in PROGRAMS {
            fs::write(cache.join(name), name).unwrap();
        }
        let program = cache.join("bethink");
        let copy = lasting(&program, &home);
        assert!(keep(&program, &home).unwrap());
        assert!(!keep(&program, &home).unwrap(), "the copies are the same");
        assert_eq!(fs::read_to_string(copy.with_file_name("bethinkd")).unwrap(), "bethinkd");
        assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(Installation::of(&copy, &home), Installation::Uvx);
        assert!(!keep(&copy, &home).unwrap(), "a copy is not copied");
        fs::write(&program, "newer").unwrap();
        assert!(keep(&program, &home).unwrap());
        assert_eq!(fs::read_to_string(&copy).unwrap(), "newer");
    }

    #[test]
    fn a_program_that_stays_is_not_copied() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("bin/bethink");
        assert!(!keep(&program, dir.path()).unwrap());
        assert_eq!(lasting(&program, Path::new("/other")), program);
    }
}
