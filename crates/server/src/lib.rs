//! The HTTP surface of the daemon: who may come in, what a request must look like, and how an
//! answer or a refusal is put into HTTP.
//!
//! Owns the listeners, the guard before every route, limits of bodies and connections, idempotency
//! of mutations, problem documents and the OpenAPI description. Leaves every decision about
//! sessions to `bethink-daemon`: a handler extracts, calls and converts.
//!
//! Reading order: [`serve`] → `accept` → `connection` → `guard` (`pages`) → `router` (`entrance`) → `routes` → `problem`.

mod accept;
mod answer;
mod app;
mod body;
mod connection;
mod daemon_file;
mod entrance;
mod failures;
mod guard;
mod idempotency;
mod listen;
mod observe;
mod openapi;
mod pages;
mod params;
mod problem;
mod router;
mod routes;
mod serve;
mod token;

pub use entrance::Entrance;
pub use listen::ListenError;
pub use serve::{ServeError, serve};
pub use token::TokenError;
