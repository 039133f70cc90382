//! Checks a file without opening it for writing, whether or not a daemon uses it.

use std::path::Path;

use bethink_store::{StoreError, StoreResult};
use bethink_store_format::StoreCheck;
use sqlx::{Connection, SqliteConnection};

use crate::check::find_fault;
use crate::connect::{self, known_schema};
use crate::error::from_sqlx;
use crate::files;
use crate::opened::OpenError;
use crate::probe::{self, ProbeVerdict};
use crate::sql::sql;

const SCHEMA: &str = "SELECT max(version) FROM _sqlx_migrations";
const MESSAGES: &str = "SELECT count(*) FROM messages";
const LINES: &str = "SELECT count(*) FROM records";

/// Checks the structure of the file, and each row. If a problem is found, the next start recovers the file.
pub async fn check_file(path: &Path, is_in_use: bool) -> Result<StoreCheck, OpenError> {
    if files::size(path)?.is_none() {
        return Err(OpenError::Missing(path.to_owned()));
    }
    let checked = match is_in_use {
        // What surrounds the database changes while a daemon writes to it.
        true => look(path).await,
        false => match probe::look(path).await? {
            ProbeVerdict::Damaged(why) => return Ok(damaged(why)),
            ProbeVerdict::Sound { .. } => look(path).await,
        },
    };
    let checked = match checked {
        Err(OpenError::Damaged(why)) => damaged(why),
        checked => checked?,
    };
    if let Some(why) = &checked.damage
        && files::suspicion(path).is_none()
        && let Err(error) = files::mark_suspect(path, why)
    {
        tracing::warn!(%error, "could not mark the database for recovery");
    }
    Ok(checked)
}

async fn look(path: &Path) -> Result<StoreCheck, OpenError> {
    let mut db = connect::looker(path).await.map_err(from_sqlx)?;
    let schema: StoreResult<i64> = sql(SCHEMA).value(&mut db).await;
    let found = match schema {
        Ok(schema) if schema < known_schema() => return Err(OpenError::Older),
        Ok(found) if found > known_schema() => {
            return Err(OpenError::Newer { found, known: known_schema() });
        }
        Ok(_) => check(&mut db).await,
        Err(error) => Err(error),
    };
    drop(db.close().await);
    found.map_err(|error| match error {
        StoreError::Damaged(why) => OpenError::Damaged(why),
        other => other.into(),
    })
}

async fn check(db: &mut SqliteConnection) -> StoreResult<StoreCheck> {
    let damage = find_fault(&mut *db).await?;
    if damage.is_some() {
        return Ok(StoreCheck { damage, messages: 0, lines: 0 });
    }
    let messages = sql(MESSAGES).value(&mut *db).await?;
    let lines = sql(LINES).value(db).await?;
    Ok(StoreCheck { damage: None, messages, lines })
}

fn damaged(why: String) -> StoreCheck {
    StoreCheck { damage: Some(why), messages: 0, lines: 0 }
}
