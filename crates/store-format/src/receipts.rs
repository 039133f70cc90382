//! How long answers are kept for their idempotency keys.

use bethink_store::StoreError;
use bethink_transcript::UnixMicros;

/// How long an answer is kept for its idempotency key, in microseconds.
const RECEIPT_MICROS: i64 = 24 * 3600 * 1_000_000;

/// Returns the cutoff at time `at`: receipts from before it are too old.
pub fn oldest_kept(at: UnixMicros) -> UnixMicros {
    UnixMicros(at.0.saturating_sub(RECEIPT_MICROS))
}

/// Returns the error for a key that was used for another request.
pub fn reused(key: &str) -> StoreError {
    StoreError::Conflict(format!("the idempotency key {key} was used for another request"))
}
