//! What the disk says, as refusals; and work that may wait for it.

use bethink_memdir::Hash;
use bethink_memdir_fs::{Content, File, FileError, RootError};

use crate::{Kind, Refusal, Result};

pub(super) fn text_of(file: &File, content: Content) -> Result<(String, Hash)> {
    match String::from_utf8(content.bytes) {
        Ok(text) => Ok((text, content.hash)),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let detail = format!("{file}: the byte at offset {at} is not UTF-8");
            Err(Refusal::new(Kind::Conflict, detail).hint("mend or remove the file"))
        }
    }
}

pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(Refusal::internal)?
}

pub(super) fn unusable(error: &RootError) -> Refusal {
    let detail = match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    };
    Refusal::new(Kind::Conflict, detail)
        .hint("`bethink doctor` tells what is wrong with the memory directory")
}

pub(super) fn refused(error: &FileError) -> Refusal {
    let detail = match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    };
    match error {
        FileError::NoRoom { .. } => {
            Refusal::new(Kind::StorageFull, detail).hint("free some space; nothing was changed")
        }
        FileError::Denied { .. } | FileError::ReadOnly { .. } => {
            Refusal::new(Kind::ReadOnly, detail)
                .hint("check the permissions of the memory directory; nothing was changed")
        }
        FileError::Twin { .. } => Refusal::invalid("name", detail),
        FileError::TooMany { .. } => Refusal::new(Kind::TooLarge, detail),
        _ => Refusal::new(Kind::Conflict, detail),
    }
}
