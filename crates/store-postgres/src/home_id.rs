//! The id by which a database knows a home. It is in a file of the home.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use uuid::Uuid;

/// Reads the id, if there is one.
pub fn read_home_id(file: &Path) -> io::Result<Option<Uuid>> {
    match fs::read_to_string(file) {
        Ok(text) => text.trim().parse().map(Some).map_err(|_| {
            let why = format!("{} does not contain a UUID", file.display());
            io::Error::new(ErrorKind::InvalidData, why)
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads the id, or creates it when it is first needed. It is never replaced, because the home's rows in the database have it.
pub fn make_home_id(file: &Path) -> io::Result<Uuid> {
    if let Some(id) = read_home_id(file)? {
        return Ok(id);
    }
    let id = Uuid::new_v4();
    // Written into another file first, so that no crash leaves an incomplete one.
    let draft = file.with_extension("new");
    let mut options = OpenOptions::new();
    let mut written = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    writeln!(written, "{id}")?;
    written.sync_all()?;
    fs::rename(&draft, file)?;
    File::open(file.parent().unwrap_or(Path::new("/")))?.sync_all()?;
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_created_once() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("database-id");
        assert_eq!(read_home_id(&file).unwrap(), None);
        let id = make_home_id(&file).unwrap();
        assert_eq!(make_home_id(&file).unwrap(), id);
        fs::write(&file, "x").unwrap();
        let refused = make_home_id(&file).unwrap_err().to_string();
        assert!(refused.contains("database-id does not contain a UUID"), "{refused}");
    }
}
