//! Models over HTTP: Anthropic's Messages API, and the chat completions that OpenAI and many local servers
//! speak.
//!
//! Owns both wire formats, the decoder of event streams, keys and to which origin each may go, what an
//! address may be, and the time and bytes that one answer may take. Leaves to others whether a call is
//! made, repeated, paid or recorded. A call is sent once.
//!
//! Beside calls of our own it passes on those of other clients ([`Forwarder`]), under the same rules of where a
//! request may go, and reads the answers that pass by ([`Tee`]).

mod answer;
mod anthropic;
pub mod base;
mod call;
mod clean;
mod command;
mod connect;
mod dialect;
pub mod endpoint;
mod forward;
mod head;
mod incoming;
pub mod key;
pub mod limits;
mod open;
mod openai;
mod provider;
mod resolve;
mod tee;
mod trouble;
mod usage;

pub use answer::input as tool_input;
pub use base::Base;
pub use dialect::Begun;
pub use endpoint::Endpoint;
pub use forward::{Forwarder, Letter, Passing};
pub use key::KeySource;
pub use limits::HttpLimits;
pub use open::open;
pub use openai::chat_messages;
pub use provider::{EndpointError, Provider};
pub use tee::{Overheard, Tee};
pub use trouble::read_error;
