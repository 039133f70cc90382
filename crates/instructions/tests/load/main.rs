//! What is loaded from a disk of a few files.

mod chain;
mod disk;
mod hostile;
mod imports;
mod lazy;
mod render;
