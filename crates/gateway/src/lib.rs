//! The gateway's wires: Anthropic's Messages API and OpenAI's chat completions, for clients that know nothing of
//! bethink.
//!
//! Owns how a request of a client is read and changed without touching another byte of it, whose credential goes up,
//! which headers pass, how an answer streams through and is read on the side, and how the gateway's own errors look
//! to a client of each provider. Leaves to `bethink-daemon` which session a request belongs to, what is kept and what
//! goes up ([`Memory`]), and to `bethink-model-http` which bytes may go where.
//!
//! Reading order: [`router`] → `exchange` → `asker` → `envelope` (`anthropic`, `openai`) → `headers`, `upstream` →
//! `relay` → `fault`.

mod anthropic;
mod asker;
mod body;
mod envelope;
mod exchange;
mod fault;
mod headers;
mod limits;
mod memory;
mod openai;
mod relay;
mod router;
mod upstream;
mod wire;

pub use memory::{Memory, Plan};
pub use router::{ROUTES, router};
