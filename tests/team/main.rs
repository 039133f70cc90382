//! Two people who share a memory: two homes, two copies of a project, and one bare repository between them.

#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used)]

mod conflicts;
mod hostile;
mod people;
mod proposals;
mod secrets;
mod sharing;
