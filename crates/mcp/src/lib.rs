//! The daemon as an MCP server: its memory and history as tools, resources and prompts of any client.
//!
//! Owns the endpoint `/mcp` (streamable HTTP, without sessions), what a client sees, and how texts that others wrote are
//! shown to a model. The services make every decision, the server's guard checks who may connect, and the command line
//! forwards each line of stdio to this endpoint. The only crate that uses `rmcp`.
//!
//! A client has few rights here: it can propose to the team but not approve, and it cannot change settings or delete
//! history.
//!
//! Reading order: [`endpoint`] → `manners` → `server` → `desk` → `tools` → `resources` → `prompts` → `told` → `refused`.

mod desk;
pub mod endpoint;
mod manners;
mod prompts;
mod refused;
mod resources;
mod server;
mod told;
mod tools;
mod uri;

pub use endpoint::{ROUTES, router};

/// Bytes of one message: the longest memory with every character escaped in six.
pub(crate) const MESSAGE_BYTES: usize = 7 << 20;
/// Bytes of messages that one `expand` shows. Clients warn of answers over ten thousand tokens.
pub(crate) const EXPANDED_BYTES: usize = 24_000;
/// Bytes of one message in it, so that several fit.
pub(crate) const EXPANDED_MESSAGE_BYTES: usize = 6_000;
/// Messages of one `expand`, unless fewer are asked for.
pub(crate) const EXPANDED_MESSAGES: u64 = 20;
/// Maximum bytes of notes in one answer; the daemon keeps its own notes below half of it.
pub(crate) const NOTES_BYTES: usize = 100_000;
/// Hits of one search, unless fewer are asked for.
pub(crate) const HITS: u64 = 10;
/// Resources of one page of a list.
pub(crate) const RESOURCES: usize = 100;
/// How many sessions an error lists to choose from.
pub(crate) const NAMED_SESSIONS: usize = 3;
