//! Tests the gateway of the real daemon, with a scripted provider.

// A failed operation ends the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod auth;
mod bad_input;
mod cancel;
mod chat;
mod gemini;
mod memory;
mod own_model;
mod pass;
mod responses;
mod streams;
mod world;
