//! Opens the database: checks it first, and recovers it if it is damaged.

use std::path::Path;

use sqlx::Connection;

use crate::connect::{self, known_schema, make_empty};
use crate::error::from_sqlx;
use crate::files;
use crate::opened::{OpenError, OpenReport};
use crate::options::Options;
use crate::probe::{self, ProbeVerdict};
use crate::recover;
use crate::store::SqliteStore;

impl SqliteStore {
    /// Opens the store at `path`, or creates it. Must be called within a Tokio runtime.
    pub async fn open(path: &Path, options: Options) -> Result<(Self, OpenReport), OpenError> {
        files::make_home(path)?;
        files::swap_in_recovered(path)?;
        files::remove_unfinished(path)?;
        let report = prepare(path, options).await?;
        files::unmark_clean(path)?;
        let mut connection = connect::connect(path, options.max_pages).await?;
        connect::migrate(&mut connection, known_schema()).await?;
        Ok((Self::start(connection, connect::readers(path), path.to_owned()), report))
    }
}

/// Ensures that there is an intact file.
async fn prepare(path: &Path, options: Options) -> Result<OpenReport, OpenError> {
    if files::size(path)?.is_none() {
        if files::wal_size(path)? > 0 {
            return repair(path, options, "the file is missing, but its WAL exists".into()).await;
        }
        make_new(path).await?;
        return Ok(OpenReport { new: true, ..OpenReport::default() });
    }
    files::check_writable(path)?;
    match probe::look(path).await? {
        ProbeVerdict::Sound { check_due } => Ok(OpenReport { check_due, ..OpenReport::default() }),
        ProbeVerdict::Damaged(reason) => repair(path, options, reason).await,
    }
}

async fn repair(path: &Path, options: Options, reason: String) -> Result<OpenReport, OpenError> {
    let damage = recover::recover(path, options, reason).await?;
    Ok(OpenReport { damage: Some(damage), ..OpenReport::default() })
}

/// Created under another name first, so that an empty file with the final name always means damage.
async fn make_new(path: &Path) -> Result<(), OpenError> {
    let unfinished = files::beside(path, ".new");
    make_empty(&unfinished, known_schema()).await?.close().await.map_err(from_sqlx)?;
    files::rename_finished(&unfinished, path)?;
    Ok(())
}
