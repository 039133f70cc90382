//! Import and export of session files.
//!
//! Turns files into sessions, and sessions back into files, line by line. The format of a line is in `session-file`.

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
