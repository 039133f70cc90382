//! `bethink store` with the real programs: history that moves to PostgreSQL and back, killed copies, and `pg_dump`.

// A test that can't go on stops.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod killed;
mod moved;
mod old_home;
mod program;
mod world;
