//! Checks a store, whether or not a daemon uses it.

use bethink_config::Home;
use bethink_store_format::StoreCheck;
use bethink_store_postgres::check_database;
use bethink_store_sqlite::check_file;

use crate::error::CopyError;
use crate::home::try_lock_home;
use crate::place::StorePlace;

/// Reads everything that has a checksum. A file that is damaged is marked, so that the next start of its daemon recovers it.
pub async fn check(place: &StorePlace) -> Result<StoreCheck, CopyError> {
    match place {
        StorePlace::Home(home) => {
            let path = Home::new(home).database();
            match path.try_exists() {
                Ok(true) => {}
                Ok(false) => return Err(CopyError::NoHome(home.clone())),
                Err(source) => return Err(CopyError::Home { home: home.clone(), source }),
            }
            // A daemon that runs is not disturbed. One that starts has to wait, because it may recover the file.
            let lock = try_lock_home(home).await?;
            let checked = check_file(&path, lock.is_err()).await;
            checked.map_err(|source| CopyError::File { home: home.clone(), source })
        }
        StorePlace::Database(address) => {
            let checked = check_database(address).await;
            let database = address.to_string();
            checked.map_err(|source| CopyError::Database { database, source })
        }
    }
}
