//! The compactor, from outside: whole compactions of small and of hostile histories.

// A test that can't go on stops.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod fidelity;
mod floor;
mod full;
mod notes;
mod span;
mod story;
mod suite;
mod support;
