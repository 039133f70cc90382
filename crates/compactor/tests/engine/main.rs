//! Tests of the compactor through its public interface: whole compactions of small and of hostile histories.

// Test code panics where an expectation fails.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod fidelity;
mod floor;
mod full;
mod lookups;
mod notes;
mod span;
mod story;
mod suite;
mod support;
