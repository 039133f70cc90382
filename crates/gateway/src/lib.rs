//! The gateway: a proxy for clients that know nothing of bethink, over Anthropic's Messages API and OpenAI's chat
//! completions.
//!
//! Owns which session a client's request continues and what goes up in its place ([`GatewayService`]); how a request is
//! read and changed without touching another byte of it, whose credential goes up, which headers pass, how an answer
//! streams through and is read on the side, and how the gateway's own errors look to a client of each provider. Leaves
//! turns, compactions and forks to `bethink-sessions`, and to `bethink-model-http` which bytes may go where.

mod anthropic;
mod asker;
mod body;
mod conversation;
mod envelope;
mod exchange;
mod fault;
mod headers;
mod openai;
mod planner;
mod relay;
mod router;
mod upstream;

pub use conversation::GatewayService;
pub use router::{ROUTES, router};
