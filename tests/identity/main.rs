//! Who gets the token and the prompts: the home's own daemon, and no other program that listens at its address.

#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used)]

mod person;
mod port;
mod rotation;
mod scopes;
mod stranger;
mod strangers;
