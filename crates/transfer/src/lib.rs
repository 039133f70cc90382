//! Import and export of session files.
//!
//! Owns how a file becomes sessions and how a session becomes a file again, line for line. Leaves what a line means to
//! `session-file`, and the sessions themselves to their service.

use bethink_search::SearchService;
use bethink_service::ServiceContext;
use bethink_sessions::SessionService;

mod export;
mod import;
mod reading;

pub use export::Export;

/// Session files, in and out. Clones are of one.
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
