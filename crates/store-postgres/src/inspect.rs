//! Checks a database without changing it, whether or not daemons use it.

use bethink_store::{CheckStore as _, Store as _};
use bethink_store_format::StoreCheck;

use crate::address::PostgresAddress;
use crate::opened::PostgresOpenError;
use crate::options::PostgresOptions;
use crate::rows::connect;
use crate::schema;
use crate::sql::sql;
use crate::store::PostgresStore;

const MESSAGES: &str = "SELECT count(*) FROM messages";
const LINES: &str = "SELECT count(*) FROM records";

/// Reads every row that has a checksum.
pub async fn check_database(address: &PostgresAddress) -> Result<StoreCheck, PostgresOpenError> {
    let mut db = connect(address).await?;
    schema::must_be_complete(&mut db).await?;
    let store = PostgresStore::start(&PostgresOptions::new(address.clone()));
    // Its schema was looked at above.
    let _ = store.schema.set(schema::name(&mut *db).await?);
    let damage = store.check().await?;
    store.close().await?;
    let messages = sql(MESSAGES).value(&mut *db).await?;
    let lines = sql(LINES).value(&mut *db).await?;
    Ok(StoreCheck { damage, messages, lines })
}
