//! A client of the daemon: finds, starts and stops it, and sends requests.
//!
//! This crate contains the HTTP transport and the typed routes, and reads problems and event streams. The wire types are in
//! `bethink-api`. It uses no engine, store or terminal; the environment is passed as a lookup function.
//!
//! A request goes through the home's socket. Without one, or if `BETHINK_URL` is set, it goes over TCP, to a program that has
//! proved to be the daemon.
//!
//! Reading order: [`places`] → [`proof`] → [`client`] → [`routes`] → [`notes`] → [`memories`] → [`mcp`] → [`error`] → [`events`] →
//! [`start`] → [`stop`], and [`quick`] for hooks.

mod address;
pub mod client;
pub mod error;
pub mod events;
pub mod exchange;
pub mod mcp;
pub mod memories;
pub mod notes;
pub mod places;
pub mod proof;
mod proven;
pub mod quick;
pub mod routes;
pub mod start;
pub mod stop;
mod team_history;

pub use bethink_api::{MessageQuery, SearchQuery, SessionQuery, UsageQuery};
pub use bethink_sse::SseEvent;
pub use client::Client;
pub use error::{ClientError, StartError};
pub use events::EventSubscription;
pub use mcp::{McpAnswer, McpFailure, McpOrigin, McpStream};
pub use notes::NotesText;
pub use places::DaemonPlaces;
pub use routes::{Bytes, Context};
pub use start::{Environment, Started, Starter};
pub use stop::StopError;
