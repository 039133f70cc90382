//! The context pipeline: how a history becomes the prompt that fits.
//!
//! `view(history, decisions, options)` is the heart: pure, deterministic, and the same for the same
//! inputs to the byte. Stages decide (budget, snip, microcompact, collapse); what they decided is a
//! [`Decision`], frozen once a prompt that used it was handed out. Nothing here knows a clock, a
//! disk or a network; times and settings arrive as arguments, decisions leave as values.
//!
//! Leaves to others: making summaries (`bethink-compactor`), keeping things (`bethink-store`), and
//! acting (`bethink-daemon`).
//!
//! Reading order: [`thresholds`] → [`history`] → [`decision`] → stages ([`budget`], [`snip`],
//! [`microcompact`], [`collapse`]) → [`view`] → [`thinking`] → [`usage`] → [`measure`] → [`cache`] →
//! [`assemble`] → [`todos`].

pub mod assemble;
pub mod budget;
pub mod cache;
pub mod collapse;
pub mod decision;
pub mod history;
pub mod measure;
pub mod microcompact;
pub mod placeholder;
pub mod snip;
pub mod stage;
pub mod thinking;
pub mod thresholds;
pub mod todos;
pub mod usage;
pub mod view;

pub use assemble::{Body, SystemBlock, UnknownPart, assemble, order_system, system_json};
pub use collapse::{Collapsed, in_view};
pub use decision::{Attachment, Boundary, Decision, Decisions, INSTRUCTIONS, Stripped};
pub use history::{Call, Entry, History};
pub use measure::{Measure, Shape, TokenSource, measure};
pub use placeholder::Hints;
pub use stage::StageReport;
pub use thresholds::{Level, Thresholds, WindowTooSmall};
pub use usage::Learner;
pub use view::{View, ViewOptions, view};
