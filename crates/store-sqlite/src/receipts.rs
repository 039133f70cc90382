//! Answers stored with their idempotency keys.

use std::collections::HashMap;

use bethink_store::{Receipt, StoreResult, StoredReceipt};
use bethink_store_format::{oldest_kept, reused};
use bethink_transcript::UnixMicros;
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use crate::record::Record;
use crate::seal::{SealedValue, seal_of};
use crate::sql::{Row, sql};

const FIND: &str = "
    SELECT *
    FROM receipts
    WHERE key IN (SELECT value FROM json_each(?))";

pub(crate) const READ: &str = "
    SELECT *
    FROM receipts
    WHERE key = ?";

/// Stores receipts, and deletes old ones.
pub(crate) const KEEP: &str = "
    INSERT INTO receipts (key, fingerprint, answer, created_at, seal)
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4
    FROM json_each(?);

    DELETE FROM receipts
    WHERE created_at < ?;";

pub(crate) async fn find(
    db: &mut SqliteConnection,
    keys: Vec<&str>,
) -> StoreResult<HashMap<String, StoredReceipt>> {
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    let read = |row: &Row| Ok((row.get("key")?, StoredReceipt::read(row)?));
    Ok(sql(FIND).bind(json!(keys).to_string()).all(db, read).await?.into_iter().collect())
}

/// Returns the answer stored for this key. A different request with the same key is a conflict.
pub(crate) async fn honoured(
    db: &mut SqliteConnection,
    receipt: &Receipt,
) -> StoreResult<Option<String>> {
    match sql(READ).bind(receipt.key.clone()).optional(db, StoredReceipt::read).await? {
        None => Ok(None),
        Some(stored) if stored.fingerprint == receipt.fingerprint => Ok(Some(stored.answer)),
        Some(_) => Err(reused(&receipt.key)),
    }
}

/// Stores a receipt. Storing the same one again changes nothing.
pub(crate) async fn put(
    db: &mut SqliteConnection,
    receipt: Receipt,
    answer: String,
    at: UnixMicros,
) -> StoreResult<()> {
    if honoured(db, &receipt).await?.is_some() {
        return Ok(());
    }
    let row = json!([new_row(&receipt, &answer, at)]);
    sql(KEEP).bind(row.to_string()).bind(oldest_kept(at)).run(db).await.map(drop)
}

/// Returns a row for [`KEEP`], with its checksum.
pub(crate) fn new_row(receipt: &Receipt, answer: &str, at: UnixMicros) -> Value {
    let Receipt { key, fingerprint } = receipt;
    let text = |text: &str| SealedValue::Text(text.as_bytes().to_vec());
    let seal = seal_of(vec![
        ("key", text(key)),
        ("fingerprint", text(fingerprint)),
        ("answer", text(answer)),
        ("created_at", SealedValue::Integer(at.0)),
    ]);
    json!([key, fingerprint, answer, at.0, seal])
}
