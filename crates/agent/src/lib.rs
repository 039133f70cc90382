//! Forked agents: a bounded loop of model and tools over a session's own prefix.
//!
//! Every model call that bethink makes for its own purposes goes through here: a summary is a fork without
//! tools and with one turn. Owns the loop, its budgets, the permission for each call, and retries. The wire
//! format belongs to the model's adapter; waiting, records and prices belong to the [`Host`].

mod calls;
pub mod fork;
pub mod host;
pub mod run;
pub mod tool;

pub use fork::{Budget, Ended, Finished, Fork};
pub use host::{AgentStep, Host, Waited};
pub use run::run;
pub use tool::{Denial, Done, Permit, Tool, ToolCall};
