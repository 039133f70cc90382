//! Persistent memory, from the outside: the real daemon, real directories.

#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used)]

mod dream;
mod extraction;
mod instructions;
mod memory;
mod pinned;
mod prompts;
mod recall;
mod recall_by_model;
mod stale;
mod topics;
mod writers;
