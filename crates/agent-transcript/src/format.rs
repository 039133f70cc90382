//! The port that each agent's reader implements.

use std::fmt::Debug;

use serde_json::Value;

use crate::lines::SessionLines;

/// The records of one agent.
pub(crate) trait TranscriptFormat: Debug + Send + Sync {
    /// Writes what a record means. `number` is the number of its line, from 1.
    fn record(&mut self, number: u64, record: &Value, lines: &mut SessionLines);
}
