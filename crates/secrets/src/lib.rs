//! Finds what must not be shared: keys and passwords, and characters that a reader does not see.
