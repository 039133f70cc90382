//! The commands of Anthropic's memory tool (`memory_20250818`), as text in and text out.
//!
//! Models know the wording of its answers and refusals from the SDKs' own helper, so it is kept. What differs is
//! that a memory's file ends in `.md`, that a folder is there as long as something is in it, that the index can't
//! go, and that the team's part can be read alone.
//!
//! Reading order: [`Command`] → [`spot`] → [`edit`] → [`show`] → [`error`].

pub mod edit;
pub mod error;
pub mod show;
pub mod spot;

use serde::Deserialize;

pub use error::ToolError;
pub use show::{ListedFile, file, folder};
pub use spot::{At, ToolSpot};

/// Where the tool's paths begin.
pub const ROOT: &str = "/memories";
/// Lines of a file that the tool numbers, as in the SDKs' helper.
pub const MOST_LINES: usize = 999_999;
/// Columns of a line's number, as in the SDKs' helper.
pub(crate) const NUMBER_WIDTH: usize = 6;
/// Bytes of a file that one view shows: a managed memory store's limit for a whole memory. More is asked for by
/// `view_range`.
pub const SHOWN_BYTES: usize = 100_000;
/// Entries that one view of a folder lists; a directory may have a hundred thousand.
pub const SHOWN_ENTRIES: usize = 1_000;

/// The tool's input. Its fields are the provider's.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum ToolCommand {
    View {
        path: String,
        /// First and last line, from 1; -1 is the end.
        #[serde(default)]
        view_range: Option<Vec<i64>>,
    },
    Create {
        path: String,
        file_text: String,
    },
    StrReplace {
        path: String,
        old_str: String,
        #[serde(default)]
        new_str: Option<String>,
    },
    Insert {
        path: String,
        /// After this line; 0 is the beginning.
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
