//! Tests of the context pipeline through its public interface: histories, the decisions of the stages, and
//! prompts.

// Test code panics where an expectation fails.
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
