//! Import and export of session files.
//!
//! Turns files into sessions, and sessions back into files, line by line. The format of a line is in `session-file`;
//! the formats of other agents are in `agent-transcript`. Transcripts that are still growing are followed: hooks name
//! them, or their directory is watched after an import.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bethink_agent_transcript::TranscriptAgent;
use bethink_search::SearchService;
use bethink_service::ServiceContext;
use bethink_sessions::SessionService;
use tokio::sync::Mutex as AsyncMutex;

use crate::tail::ReadyTails;

mod agents;
mod export;
mod follow;
mod import;
mod paused;
mod places;
mod reading;
mod source;
mod tail;

pub use export::Export;
pub use paused::PausedParts;

/// Imports and exports session files. Clones share one state.
#[derive(Clone, Debug)]
pub struct TransferService {
    cx: ServiceContext,
    search: SearchService,
    sessions: SessionService,
    /// Held while transcripts of agents are read, so that no session is created twice.
    reading: Arc<AsyncMutex<ReadyTails>>,
    /// The places that are followed.
    places: Arc<Mutex<BTreeSet<(TranscriptAgent, PathBuf)>>>,
}

impl TransferService {
    pub fn new(cx: ServiceContext, search: SearchService, sessions: SessionService) -> Self {
        Self { cx, search, sessions, reading: Arc::default(), places: Arc::default() }
    }
}

#[cfg(test)]
mod tests;
