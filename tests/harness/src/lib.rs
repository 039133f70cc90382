//! What the suites against the real daemon share.
//!
//! Owns the running `bethinkd` in a home of its own, a small blocking HTTP/1.1 client that can also
//! send what no decent client would, a second opinion on what a valid prompt is, histories made from
//! a seed, the kill loop, and people who swap and save files under a daemon's hands. Knows the public surface only: none of the house's crates is a
//! dependency, so that a mistake in them can't be repeated here.
//!
//! Reading order: [`daemon`] → [`http`] → [`events`] → [`say`] → [`prompt`] → [`rng`] → [`history`] →
//! [`kill_loop`] → [`disk`] → [`wait`], and for directories of memory [`swaps`] and [`saves`]
//! (`checkouts`, [`door`]).

// A harness is test code: a broken expectation ends the test where it stands.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used)]

mod checkouts;
pub mod daemon;
pub mod disk;
pub mod door;
pub mod events;
pub mod history;
pub mod http;
pub mod kill_loop;
pub mod prompt;
pub mod rng;
pub mod saves;
pub mod say;
pub mod swaps;
pub mod wait;

pub use daemon::{Daemon, Exit, Home};
pub use events::EventStream;
pub use http::{Answer, Client, Request};
pub use rng::Rng;
pub use wait::until;
