//! The dashboard in a real browser, against the real daemon.
//!
//! A Rust test prepares a daemon and what it remembers, and a script of the same name opens the page through
//! playwright-core and looks. Where no browser can be had it says so and passes.

// What is broken ends the test where it stands.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod browser;
mod built;
mod hostile;
mod long;
mod looks;
mod offline;
mod tasks;
mod use_of_it;
mod world;
