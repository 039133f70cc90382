//! What is asked of the tool.

use serde::Deserialize;

/// The tool's input. Its fields are the provider's.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
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
