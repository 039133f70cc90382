//! Memory directories on disk: the only way to touch a memory file.
