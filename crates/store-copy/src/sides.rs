//! The two sides of a copy, opened and locked.

use std::fs::File;
use std::path::Path;

use bethink_config::Home;
use bethink_store::{StoreError, StoreResult};
use bethink_store_format::RowStore;
use bethink_store_postgres::{PostgresAddress, PostgresOpenError, PostgresRows, PostgresTarget};
use bethink_store_sqlite::{OpenError, SqliteRows, SqliteTarget, UnfinishedFile};
use bethink_transcript::UnixMicros;
use uuid::Uuid;

use crate::error::CopyError;
use crate::home::{create_home, lock_home};
use crate::place::StorePlace;

/// A side that is open. `unfinished` is a file that no daemon can use yet.
#[derive(Debug)]
pub(crate) enum CopySide {
    File { rows: SqliteRows, unfinished: Option<UnfinishedFile>, _lock: File },
    Database(PostgresRows),
}

/// The side that is written.
#[derive(Debug)]
pub(crate) struct CopyTarget {
    pub(crate) side: CopySide,
    pub(crate) state: TargetState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TargetState {
    Empty,
    /// It has a part of the rows.
    Resumed,
    /// This table has rows, and perhaps all tables have what they should.
    Filled(String),
}

impl CopySide {
    /// Opens the side that is read.
    pub(crate) async fn open_source(
        place: &StorePlace,
        now: UnixMicros,
    ) -> Result<Self, CopyError> {
        match place {
            StorePlace::Home(home) => {
                let path = Home::new(home).database();
                if !path.exists() {
                    return Err(CopyError::NoHome(home.clone()));
                }
                let lock = lock_home(home).await?;
                let rows =
                    SqliteRows::open(&path, now).await.map_err(|error| in_home(home, error))?;
                Ok(Self::File { rows, unfinished: None, _lock: lock })
            }
            StorePlace::Database(address) => {
                let rows = PostgresRows::open(address).await;
                Ok(Self::Database(rows.map_err(|error| in_database(address, error))?))
            }
        }
    }

    pub(crate) fn rows(&mut self) -> &mut dyn RowStore {
        match self {
            Self::File { rows, .. } => rows,
            Self::Database(rows) => rows,
        }
    }

    /// Returns the number of rows that no version could read, and that only a file has.
    pub(crate) async fn unread_rows(&mut self) -> StoreResult<u64> {
        match self {
            Self::File { rows, .. } => rows.unread_rows().await,
            Self::Database(_) => Ok(0),
        }
    }

    /// Leaves everything as it is.
    pub(crate) async fn close(self) -> StoreResult<()> {
        match self {
            Self::File { rows, .. } => rows.close().await,
            Self::Database(rows) => rows.close().await,
        }
    }
}

impl CopyTarget {
    /// Opens the target of a copy of `source`. If it is a database, the rows become those of `home`.
    pub(crate) async fn open(
        place: &StorePlace,
        source: &str,
        home: Option<Uuid>,
    ) -> Result<Self, CopyError> {
        match place {
            StorePlace::Home(home) => open_file(home, source).await,
            StorePlace::Database(address) => {
                open_database(address, source, home.unwrap_or_default()).await
            }
        }
    }

    /// Makes the complete copy usable.
    pub(crate) async fn finish(self, place: &StorePlace) -> Result<(), CopyError> {
        match self.side {
            CopySide::File { rows, unfinished: Some(file), _lock } => {
                let home = place.home().unwrap_or(Path::new(""));
                file.finish(rows).await.map_err(|error| in_home(home, error))
            }
            CopySide::File { rows, unfinished: None, _lock } => {
                rows.close().await.map_err(|error| writing(place, error))
            }
            CopySide::Database(rows) => rows.finish().await.map_err(|error| writing(place, error)),
        }
    }
}

async fn open_file(home: &Path, source: &str) -> Result<CopyTarget, CopyError> {
    create_home(home)?;
    let lock = lock_home(home).await?;
    let opened = SqliteTarget::open(&Home::new(home).database(), source).await;
    let (rows, unfinished, state) = match opened.map_err(|error| in_home(home, error))? {
        SqliteTarget::Unfinished { rows, file, is_resumed } => {
            let state = if is_resumed { TargetState::Resumed } else { TargetState::Empty };
            (rows, Some(file), state)
        }
        SqliteTarget::Filled(mut rows) => {
            let table = rows.first_filled().await.map_err(|error| in_home(home, error.into()))?;
            (rows, None, TargetState::Filled(table.unwrap_or_default()))
        }
    };
    Ok(CopyTarget { side: CopySide::File { rows, unfinished, _lock: lock }, state })
}

async fn open_database(
    address: &PostgresAddress,
    source: &str,
    home: Uuid,
) -> Result<CopyTarget, CopyError> {
    let failed = |error: StoreError| in_database(address, error.into());
    let opened = PostgresRows::open_target(address, source).await;
    let (mut rows, state) = opened.map_err(|error| in_database(address, error))?;
    rows.choose_home(home).await.map_err(failed)?;
    let state = match state {
        PostgresTarget::Empty => TargetState::Empty,
        PostgresTarget::Unfinished(found) if found == source => TargetState::Resumed,
        PostgresTarget::Unfinished(found) => {
            return Err(CopyError::OtherCopy { place: address.to_string(), found });
        }
        PostgresTarget::Filled(table) => TargetState::Filled(table),
    };
    Ok(CopyTarget { side: CopySide::Database(rows), state })
}

fn in_home(home: &Path, source: OpenError) -> CopyError {
    CopyError::File { home: home.to_owned(), source }
}

fn in_database(address: &PostgresAddress, source: PostgresOpenError) -> CopyError {
    CopyError::Database { database: address.to_string(), source }
}

pub(crate) fn reading(place: &StorePlace, source: StoreError) -> CopyError {
    CopyError::Read { place: place.to_string(), source }
}

pub(crate) fn writing(place: &StorePlace, source: StoreError) -> CopyError {
    CopyError::Write { place: place.to_string(), source }
}
