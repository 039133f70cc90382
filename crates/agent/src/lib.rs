//! Forked agents: a bounded loop of model calls and tool calls that begins with a session's own prompt.
//!
//! Every model call that bethink makes for its own purposes uses this crate: a summary is a fork without tools and with one
//! turn. The crate contains the loop, its budgets, the permission for each call, and retries. The model's adapter handles the
//! wire format; the [`Host`] handles waiting, records and prices.

mod calls;
pub mod fork;
pub mod host;
pub mod run;
pub mod tool;

pub use fork::{Budget, Ended, Finished, Fork};
pub use host::{AgentStep, Host, Waited};
pub use run::run;
pub use tool::{Denial, Done, Permit, Tool, ToolCall};
