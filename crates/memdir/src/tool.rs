//! The commands of Anthropic's memory tool (`memory_20250818`), as text in and text out.
//!
//! Answers and errors are worded as in the memory helpers of Anthropic's SDKs, because models know that wording. The
//! differences are: a memory's file name ends in `.md`, a folder is never empty, the index cannot be removed, and the
//! team's part is read-only.

pub mod edit;
pub mod error;
pub mod show;
pub mod spot;

use serde::Deserialize;

pub use error::ToolError;
pub use show::{ListedFile, file, folder};
pub use spot::{At, ToolSpot};

/// The root of the tool's paths.
pub const ROOT: &str = "/memories";
/// Maximum number of lines of a file, as in the helper of Anthropic's SDKs.
pub const MOST_LINES: usize = 999_999;
/// Width of line numbers, as in the helper of Anthropic's SDKs.
pub(crate) const NUMBER_WIDTH: usize = 6;
/// Maximum size of one view of a file, in bytes: the limit that the provider's own memory stores have for a whole
/// memory. `view_range` shows the rest.
pub const SHOWN_BYTES: usize = 100_000;
/// Maximum number of entries in one view of a folder. A directory may have a hundred thousand entries.
pub const SHOWN_ENTRIES: usize = 1_000;

/// The tool's input, with the provider's field names.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum ToolCommand {
    View {
        path: String,
        /// First and last line, counted from 1; -1 is the end.
        view_range: Option<Vec<i64>>,
    },
    Create {
        path: String,
        file_text: String,
    },
    StrReplace {
        path: String,
        old_str: String,
        new_str: Option<String>,
    },
    Insert {
        path: String,
        /// The line to insert after; 0 is the beginning.
        insert_line: i64,
        insert_text: String,
    },
    Delete {
        path: String,
    },
    Rename {
        old_path: String,
        new_path: String,
    },
}
