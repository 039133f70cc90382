//! The HTTP surface of the daemon: who may connect, what a request must look like, and how answers and errors are
//! sent.
//!
//! Owns the listeners, the guard before every route, the limits of bodies and connections, idempotency, problem
//! documents and the OpenAPI document. The services make every decision about sessions and memory: a handler extracts,
//! calls and converts.
//!
//! Reading order: [`serve`] → `accept` → `places` → `connection` → `guard` (`pages`, `gateway_path`) → `router` → `routes` → `problem` →
//! `provider_format`.

mod accept;
mod answer;
mod app;
mod body;
mod change;
mod connection;
mod current_token;
mod daemon_file;
mod failures;
mod gateway_path;
mod guard;
mod idempotency;
mod kept_port;
mod listen;
mod markdown;
mod moved;
mod observe;
mod openapi;
mod pages;
mod path;
mod places;
mod problem;
mod provider_format;
mod query;
mod refusal;
mod router;
mod routes;
mod serve;
mod token;

pub use listen::ListenError;
pub use router::openapi;
pub use serve::{ServeError, serve};
pub use token::TokenError;
