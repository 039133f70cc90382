//! The gateway: a proxy for clients that do not know about bethink. It supports Anthropic's Messages API, OpenAI's chat
//! completions and Responses APIs, and Gemini's `generateContent` method.
//!
//! Finds the session that a request continues and the prompt to send for it ([`GatewayService`]). Also changes parts of
//! a request without touching any other byte, chooses the credential and the headers to forward, streams the answer to
//! the client while reading it, and reports the gateway's own errors in each provider's format. Turns, compactions and
//! forks belong to `bethink-sessions`; connections and keys belong to `bethink-model-http`.

mod anthropic;
mod body;
mod client_identity;
mod compression;
mod conversation;
mod envelope;
mod exchange;
mod fault;
mod gemini;
mod headers;
mod openai;
mod planner;
mod relay;
mod responses;
mod router;
mod upstream;

pub use conversation::GatewayService;
pub use router::{ROUTES, router};
