//! A scripted model server, which can fail in every way that a real one can.
//!
//! Serves the Messages API, chat completions, the Responses API and Gemini's `generateContent` on a free port. Its answers are made from the
//! request: a summary of the session, edits of the notes, a choice of memories, or a short text. A [`Script`]
//! defines which requests fail and how; [`Fault::ALL`] lists the faults. The server checks every prompt by its own
//! rules, and keeps the newest requests for tests. It uses none of bethink's engines, so that it does not
//! repeat their mistakes.
//!
//! Reading order: [`fault`] → [`script`] → [`ask`] → [`check`] → [`answer`] (with `summary`, `notes`, `recall`) →
//! [`refusal`] → `anthropic`, `openai`, `responses`, `gemini` → `http`, `deliver` → `state`, `admin` → [`server`].

mod admin;
pub mod answer;
mod anthropic;
pub mod ask;
mod bomb;
pub mod check;
mod deliver;
pub mod fault;
mod gemini;
mod http;
mod notes;
mod openai;
mod payload;
mod recall;
pub mod refusal;
mod responses;
pub mod script;
pub mod server;
mod state;
mod summary;

pub use ask::{Purpose, Wire};
pub use fault::{Fault, Kind};
pub use script::{Plan, Recording, Script, Split, ToolCall};
pub use server::{Deaf, Server};
pub use state::{Counts, Seen};
