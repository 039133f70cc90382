//! Where a store is: in a home, or in a database.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use bethink_store_postgres::PostgresAddress;

use crate::error::CopyError;

/// A home directory, whose database is the file `bethink.db`, or a PostgreSQL database. Its text never contains a password.
#[derive(Clone, Debug)]
pub enum StorePlace {
    Home(PathBuf),
    Database(Box<PostgresAddress>),
}

impl FromStr for StorePlace {
    type Err = CopyError;

    /// Parses a URL such as `postgres://ann@db.example.org/bethink`, or the path of a home.
    fn from_str(text: &str) -> Result<Self, CopyError> {
        let is_url = text.contains("://")
            || text.starts_with("postgres:")
            || text.starts_with("postgresql:");
        match is_url {
            true => text.parse().map(Self::in_database).map_err(CopyError::Url),
            false => Ok(Self::Home(PathBuf::from(text))),
        }
    }
}

impl StorePlace {
    pub fn in_database(address: PostgresAddress) -> Self {
        Self::Database(Box::new(address))
    }

    pub(crate) fn home(&self) -> Option<&Path> {
        match self {
            Self::Home(home) => Some(home),
            Self::Database(_) => None,
        }
    }
}

impl fmt::Display for StorePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Home(home) => home.display().fmt(f),
            Self::Database(address) => address.fmt(f),
        }
    }
}
