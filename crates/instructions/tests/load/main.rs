//! Tests what is loaded from a disk with a few files.

mod chain;
mod disk;
mod hostile;
mod imports;
mod lazy;
mod render;
