//! The memory side of the gateway: clients that have no memory of their own resend their whole history with
//! each request. Which session that is, what of it is new, and what goes up instead is decided here; the wires
//! read and write the requests.
//!
//! A client that resends everything acknowledges nothing: what is lost in a crash comes again with its next
//! request. So a request that surely fits goes up at once, and what is new of it is stored in the background, in
//! order (`queue`, `store`). Only a prompt that is made from decisions waits for the disk.

mod answer;
mod begin;
mod cache;
mod find;
mod parts;
mod prepare;
mod queue;
mod read_request;
mod request;
mod service;
mod store;
#[cfg(test)]
mod tests;
mod ticket;
mod turn;
mod window;
mod working_dir;

pub(crate) use request::{
    AnswerOutcome, ClientKey, GatewayRequest, PromptPart, ProviderResponse, UpstreamPrompt,
};
pub use service::GatewayService;
pub(crate) use ticket::{AnswerTicket, PreparedPrompt};
