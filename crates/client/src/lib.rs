//! The daemon as its clients see it: where it is, how to start and stop it, what to ask of it.
//!
//! Owns the HTTP transport, the typed routes, the reading of problems and of streams of events.
//! Leaves the meaning of an answer to the caller, and the wire types to `bethink-api`. Knows no
//! engine, no store, no terminal; the environment arrives as a lookup function.
//!
//! Reading order: [`places`] → [`client`] → [`routes`] → [`notes`] → [`memories`] → [`mcp`] → [`error`] → [`events`] →
//! [`start`] → [`stop`], and [`quick`] for who has no time.

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
