//! The size of a page in a list.

use crate::{Result, ServiceError};

/// Number of entries in a page if the client gives no limit.
const PAGE: usize = 100;
/// Maximum number of entries in a page.
pub const MAX_PAGE: usize = 1_000;

/// Returns the requested limit, or the default. Fails if it is out of bounds.
pub fn page_limit(limit: Option<usize>) -> Result<usize> {
    match limit.unwrap_or(PAGE) {
        n @ 1..=MAX_PAGE => Ok(n),
        n => Err(ServiceError::invalid("limit", format!("must be from 1 to {MAX_PAGE}"))
            .bounded(n.clamp(1, MAX_PAGE) as u64, n as u64)),
    }
}
