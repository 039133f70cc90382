//! A model's server that answers well, and fails in every way that a real one can.
//!
//! Speaks the Messages API and chat completions on a free port. What it answers is made from the
//! request: a summary of the session that it was given, edits of the notes that it was given, a choice among
//! memories, or a short
//! text. A [`Script`] says which requests fail how; [`Fault::ALL`] are the ways. It judges every prompt
//! by rules of its own and keeps the last requests to look at. Knows the wire only: none of the house's
//! engines is a dependency, so that a mistake in them can't be repeated here.
//!
//! Reading order: [`fault`] → [`script`] → [`ask`] → [`check`] → [`answer`] (with `summary`, `notes`, `recall`) →
//! [`refusal`] → `anthropic`, `openai` → `http`, `deliver` → `state`, `admin` → [`server`].

mod admin;
pub mod answer;
mod anthropic;
pub mod ask;
mod bomb;
pub mod check;
mod deliver;
pub mod fault;
mod http;
mod notes;
mod openai;
mod payload;
mod recall;
pub mod refusal;
pub mod script;
pub mod server;
mod state;
mod summary;

pub use ask::{Purpose, Wire};
pub use fault::{Fault, Kind};
pub use script::{Plan, Recording, Script, Split};
pub use server::{Deaf, Server};
pub use state::{Counts, Seen};
