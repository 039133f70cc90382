//! Opening: look first, refuse or recover if need be, then serve.

use std::path::{Path, PathBuf};

use bethink_store::StoreError;
use sqlx::{Connection, SqliteConnection};

use crate::connect::{self, MIGRATIONS};
use crate::error::{from_io, from_sqlx};
use crate::files;
use crate::hot::Hot;
use crate::options::Options;
use crate::probe::{self, Verdict};
use crate::recover;
use crate::store::SqliteStore;
use crate::writer::Desk;

/// What was found when a store was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// There was no file.
    pub new: bool,
    pub damage: Option<Damage>,
    /// The last stop was not clean and the file is too large to be checked before serving: call
    /// [`SqliteStore::check`] when there is time.
    pub check_due: bool,
}

/// What became of a damaged file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// What was wrong, as far as the first look saw.
    pub reason: String,
    /// Copy of the damaged file; its `-wal` and `-shm`, if any, lie beside it.
    pub copy: PathBuf,
    pub recovered: Vec<RecoveredTable>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredTable {
    pub table: &'static str,
    /// Rows that are whole.
    pub rows: u64,
    /// Rows that could be read but whose bytes are not what was written.
    pub spoiled: u64,
}

/// Why a store could not be opened. Nothing was changed then.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "the database was written by a newer bethink (schema {found}, this one knows up to \
         {known}); use that one, or another home"
    )]
    Newer { found: i64, known: i64 },
    #[error("{0} is a database, but not one of bethink's; move it away, or use another home")]
    Foreign(PathBuf),
    #[error("the database can't be written: {0}")]
    ReadOnly(String),
    #[error("the disk is full")]
    Full,
    #[error("SQLite {0} can damage a database in use; build with 3.51.3 or later")]
    Engine(String),
    #[error("the database could not be brought up to date")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    #[error("the database could not be opened: {0}")]
    Failed(String),
}

impl SqliteStore {
    /// Opens the store at `path`, made if it is not there. Call within a Tokio runtime.
    pub async fn open(path: &Path, options: Options) -> Result<(Self, OpenReport), OpenError> {
        files::make_home(path)?;
        files::swap_in_recovered(path)?;
        files::remove_unfinished(path)?;
        let report = prepare(path, options).await?;
        files::unmark_clean(path)?;
        let connection = connect_and_migrate(path, options.max_pages).await?;
        let desk = Desk { connection, hot: Hot::default(), pruned: None, path: path.to_owned() };
        Ok((Self::start(desk, connect::readers(path)), report))
    }
}

/// Sees to it that there is a sound file.
async fn prepare(path: &Path, options: Options) -> Result<OpenReport, OpenError> {
    if files::size(path)?.is_none() {
        if files::wal_size(path)? > 0 {
            return repair(path, options, "the file is gone, its log is here".into()).await;
        }
        make_new(path).await?;
        return Ok(OpenReport { new: true, ..OpenReport::default() });
    }
    files::check_writable(path)?;
    match probe::look(path).await? {
        Verdict::Sound { check_due } => Ok(OpenReport { check_due, ..OpenReport::default() }),
        Verdict::Damaged(reason) => repair(path, options, reason).await,
    }
}

async fn repair(path: &Path, options: Options, reason: String) -> Result<OpenReport, OpenError> {
    let damage = recover::recover(path, options, reason).await?;
    Ok(OpenReport { damage: Some(damage), ..OpenReport::default() })
}

/// Made under another name first: an empty file under the right name then always means damage.
async fn make_new(path: &Path) -> Result<(), OpenError> {
    let unfinished = files::beside(path, ".new");
    make_empty(&unfinished).await?.close().await.map_err(from_sqlx)?;
    files::rename_finished(&unfinished, path)?;
    Ok(())
}

/// An empty database with its schema, its log carried over.
pub(crate) async fn make_empty(path: &Path) -> Result<SqliteConnection, OpenError> {
    files::create(path)?;
    let mut connection = connect_and_migrate(path, None).await?;
    checkpoint(&mut connection).await?;
    Ok(connection)
}

pub(crate) async fn checkpoint(connection: &mut SqliteConnection) -> Result<(), OpenError> {
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(connection).await.map_err(from_sqlx)?;
    Ok(())
}

async fn connect_and_migrate(
    path: &Path,
    max_pages: Option<u32>,
) -> Result<SqliteConnection, OpenError> {
    let mut connection = connect::writer(path, max_pages).await.map_err(from_sqlx)?;
    let (version, sound) = connect::engine(&mut connection).await.map_err(from_sqlx)?;
    if !sound {
        return Err(OpenError::Engine(version));
    }
    MIGRATIONS.run(&mut connection).await?;
    Ok(connection)
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full => Self::Full,
            StoreError::ReadOnly(why) => Self::ReadOnly(why),
            StoreError::Newer { found, known } => Self::Newer { found, known },
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<std::io::Error> for OpenError {
    fn from(error: std::io::Error) -> Self {
        from_io(&error).into()
    }
}
