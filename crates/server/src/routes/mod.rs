//! The routes, with one file per resource. A handler extracts its arguments, calls the daemon and converts the result.

pub(crate) mod access;
pub(crate) mod agents;
pub(crate) mod candidates;
pub(crate) mod compactions;
pub(crate) mod context;
pub(crate) mod dashboard;
pub(crate) mod events;
pub(crate) mod files;
pub(crate) mod hooks;
pub(crate) mod instructions;
pub(crate) mod jobs;
pub(crate) mod memories;
pub(crate) mod memory_work;
pub(crate) mod messages;
pub(crate) mod notes;
pub(crate) mod recording;
pub(crate) mod search;
pub(crate) mod sessions;
pub(crate) mod state;
pub(crate) mod system;
pub(crate) mod team;
pub(crate) mod team_history;
pub(crate) mod usage;
