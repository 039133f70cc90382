//! The formats that coding agents' hooks use: the events of a client's session, and the answers to them.
//!
//! Defines the names of events in every client's spelling, the parsing of their JSON, the format of answers, the deadlines, and
//! the file format of undelivered events. The daemon decides what an event means, `spool` writes the files, and `client` sends
//! the requests.
//!
//! A hook never gets in the user's way: no answer blocks, denies or asks.
//!
//! Reading order: [`event`] → [`client`] → [`input`] → [`answer`] → [`delivery`].

pub mod answer;
pub mod client;
pub mod delivery;
pub mod event;
pub mod input;

pub use answer::{HookAnswer, MAX_CONTEXT_CHARS};
pub use client::HookClient;
pub use delivery::Delivery;
pub use event::HookEvent;
pub use input::{HookInput, HookInputError};
