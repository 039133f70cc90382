//! Import and export of session files.
//!
//! Owns how files become sessions and sessions become files again, line for line. Leaves the format of a line
//! to `session-file`, and the sessions themselves to their service.

use bethink_search::SearchService;
use bethink_service::ServiceContext;
use bethink_sessions::SessionService;

mod export;
mod import;
mod reading;

pub use export::Export;

/// Imports and exports session files. Clones share it.
#[derive(Clone, Debug)]
pub struct TransferService {
    cx: ServiceContext,
    search: SearchService,
    sessions: SessionService,
}

impl TransferService {
    pub fn new(cx: ServiceContext, search: SearchService, sessions: SessionService) -> Self {
        Self { cx, search, sessions }
    }
}

#[cfg(test)]
mod tests;
