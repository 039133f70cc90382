//! The daemon as an MCP server: its memory and history as tools, resources and prompts for any client.
//!
//! This crate has the `/mcp` endpoint (streamable HTTP, without sessions), the descriptions that a client sees, and the format
//! of untrusted text for a model. The services make every decision, the server's guard checks who may connect, and the command
//! line forwards each line of stdio to this endpoint. No other crate uses `rmcp`.
//!
//! A client has few rights: it can make proposals to the team but cannot approve them, and it cannot change settings or
//! delete history.
//!
//! Reading order: [`endpoint`] → `jsonrpc` → `server` → `client` → `tools` → `resources` → `prompts` → `untrusted` →
//! `refused`.

mod client;
pub mod endpoint;
mod jsonrpc;
mod prompts;
mod refused;
mod resources;
mod server;
mod tools;
mod untrusted;
mod uri;

pub use endpoint::{ROUTES, router};

/// Maximum size of a message, in bytes. This is enough for the largest memory, even if every character is escaped and takes six
/// bytes.
pub(crate) const MESSAGE_BYTES: usize = 7 << 20;
/// Maximum size of the messages in one answer from `expand`, in bytes. Clients warn about more than 10,000 tokens.
pub(crate) const EXPANDED_BYTES: usize = 24_000;
/// Maximum size of one of these messages, in bytes, so that several fit.
pub(crate) const EXPANDED_MESSAGE_BYTES: usize = 6_000;
/// Default number of messages in an answer from `expand`.
pub(crate) const EXPANDED_MESSAGES: u64 = 20;
/// Maximum size of the notes in an answer, in bytes. The notes that the daemon writes are less than half that size.
pub(crate) const NOTES_BYTES: usize = 100_000;
/// Default number of hits that a search returns.
pub(crate) const HITS: u64 = 10;
/// Number of resources per page of a list.
pub(crate) const RESOURCES: usize = 100;
/// Number of sessions that an error suggests.
pub(crate) const NAMED_SESSIONS: usize = 3;
