//! Answers stored with their idempotency keys. A transaction that looks for a key to store it later locks the key first.

use std::collections::HashMap;

use bethink_store::{Receipt, StoreResult, StoredReceipt};
use bethink_store_format::{NewReceipt, oldest_kept, reused};
use bethink_transcript::UnixMicros;
use sqlx::PgConnection;

use crate::locks::{self, Lock};
use crate::record::Record;
use crate::sql::{Row, sql};

const FIND: &str = "
    SELECT *
    FROM receipts
    WHERE key = ANY($1)";

pub(crate) const READ: &str = "
    SELECT *
    FROM receipts
    WHERE key = $1";

const ADD: &str = "
    INSERT INTO receipts (key, fingerprint, answer, created_at)
    SELECT *
    FROM unnest($1, $2, $3, $4)";

/// Leaves out rows that another transaction is deleting.
const FORGET: &str = "
    DELETE FROM receipts
    WHERE number IN (
        SELECT number
        FROM receipts
        WHERE created_at < $1
        FOR UPDATE SKIP LOCKED
    )";

pub(crate) async fn find(
    db: &mut PgConnection,
    keys: Vec<String>,
) -> StoreResult<HashMap<String, StoredReceipt>> {
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    let read = |row: &Row| Ok((row.get("key")?, StoredReceipt::read(row)?));
    Ok(sql(FIND).bind_list(keys).all(db, read).await?.into_iter().collect())
}

/// Stores receipts whose keys are locked, and deletes old ones.
pub(crate) async fn add(db: &mut PgConnection, new: Vec<NewReceipt>) -> StoreResult<()> {
    let Some(newest) = new.iter().map(|new| new.at).max() else { return Ok(()) };
    sql(ADD)
        .bind_list(new.iter().map(|new| new.receipt.key.clone()))
        .bind_list(new.iter().map(|new| new.receipt.fingerprint.clone()))
        .bind_list(new.iter().map(|new| new.answer.clone()))
        .bind_list(new.iter().map(|new| new.at))
        .run(&mut *db)
        .await?;
    sql(FORGET).bind(oldest_kept(newest)).run(db).await.map(drop)
}

/// Locks the key, and returns the answer stored for it. A different request with the same key is a conflict.
pub(crate) async fn honoured(
    db: &mut PgConnection,
    receipt: &Receipt,
) -> StoreResult<Option<String>> {
    locks::lock(db, [Lock::Receipt(&receipt.key)]).await?;
    match sql(READ).bind(receipt.key.clone()).optional(db, StoredReceipt::read).await? {
        None => Ok(None),
        Some(stored) if stored.fingerprint == receipt.fingerprint => Ok(Some(stored.answer)),
        Some(_) => Err(reused(&receipt.key)),
    }
}

/// Stores a receipt. Storing the same one again changes nothing.
pub(crate) async fn put(
    db: &mut PgConnection,
    receipt: Receipt,
    answer: String,
    at: UnixMicros,
) -> StoreResult<()> {
    match honoured(db, &receipt).await? {
        Some(_) => Ok(()),
        None => add(db, vec![NewReceipt { receipt, answer, at }]).await,
    }
}
