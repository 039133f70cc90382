//! Calls models over HTTP: Anthropic's Messages API, and the chat completions API of OpenAI and many local servers.
//!
//! Owns both wire formats, the keys and the origin that each key may be sent to, the rules for addresses, and the
//! limits of time and size for an answer. Each call is sent once; retries, budgets and records belong to the caller.
//!
//! It also forwards the calls of other clients ([`Forwarder`]) with the same rules for addresses, and reads their
//! answers ([`Tee`]), including those of OpenAI's Responses API ([`responses`]) and of Gemini ([`gemini`]).

mod answer;
mod anthropic;
pub mod base;
mod block;
mod call;
mod clean;
mod connect;
mod dialect;
pub mod endpoint;
mod forward;
pub mod gemini;
mod head;
mod incoming;
pub mod key;
pub mod limits;
mod open;
mod openai;
mod provider;
mod resolve;
pub mod responses;
mod tee;
mod trouble;
mod usage;

pub use answer::{image_block, input as tool_input};
pub use base::Base;
pub use dialect::PartialReply;
pub use endpoint::Endpoint;
pub use forward::{Forwarder, OutgoingRequest, ResponseStream};
pub use key::KeySource;
pub use limits::HttpLimits;
pub use open::{open, open_for_client};
pub use openai::chat_messages;
pub use provider::{EndpointError, Provider, WireFormat};
pub use tee::{ReadAnswer, Tee};
pub use trouble::read_error;
