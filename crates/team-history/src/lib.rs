//! History that a person shares with their team: decides which sessions are shared, copies them to the team's tables, by default without the secrets that bethink finds, and shows what the team shares.
//!
//! Prompts are made from the original messages, which no colleague can read. The copy has only what a person would read:
//! no thinking and no images, and by default no secrets that bethink finds (see [`form`]). It lags behind by a few seconds (see [`copy`]). The database decides who
//! may read it. Searches are in `search`.
//!
//! Reading order: [`service`] → [`sharing`] → [`copy`] → [`form`] → [`shown`].

mod copy;
mod form;
mod service;
mod sharing;
mod shown;

pub use service::TeamHistoryService;
