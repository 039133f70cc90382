//! The HTTP surface of the daemon: who may come in, what a request must look like, and how an
//! answer or a refusal is put into HTTP.
//!
//! Owns the listeners, the guard before every route, limits of bodies and connections, idempotency
//! of mutations, problem documents and the OpenAPI description. Leaves every decision about
//! sessions and memory to the services: a handler extracts, calls and converts.
//!
//! Reading order: [`serve`] → `accept` → `connection` → `guard` (`pages`) → `router` → `routes` → `problem`.

mod accept;
mod answer;
mod app;
mod body;
mod change;
mod connection;
mod daemon_file;
mod failures;
mod guard;
mod idempotency;
mod listen;
mod markdown;
mod observe;
mod openapi;
mod pages;
mod path;
mod problem;
mod query;
mod router;
mod routes;
mod serve;
mod token;

pub use listen::ListenError;
pub use router::openapi;
pub use serve::{ServeError, serve};
pub use token::TokenError;
