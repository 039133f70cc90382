//! Opens the database: checks it first, and recovers it if it is damaged.

use std::path::Path;

use sqlx::{Connection, SqliteConnection};

use crate::connect::{self, known_schema, make_empty};
use crate::error::from_sqlx;
use crate::files;
use crate::opened::{Damage, OpenError, OpenReport};
use crate::options::Options;
use crate::probe::{self, ProbeVerdict};
use crate::recover;

/// Opens the writing connection, after the file was checked, recovered and migrated where necessary.
pub(crate) async fn open_for_writing(
    path: &Path,
    options: Options,
) -> Result<(SqliteConnection, OpenReport), OpenError> {
    files::make_home(path)?;
    files::swap_in_recovered(path)?;
    files::remove_unfinished(path)?;
    let report = prepare(path, options).await?;
    files::unmark_clean(path)?;
    let mut connection = connect::connect(path, options.max_pages).await?;
    if report.torn {
        drop_torn_transaction(&mut connection).await;
    }
    connect::migrate(&mut connection, known_schema()).await?;
    Ok((connection, report))
}

/// Ensures that there is an intact file.
async fn prepare(path: &Path, options: Options) -> Result<OpenReport, OpenError> {
    if files::size(path)?.is_none() {
        if files::wal_size(path)? > 0 {
            return repair(
                path,
                options,
                "the file is missing, but its write-ahead log exists".into(),
            )
            .await;
        }
        if files::beside(path, ".copying").exists() {
            return Err(OpenError::UnfinishedCopy(files::beside(path, ".copying")));
        }
        let damage = files::was_there(path).then(|| gone(path, "it is replaced by an empty one"));
        make_new(path).await?;
        // So that it is not missed again.
        files::unmark_checked(path)?;
        return Ok(OpenReport { new: true, damage, ..OpenReport::default() });
    }
    files::check_writable(path)?;
    // SQLite removes the log's index before the log.
    let damage = files::has_lost_log(path)
        .then(|| gone(&files::beside(path, "-wal"), "the newest messages may be missing"));
    match probe::look(path).await? {
        ProbeVerdict::Sound { check_due, torn } => {
            Ok(OpenReport { check_due, torn, damage, ..OpenReport::default() })
        }
        ProbeVerdict::Damaged(reason) => repair(path, options, reason).await,
    }
}

/// Describes the loss of a whole file.
fn gone(file: &Path, effect: &str) -> Damage {
    let reason = format!(
        "the file {} was there at the last stop, but is gone; {effect}; if you have the file or a backup, see docs/backup.md",
        file.display()
    );
    Damage { reason, ..Damage::default() }
}

/// Empties the log, so that the next start does not find the end of the dropped transaction behind later ones.
async fn drop_torn_transaction(connection: &mut SqliteConnection) {
    tracing::warn!(
        "the last transaction in the write-ahead log was incomplete, so it was dropped: it was being written when the \
         daemon or the machine stopped, or it was damaged afterwards"
    );
    if let Err(error) = connect::checkpoint(connection).await {
        tracing::warn!(%error, "could not empty the write-ahead log");
    }
}

async fn repair(path: &Path, options: Options, reason: String) -> Result<OpenReport, OpenError> {
    let recovered = recover::recover(path, options, reason.clone()).await;
    // Not a disk error: a damaged file is not opened for reading, because nobody would notice that parts of it are
    // missing.
    let damage =
        recovered.map_err(|cause| OpenError::Unrecovered { reason, cause: cause.to_string() })?;
    Ok(OpenReport { damage: Some(damage), ..OpenReport::default() })
}

/// Creates the database under another name first, so that an empty file with the final name always means damage.
async fn make_new(path: &Path) -> Result<(), OpenError> {
    let unfinished = files::beside(path, ".new");
    make_empty(&unfinished, known_schema()).await?.close().await.map_err(from_sqlx)?;
    files::rename_finished(&unfinished, path)?;
    Ok(())
}
