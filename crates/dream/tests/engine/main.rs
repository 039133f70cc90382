//! Tests the engine through its public interface: directories in, plans out.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

mod careful;
mod model;
mod phases;
mod random;
mod support;
