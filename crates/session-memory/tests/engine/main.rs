//! The engine as a whole: notes of whole sessions, and files that people work in.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod hands;
mod merging;
mod model;
mod notes;
mod suite;
mod support;
