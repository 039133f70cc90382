//! The id by which a PostgreSQL database knows this home.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use bethink_config::Home;
use uuid::Uuid;

/// Reads the id, or creates it when it is first needed. It is never replaced, because the home's rows in the database have it.
pub(crate) fn home_id(home: &Path) -> io::Result<Uuid> {
    let path = Home::new(home).database_id();
    match fs::read_to_string(&path) {
        Ok(text) => text.trim().parse().map_err(|_| {
            let why = format!("{} does not contain a UUID", path.display());
            io::Error::new(ErrorKind::InvalidData, why)
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => create(home, &path),
        Err(error) => Err(error),
    }
}

/// Writes the id into another file first, so that no crash leaves an incomplete one.
fn create(home: &Path, path: &Path) -> io::Result<Uuid> {
    let id = Uuid::new_v4();
    let draft = path.with_extension("new");
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    writeln!(file, "{id}")?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    File::open(home)?.sync_all()?;
    Ok(id)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

    use super::*;

    #[test]
    fn the_id_is_created_once() {
        let home = tempfile::tempdir().unwrap();
        let id = home_id(home.path()).unwrap();
        assert_eq!(home_id(home.path()).unwrap(), id);
        fs::write(Home::new(home.path()).database_id(), "x").unwrap();
        let refused = home_id(home.path()).unwrap_err().to_string();
        assert!(refused.contains("database-id does not contain a UUID"), "{refused}");
    }
}
