//! Output on a terminal: styled text, tables, progress and JSON.
//!
//! All text is escaped before it is printed, so that untrusted text cannot control the terminal. This crate knows
//! nothing about bethink.
//!
//! Reading order: `escape` → `text` → `table` → `pager` → `screen` → `progress`; `words` formats numbers and times.

mod escape;
mod pager;
mod progress;
mod screen;
mod table;
mod text;
pub mod words;

pub use escape::LineMode;
pub use progress::ProgressLine;
pub use screen::{Screen, TerminalLook};
pub use table::TextTable;
pub use text::{StyledText, Tone, columns, hanging, paragraphs, wrapped};
