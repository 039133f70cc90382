//! The lines of JSON that `bethinkd store` prints for `bethink store`. This is not a part of the HTTP API.

use serde::{Deserialize, Serialize};

/// A line. Only the last one is `Ended`; an interrupted program prints none.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreLine {
    Progress(CopyProgress),
    Ended(StoreOutcome),
}

/// How it ended, with what the user can do next.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreOutcome {
    Copied {
        report: StoreCopyReport,
        hint: String,
    },
    Checked {
        found: StoreCheckReport,
        hint: Option<String>,
    },
    Failed {
        /// What failed, with all causes.
        detail: String,
        hint: Option<String>,
        /// The arguments were wrong.
        is_usage_error: bool,
    },
}

/// How far a copy is: the position in a phase, of the phase's total, in numbers of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyProgress {
    pub phase: CopyPhase,
    pub done: u64,
    pub total: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyPhase {
    Copying,
    Verifying,
}

/// A copy that is complete and verified, as `bethink store copy --json` prints it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoreCopyReport {
    #[serde(flatten)]
    pub report: CopyReport,
    /// The setting `store.url` for the copy, without a password. Empty if the copy is in a home.
    pub store_url: String,
}

/// What was copied.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CopyReport {
    /// Where the rows are from and where they are now. Contains no password.
    pub from: String,
    pub to: String,
    pub rows: u64,
    /// The size of all values.
    pub bytes: u64,
    pub seconds: f64,
    /// Each table that has rows.
    pub tables: Vec<CopiedRowCount>,
    /// It continued a copy that was interrupted.
    pub resumed: bool,
    /// Everything was there already.
    pub already_complete: bool,
    /// Number of rows that an earlier update could not convert. They were not copied, and stay in the home that was copied.
    pub unreadable_rows: u64,
    /// Number of other homes whose rows stay in the database that was copied.
    pub other_homes: u64,
}

/// The number of rows that were copied from a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopiedRowCount {
    pub table: String,
    pub rows: u64,
}

/// What a check found, as `bethink store check --json` prints it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoreCheckReport {
    pub place: String,
    pub ok: bool,
    /// The first problem.
    pub damage: Option<String>,
    pub messages: u64,
    /// Lines of imported files.
    pub lines: u64,
}
