//! Handles the conversations of clients that send their whole history with each request: finds the session that a request
//! belongs to, determines which messages are new, and decides which prompt to send. The modules of the wire formats read and
//! write the requests.
//!
//! If a crash loses messages, the client's next request contains them again. A request that certainly fits is therefore
//! forwarded at once, and its new messages are stored in the background, in order (`queue`, `store`). Only a request
//! whose prompt is made from decisions waits for the disk.

mod answer;
mod answer_links;
mod begin;
mod cache;
mod chain;
mod find;
mod frame;
mod parts;
mod prepare;
mod queue;
mod read_request;
mod request;
mod sent;
mod service;
mod store;
#[cfg(test)]
mod tests;
mod ticket;
mod turn;
mod window;
mod working_dir;

pub(crate) use frame::RequestFrame;
pub(crate) use request::{
    AnswerOutcome, BlockSource, ChainedHistory, ClientKey, GatewayRequest, PromptPart,
    ProviderResponse, UpstreamPrompt, WrittenBlock, WrittenMessage,
};
pub use service::GatewayService;
pub(crate) use ticket::{AnswerTicket, PreparedPrompt};
