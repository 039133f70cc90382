//! Runs work that takes long or blocks.

use bethink_store::{StoreError, StoreResult};

/// Runs `work` on a thread for blocking tasks, so that it does not delay requests.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> StoreResult<T> {
    tokio::task::spawn_blocking(work).await.map_err(|error| StoreError::Failed(error.to_string()))
}
