//! Converts disk errors to service errors.

use std::error::Error;

use bethink_memdir::Hash;
use bethink_memdir_fs::{DirectoryFile, FileContent, FileError, RootError};
use bethink_service::{ErrorKind, Result, ServiceError, is_disk_fault};
use bethink_store::StoreError;

pub(super) fn text_of(file: &DirectoryFile, content: FileContent) -> Result<(String, Hash)> {
    let text = String::from_utf8(content.bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let detail = format!("{file}: the byte at offset {at} is not UTF-8");
        ServiceError::conflict(detail).hint("fix or remove the file")
    })?;
    Ok((text, content.hash))
}

fn with_cause(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

pub(super) fn unusable(error: &RootError) -> ServiceError {
    if let RootError::Io { source, .. } = error
        && is_disk_fault(source)
    {
        return ServiceError::of_file(error, source);
    }
    ServiceError::conflict(with_cause(error))
        .hint("`bethink doctor` shows what is wrong with the memory directory")
}

#[allow(clippy::needless_pass_by_value, reason = "as `map_err` hands it over")]
pub(super) fn refused(error: FileError) -> ServiceError {
    let detail = with_cause(&error);
    match &error {
        FileError::Io { source, .. } if is_disk_fault(source) => {
            ServiceError { detail, ..StoreError::of_file(source).into() }
        }
        FileError::NoRoom { .. } => ServiceError::new(ErrorKind::StorageFull, detail)
            .hint("free some space; nothing was changed"),
        FileError::Denied { .. } | FileError::ReadOnly { .. } => {
            ServiceError::new(ErrorKind::ReadOnly, detail)
                .hint("check the permissions of the memory directory; nothing was changed")
        }
        FileError::Twin { .. } => ServiceError::invalid("name", detail),
        FileError::TooMany { .. } => ServiceError::new(ErrorKind::TooLarge, detail),
        _ => ServiceError::conflict(detail),
    }
}
