//! Tests of the whole engine: notes of whole sessions, and files that people edit.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod hands;
mod merging;
mod model;
mod notes;
mod suite;
mod support;
