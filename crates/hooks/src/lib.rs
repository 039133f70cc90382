//! Handles the hooks of coding agents: the events of a client's sessions.
//!
//! Most events mean that the client's transcript has grown. The new lines are read and stored like any other append, which also
//! updates notes, memories and the index. Two events get an answer: the start of a session gets the project's memory index and
//! a line for the user, and a prompt gets relevant memories. No answer blocks or denies anything.
//!
//! The service also lists the agents of the user, and says which of them have our hooks.
//!
//! Each event has an ID, so that it is handled only once. An event that takes a long time to handle is put into the spool
//! before it is answered, so that the next daemon handles it after a crash, together with events that hooks spooled while no
//! daemon was running. The format of events is in `hook-events`.
//!
//! Reading order: [`service`] → [`take`] → [`spooled`] → [`session`] → [`transcript`] (one file) → [`ready`] → [`follow`]
//! → [`words`] and [`greeting`] (answers) → [`agents`].

mod agents;
mod follow;
mod greeting;
mod ready;
mod service;
mod session;
mod spooled;
mod take;
mod transcript;
mod words;

pub use service::HookService;
