//! The way to the terminal: styled text, tables, progress and JSON, for any program.
//!
//! Owns what the terminal can do and what may reach it: all text is escaped on its way out, so that nothing untrusted
//! steers the terminal. Leaves what is said to its caller, and knows nothing of bethink.
//!
//! Reading order: `escape` → `text` → `table` → `screen` → `progress`; `words` puts figures and times into words.

mod escape;
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
