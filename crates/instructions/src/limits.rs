//! All limits of this crate, with their reasons.

/// Bytes of one file (specification, section 8: no limit up to 4 MiB).
pub const MOST_FILE_BYTES: u64 = 4 << 20;
/// Characters of one file before a warning (section 8).
pub const MANY_CHARS: usize = 40_000;
/// Lines of one file before a warning (section 8).
pub const MANY_LINES: usize = 200;
/// Imports in imports (section 8).
pub const MOST_DEPTH: usize = 5;

/// Most files of one chain: far more than people have, and few enough that a prompt does not wait.
pub const MOST_FILES: usize = 500;
/// Most bytes of one chain: more than any context window, so that the window reports an excess.
pub const MOST_BYTES: u64 = 16 << 20;
/// Most import marks checked for one chain; each takes a few system calls.
pub const MOST_IMPORTS: usize = 2_000;
/// Skipped files that are listed by name; the others are counted.
pub const MOST_SKIPPED: usize = 500;

/// Most entries of one directory of rules that are read.
pub const MOST_ENTRIES: usize = 2_000;
/// Directories below `rules` that are looked at, in all and one in the other.
pub const MOST_RULE_DIRS: usize = 200;
pub const MOST_RULE_DEPTH: usize = 8;

/// Touched paths that are matched against rules.
pub const MOST_TOUCHED: usize = 2_000;
/// Directories between a project's root and a file.
pub const MOST_LEVELS: usize = 64;

/// Bytes in which the front matter of a file must end.
pub const MOST_FRONT_BYTES: usize = 64 << 10;
/// Patterns of one rule, and bytes of one pattern: a pattern becomes an automaton.
pub const MOST_PATTERNS: usize = 100;
pub const MOST_PATTERN_BYTES: usize = 512;
/// Bytes of a path in an import; no file system takes more.
pub const MOST_PATH_BYTES: usize = 4_096;
