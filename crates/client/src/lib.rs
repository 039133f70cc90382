//! A client of the daemon: finds, starts and stops it, and sends requests.
//!
//! Owns the HTTP transport, the typed routes, and the reading of problems and event streams. The wire types are in
//! `bethink-api`. Uses no engine, store or terminal; the environment is passed as a lookup function.
//!
//! Reading order: [`places`] → [`client`] → [`routes`] → [`notes`] → [`memories`] → [`mcp`] → [`error`] → [`events`] →
//! [`start`] → [`stop`], and [`quick`] for hooks.

pub mod client;
pub mod error;
pub mod events;
pub mod mcp;
pub mod memories;
pub mod notes;
pub mod places;
pub mod quick;
pub mod routes;
pub mod start;
pub mod stop;

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
