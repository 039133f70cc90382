//! Instruction files: which are loaded for a directory, in what order, and why others are not.
