//! The id by which a PostgreSQL database knows this home.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use bethink_config::Home;
use bethink_service::private_file;
use uuid::Uuid;

/// Reads the id, or creates it when it is first needed. It is never replaced, because the home's rows in the database have it.
pub(crate) fn home_id(home: &Path) -> io::Result<Uuid> {
    let path = Home::new(home).database_id();
    match fs::read_to_string(&path) {
        Ok(text) => text.trim().parse().map_err(|_| {
            let why = format!("{} does not contain a UUID", path.display());
            io::Error::new(ErrorKind::InvalidData, why)
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => create(&path),
        Err(error) => Err(error),
    }
}

fn create(path: &Path) -> io::Result<Uuid> {
    let id = Uuid::new_v4();
    private_file::replace(path, format!("{id}\n").as_bytes())?;
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
