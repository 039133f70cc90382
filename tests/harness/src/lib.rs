//! Helpers for tests against the real daemon.
//!
//! Runs `bethinkd` with its own home. Has a small blocking HTTP/1.1 client, which can also send invalid
//! requests, an independent check of prompts, random histories, the kill loop, and races with other
//! writers of the same files. Knows the public surface only: no bethink crate is a dependency, so that a
//! mistake in one can't be repeated here.
//!
//! Reading order: [`daemon`] → [`http`] → [`events`] → [`say`] → [`prompt`] → [`rng`] → [`history`] →
//! [`writes`] (`marks`) → [`kill_loop`] → [`disk`] → [`wait`], and for memory directories [`swaps`] and [`saves`]
//! (`checkouts`, [`door`]).

// Test code panics where an expectation fails.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used)]

mod checkouts;
pub mod daemon;
pub mod disk;
pub mod door;
pub mod events;
pub mod history;
pub mod http;
pub mod kill_loop;
mod marks;
pub mod prompt;
pub mod rng;
pub mod saves;
pub mod say;
pub mod swaps;
pub mod wait;
pub mod writes;

pub use daemon::{Daemon, Exit, Home};
pub use events::EventStream;
pub use http::{Answer, Client, Request};
pub use rng::Rng;
pub use wait::until;
