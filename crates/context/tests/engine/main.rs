//! The context pipeline, from outside: small histories, what the stages decide, what a model reads.

// A test that can't go on stops.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod budget;
mod cache;
mod collapse;
mod collapse_stage;
mod histories;
mod microcompact;
mod prefix;
mod stripped;
mod turn;
mod usage;
mod view;
