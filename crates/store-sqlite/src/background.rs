//! Work that computes for a while.

use bethink_store::{StoreError, StoreResult};

/// Runs it on another thread than requests.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> StoreResult<T> {
    tokio::task::spawn_blocking(work).await.map_err(|error| StoreError::Failed(error.to_string()))
}
