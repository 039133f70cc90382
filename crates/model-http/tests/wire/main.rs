//! Tests the adapters with servers on a real socket.

#![allow(clippy::unwrap_used)]

mod canned;
mod failures;
mod formats;
mod secrets;
