//! Hooks of coding agents: handles the events of a client's sessions.
//!
//! Most events mean that the client's transcript has grown. New lines are read and stored like any append, so notes,
//! extraction, recall and the index follow by themselves. Two events get an answer: the start of a session gets the
//! project's memory index, a prompt gets relevant memories. Hooks never block or refuse anything.
//!
//! An event counts once, by its id. An event that is not finished soon is put into the spool before it is answered,
//! so that after a crash the daemon finds it at its next start, together with events that hooks left while no daemon
//! was running. Leaves the format of the events to `hook-events`, and sessions, notes and memories to their services.
//!
//! Reading order: [`service`] → [`take`] → [`spooled`] → [`session`] → [`transcript`] (a file, read on) → [`ready`] →
//! [`follow`] → [`words`] (answers).

mod follow;
mod ready;
mod service;
mod session;
mod spooled;
mod take;
mod transcript;
mod words;

pub use service::HookService;
