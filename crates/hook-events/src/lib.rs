//! Hooks of coding agents, as text: what a client tells when something happens in a session of its own, and what
//! it may be answered.
//!
//! Owns the names of the events in every client's spelling, the reading of their JSON, the shape of the answers,
//! how long each may take, and the form in which one is kept that could not be delivered. Leaves to others what
//! an event means (the daemon), where files lie (`spool`) and who asks whom (`client`).
//!
//! One rule stands above all: a hook never stands in a person's way. There is no answer in here that blocks,
//! denies or asks.
//!
//! Reading order: [`event`] → [`client`] → [`input`] → [`answer`] → [`delivery`].

pub mod answer;
pub mod client;
pub mod delivery;
pub mod event;
pub mod input;

pub use answer::{HookAnswer, MOST_CONTEXT_CHARS};
pub use client::HookClient;
pub use delivery::Delivery;
pub use event::HookEvent;
pub use input::{HookInput, HookInputError};
