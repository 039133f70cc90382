//! Hooks of coding agents: what an event of a client's session means here.
//!
//! Most events mean that the client's transcript has grown. It is read on from where it was left and stored like any
//! append, so that notes, extraction, recall and the index follow by themselves. Two events are answered: a session's
//! start with what the project remembers, a prompt with the memories that fit it. Nothing is ever blocked or
//! refused to the person at work.
//!
//! An event counts once, by its id. One that is not finished soon is put into the spool before it is answered, so
//! that a daemon that is killed takes it up again at its start, with those that hooks left there while none ran.
//! Leaves the words of the events to `hook-events`, and what a session, notes and memories are to their services.
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
