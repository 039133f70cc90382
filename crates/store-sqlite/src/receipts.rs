//! Answers kept under their idempotency key.

use std::collections::HashMap;

use bethink_store::{Receipt, Result, StoreError, StoredReceipt};
use bethink_transcript::UnixMicros;
use sqlx::{SqliteConnection, SqlitePool};

use crate::error::from_sqlx;
use crate::options::RECEIPT_MICROS;
use crate::plan::reused;
use crate::writer::Desk;

/// How often old receipts are looked for, at most: once an hour of the callers' time.
const PRUNE_MICROS: i64 = 3600 * 1_000_000;

const FIND: &str = "
    SELECT key, fingerprint, answer
    FROM receipts
    WHERE key IN (SELECT value FROM json_each(?))";

const READ: &str = "
    SELECT fingerprint, answer
    FROM receipts
    WHERE key = ?";

const KEEP: &str = "
    INSERT INTO receipts (key, fingerprint, answer, created_at)
    VALUES (?, ?, ?, ?)";

const PRUNE: &str = "
    DELETE FROM receipts
    WHERE created_at < ?";

pub(crate) async fn find(
    connection: &mut SqliteConnection,
    keys: &[&str],
) -> Result<HashMap<String, StoredReceipt>> {
    let keys = serde_json::to_string(keys).map_err(|e| StoreError::Failed(e.to_string()))?;
    let rows: Vec<(String, String, String)> =
        sqlx::query_as(FIND).bind(keys).fetch_all(connection).await.map_err(from_sqlx)?;
    let receipts = rows
        .into_iter()
        .map(|(key, fingerprint, answer)| (key, StoredReceipt { fingerprint, answer }));
    Ok(receipts.collect())
}

pub(crate) async fn read(readers: &SqlitePool, key: &str) -> Result<Option<StoredReceipt>> {
    let row: Option<(String, String)> = sqlx::query_as(READ)
        .bind(key.to_owned())
        .fetch_optional(readers)
        .await
        .map_err(from_sqlx)?;
    Ok(row.map(|(fingerprint, answer)| StoredReceipt { fingerprint, answer }))
}

/// The answer given under this key, if the request is the same; another request is a conflict.
pub(crate) async fn honoured(desk: &mut Desk, receipt: &Receipt) -> Result<Option<String>> {
    let mut found = find(&mut desk.connection, &[&receipt.key]).await?;
    match found.remove(&receipt.key) {
        None => Ok(None),
        Some(stored) if stored.fingerprint == receipt.fingerprint => Ok(Some(stored.answer)),
        Some(_) => Err(reused(&receipt.key)),
    }
}

/// Keeping the same receipt again changes nothing.
pub(crate) async fn put(
    desk: &mut Desk,
    receipt: &Receipt,
    answer: &str,
    at: UnixMicros,
) -> Result<()> {
    if honoured(desk, receipt).await?.is_some() {
        return Ok(());
    }
    sqlx::query(KEEP)
        .bind(receipt.key.clone())
        .bind(receipt.fingerprint.clone())
        .bind(answer.to_owned())
        .bind(at.0)
        .execute(&mut desk.connection)
        .await
        .map_err(from_sqlx)?;
    prune(desk, Some(at)).await;
    Ok(())
}

/// Lets receipts of more than a day go, when one was kept `at` a time. That old ones stay a while
/// longer harms nobody, so a failure is not one.
pub(crate) async fn prune(desk: &mut Desk, at: Option<UnixMicros>) {
    let Some(UnixMicros(at)) = at else { return };
    if desk.pruned.is_some_and(|last| at < last.saturating_add(PRUNE_MICROS)) {
        return;
    }
    desk.pruned = Some(at);
    let before = at.saturating_sub(RECEIPT_MICROS);
    if let Err(error) = sqlx::query(PRUNE).bind(before).execute(&mut desk.connection).await {
        tracing::warn!(%error, "could not remove old receipts");
    }
}
