//! Forked agents: a bounded loop of model and tools over a session's own prefix.
//!
//! Everything in the house that asks a model asks it here: a summary is a fork without tools and with
//! one turn. Owns the loop, its budgets, who may call what, and which changed request follows an error.
//! Leaves the wire to the model's adapter, and waiting, records and money to the [`Host`].

mod calls;
pub mod fork;
pub mod host;
pub mod run;
pub mod tool;

pub use fork::{Budget, Ended, Finished, Fork};
pub use host::{AgentStep, Host, Waited};
pub use run::run;
pub use tool::{Denial, Done, Permit, Tool, ToolCall};
