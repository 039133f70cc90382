//! The real daemon, with its own home, as its HTTP clients see it.

// Test code panics where an expectation fails.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod bad_input;
mod broken_disk;
mod cache;
mod collapse;
mod compaction;
mod context;
mod crowds;
mod degraded;
mod desk;
mod events;
mod files;
mod guard;
mod lifecycle;
mod messages;
mod model_settings;
mod notes;
mod odd_sessions;
mod old_home;
mod openapi;
mod recover;
mod routes;
mod secrets;
mod sessions;
mod state;
mod summaries;
