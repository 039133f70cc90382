//! Hooks end to end: the real `bethink hook` as a coding agent runs it, against the real daemon.

#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used)]

mod agent;
mod bad_input;
mod install;
mod pause;
mod spool;
mod transcripts;
mod words;
