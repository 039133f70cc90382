//! The way to the terminal: styled text, tables, progress and JSON, for any program.
//!
//! All text is escaped on its way out, so that untrusted text cannot control the terminal. What to say is up to the
//! caller: this crate knows nothing about bethink.
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
