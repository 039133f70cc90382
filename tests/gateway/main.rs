//! The gateway of the real daemon, between clients and a provider that does as it is told.

// What is broken ends the test where it stands.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod auth;
mod bad_input;
mod cancel;
mod chat;
mod memory;
mod pass;
mod streams;
mod world;
