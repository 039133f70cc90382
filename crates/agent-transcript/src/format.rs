//! The trait that the reader for each agent implements.

use std::fmt::Debug;

use serde_json::Value;

use crate::lines::SessionLines;

/// Interprets the records of one agent.
pub(crate) trait TranscriptFormat: Debug + Send + Sync {
    /// Converts a record, and writes the result to `lines`. `number` is the record's line number, counted from 1.
    fn record(&mut self, number: u64, record: &Value, lines: &mut SessionLines);
}
