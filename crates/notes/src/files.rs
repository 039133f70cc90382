//! The notes of a session in the database and in their file, which is written atomically.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bethink_config::Home;
use bethink_service::{Result, ServiceError, blocking, if_found};
use bethink_session_memory::{Template, WrittenNotes};
use bethink_store::NotesRecord;
use bethink_transcript::SessionId;

use crate::service::NotesService;

/// Maximum size of notes, in bytes: four times the largest text that a person pasted in the sessions we recorded.
pub const MAX_NOTES_BYTES: u64 = 4 << 20;

/// A session's notes in the database and in the file.
#[derive(Debug, Default)]
pub(crate) struct StoredNotes {
    pub(crate) row: Option<NotesRecord>,
    /// `None` if there is no file.
    pub(crate) text: Option<String>,
}

impl StoredNotes {
    /// Returns the file's text, or the empty template if there is no file.
    pub(crate) fn text_or_template(&self, template: &Template) -> String {
        self.text.clone().unwrap_or_else(|| template.bare())
    }

    /// Returns the record of the lines that the daemon wrote.
    pub(crate) fn written(&self) -> WrittenNotes {
        let written = self.row.as_ref().map(|row| row.written.as_str());
        serde_json::from_str(written.unwrap_or_default()).unwrap_or_default()
    }

    /// Returns the hash of the file; empty if there is no file.
    pub(crate) fn hash(&self) -> String {
        self.text.as_deref().map_or_else(String::new, hash)
    }
}

impl NotesService {
    /// Reads the row and the file while no update is writing them.
    pub(crate) async fn stored_notes(&self, id: SessionId) -> Result<StoredNotes> {
        let _writing = self.inner.writing.lock().await;
        self.stored_notes_locked(id).await
    }

    /// Reads the row and the file. The caller must hold the `writing` lock. If a daemon was killed before it wrote the file,
    /// the file is written first.
    pub(crate) async fn stored_notes_locked(&self, id: SessionId) -> Result<StoredNotes> {
        // The session may have been deleted meanwhile.
        let row = if_found(self.cx.store().notes(id).await)?.flatten();
        let mut stored = StoredNotes { row, text: self.read_notes_file(id).await? };
        if let Some(row) = stored.row.as_ref().filter(|row| is_unwritten(row, &stored)) {
            let text = row.text.clone();
            self.write_notes_file(id, text.clone()).await?;
            stored.text = Some(text);
        }
        Ok(stored)
    }

    pub(crate) fn notes_path(&self, id: SessionId) -> PathBuf {
        Home::new(&self.cx.settings().home).notes().join(format!("{id}.md"))
    }

    pub(crate) async fn read_notes_file(&self, id: SessionId) -> Result<Option<String>> {
        let path = self.notes_path(id);
        blocking(move || read(&path)).await
    }

    pub(crate) async fn write_notes_file(&self, id: SessionId, text: String) -> Result<()> {
        let path = self.notes_path(id);
        let work = move || write(&path, text.as_bytes()).map_err(|error| unwritable(&path, &error));
        blocking(work).await.inspect_err(|error| self.cx.storage().suspect(error))
    }

    /// Removes the file. This is called before the session is removed, so that a crash leaves no notes of a deleted
    /// session behind.
    pub(crate) async fn remove_notes_file(&self, id: SessionId) -> Result<()> {
        let path = self.notes_path(id);
        blocking(move || match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unwritable(&path, &error)),
            _ => Ok(()),
        })
        .await
    }
}

/// Whether the daemon was killed after it wrote the row and before it wrote the file.
fn is_unwritten(row: &NotesRecord, stored: &StoredNotes) -> bool {
    let found = stored.hash();
    found == row.replaced && found != hash(&row.text)
}

/// Reads the file. A file that is not UTF-8 is moved aside unchanged and counts as missing; a file that is too large is
/// an error, and stays where it is.
fn read(path: &Path) -> Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(path, &error)),
    };
    let size = file.metadata().map_err(|e| unreadable(path, &e))?.len();
    let mut bytes = Vec::new();
    file.take(MAX_NOTES_BYTES + 1).read_to_end(&mut bytes).map_err(|e| unreadable(path, &e))?;
    if bytes.len() as u64 > MAX_NOTES_BYTES {
        let detail =
            format!("could not read {}: it has more than {MAX_NOTES_BYTES} bytes", path.display());
        return Err(ServiceError::conflict(detail)
            .bounded(MAX_NOTES_BYTES, size.max(bytes.len() as u64))
            .hint("shorten the file; until then bethink neither reads nor updates it"));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(_) => {
            let aside = set_aside(path).map_err(|error| unwritable(path, &error))?;
            tracing::warn!(notes = %path.display(), aside = %aside.display(), "the notes are not UTF-8; moved the file aside");
            Ok(None)
        }
    }
}

/// Checks the size of merged notes, which a person's text can make too large.
pub(crate) fn check_size(actual: u64) -> Result<()> {
    if actual <= MAX_NOTES_BYTES {
        return Ok(());
    }
    let detail = format!(
        "could not update the notes: with the new lines they would have more than {MAX_NOTES_BYTES} bytes"
    );
    Err(ServiceError::conflict(detail)
        .bounded(MAX_NOTES_BYTES, actual)
        .hint("shorten the lines that were written by hand; until then the notes are not updated"))
}

fn set_aside(path: &Path) -> io::Result<PathBuf> {
    const TRIES: u32 = 10_000;
    for number in 1..TRIES {
        let aside = path.with_extension(format!("unreadable-{number}"));
        match std::fs::hard_link(path, &aside) {
            Ok(()) => return std::fs::remove_file(path).map(|()| aside),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("too many unreadable files have been moved aside"))
}

/// Writes the file atomically, even if the power fails.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let unfinished = path.with_extension("unfinished");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&unfinished, path)?;
    File::open(dir)?.sync_all()
}

fn unreadable(path: &Path, error: &io::Error) -> ServiceError {
    let detail = format!("could not read {}: {error}", path.display());
    ServiceError::conflict(detail).hint("check the file and its permissions")
}

fn unwritable(path: &Path, error: &io::Error) -> ServiceError {
    ServiceError::of_file(format_args!("could not write {}", path.display()), error)
}

pub(crate) fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Number of characters of the hash in an ETag: enough to distinguish two texts.
const ETAG_CHARS: usize = 32;

pub(crate) fn etag(text: &str) -> String {
    format!("\"{}\"", &hash(text)[..ETAG_CHARS])
}

/// Whether an `If-Match` header matches this tag; `*` matches any.
pub(crate) fn matches(if_match: &str, etag: &str) -> bool {
    if_match.split(',').map(str::trim).any(|tag| tag == "*" || tag == etag)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use bethink_service::ErrorKind;

    use super::*;

    #[test]
    fn a_file_is_private_and_replaced_whole() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("session-memory/a.md");
        assert_eq!(read(&path).unwrap(), None);
        write(&path, b"one").unwrap();
        write(&path, "zwölf".as_bytes()).unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some("zwölf"));
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_is_not_text_is_moved_and_one_that_is_too_long_stays() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.md");
        for number in 1..3 {
            std::fs::write(&path, b"\xff\xfe").unwrap();
            assert_eq!(read(&path).unwrap(), None);
            let aside = home.path().join(format!("a.unreadable-{number}"));
            assert_eq!(std::fs::read(aside).unwrap(), b"\xff\xfe");
        }
        let long = vec![b'x'; usize::try_from(MAX_NOTES_BYTES).unwrap() + 1];
        std::fs::write(&path, &long).unwrap();
        assert_eq!(read(&path).unwrap_err().kind, ErrorKind::Conflict);
        assert!(std::fs::read(&path).unwrap() == long);
    }

    #[test]
    fn tags_are_compared_as_http_does() {
        let tag = etag("a");
        for (header, expect) in [
            (tag.clone(), true),
            ("*".into(), true),
            (format!("\"x\", {tag}"), true),
            (etag("b"), false),
            (String::new(), false),
        ] {
            assert_eq!(matches(&header, &tag), expect, "{header}");
        }
    }
}
