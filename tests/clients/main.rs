//! The daemon as other people's programs meet it: the official SDKs through the gateway, and a tester of
//! schemas over every operation.

// What is broken ends the test where it stands.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod schema;
mod sdks;
