//! How many entries a page of a list has.

use crate::{Result, ServiceError};

/// Entries of a list when the client names no limit.
const PAGE: usize = 100;
/// The largest page.
pub const MAX_PAGE: usize = 1_000;

/// The requested limit, within bounds.
pub fn page_limit(limit: Option<usize>) -> Result<usize> {
    match limit.unwrap_or(PAGE) {
        n @ 1..=MAX_PAGE => Ok(n),
        n => Err(ServiceError::invalid("limit", format!("1 to {MAX_PAGE}"))
            .bounded(MAX_PAGE as u64, n as u64)),
    }
}
