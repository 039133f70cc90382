//! Tests the daemon with other programs: the official SDKs through the gateway, schemathesis for every operation of the
//! API, validators and generators for the OpenAPI document, and the clients in `deploy/clients`.

// A failed operation ends the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod agents;
mod openapi;
mod schema;
mod sdks;
mod typescript;
