//! Models over HTTP: Anthropic's Messages API, and the chat completions that OpenAI and many local servers
//! speak.
//!
//! Owns both wire formats, the decoder of event streams, keys and to which origin each may go, what an
//! address may be, and the time and bytes that one answer may take. Leaves to others whether a call is
//! made, repeated, paid or recorded. A call is sent once.
//!
//! Reading order: [`endpoint`] → [`base`] → [`key`] → `line` → `anthropic`, `openai`.

mod answer;
mod anthropic;
pub mod base;
mod call;
mod clean;
mod command;
pub mod endpoint;
mod head;
pub mod key;
pub mod limits;
mod line;
mod openai;
mod resolve;
mod trouble;
mod usage;

pub use base::Base;
pub use endpoint::{Endpoint, EndpointError, Provider, open};
pub use key::KeySource;
pub use limits::Limits;
pub use trouble::read_error;
