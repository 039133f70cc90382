//! Limits of this crate, with their reasons.

/// Maximum size of a file, in bytes.
pub const MOST_FILE_BYTES: u64 = 4 << 20;
/// Number of characters in a file above which there is a warning.
pub const MANY_CHARS: usize = 40_000;
/// Number of lines in a file above which there is a warning.
pub const MANY_LINES: usize = 200;
/// Maximum depth of nested imports.
pub const MOST_DEPTH: usize = 5;

/// Maximum number of files in a chain: far more than people have, and few enough not to delay a prompt.
pub const MOST_FILES: usize = 500;
/// Maximum size of a chain, in bytes: larger than any context window, so a chain that is too large exceeds the window
/// first.
pub const MOST_BYTES: u64 = 16 << 20;
/// Maximum number of imports that are followed for a chain. Each import takes a few system calls.
pub const MOST_IMPORTS: usize = 2_000;
/// Maximum number of skipped files that are listed by name. Further files are only counted.
pub const MOST_SKIPPED: usize = 500;

/// Maximum number of entries that are read in a directory of rules.
pub const MOST_ENTRIES: usize = 2_000;
/// Maximum number of directories below `rules` that are read, and their maximum depth.
pub const MOST_RULE_DIRS: usize = 200;
pub const MOST_RULE_DEPTH: usize = 8;

/// Maximum number of touched paths that are matched against rules.
pub const MOST_TOUCHED: usize = 2_000;
/// Maximum number of directories between a project's root and a file.
pub const MOST_LEVELS: usize = 64;

/// Maximum size of a file's front matter, in bytes.
pub const MOST_FRONT_BYTES: usize = 64 << 10;
/// Maximum number of patterns in a rule, and maximum size of a pattern, in bytes. Each pattern is compiled to an
/// automaton.
pub const MOST_PATTERNS: usize = 100;
pub const MOST_PATTERN_BYTES: usize = 512;
/// Maximum size of a path in an import, in bytes. Linux does not accept longer paths.
pub const MOST_PATH_BYTES: usize = 4_096;
