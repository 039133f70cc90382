//! The daemon and its API as other people's programs meet them: the official SDKs through the gateway, a tester of
//! schemas over every operation, checkers and generators for the OpenAPI document, and our own clients.

// What is broken ends the test where it stands.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod agents;
mod openapi;
mod schema;
mod sdks;
