//! Models over HTTP: Anthropic's Messages API, and the chat completions API of OpenAI and many local servers.
//!
//! Owns both wire formats, keys and the origin each may be sent to, which addresses are allowed, and the limits
//! of time and bytes for one answer. Whether a call is made, retried, paid for or recorded is decided elsewhere.
//! Each call is sent once.
//!
//! Besides our own calls it forwards those of other clients ([`Forwarder`]), with the same rules for addresses,
//! and reads their answers ([`Tee`]).

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
