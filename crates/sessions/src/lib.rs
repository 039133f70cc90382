//! Sessions: history, turns, compactions, forks, undo.
//!
//! Owns the sessions in memory, what their prompts decided, and the order in which things become durable. The turn
//! itself is pure and lives in `context`; this crate gathers what it needs, keeps what it decided, and hands the prompt
//! out. Services that take part do so through the ports of [`service`]: [`Contributor`] and [`SessionEvent`]; nothing
//! here knows any of them.
//!
//! Reading order: [`service`] → [`request`] → [`loaded`] → [`handle`] → [`load`] → [`catalog`] → [`messages`] →
//! [`turn`] → [`collapse`] → [`compactions`] → [`record`] → [`recover`] → [`facts`] → [`forks`] → [`events`].

mod cache;
mod catalog;
mod collapse;
mod compactions;
mod count;
mod decisions;
mod events;
mod facts;
mod forks;
mod handle;
mod kept_state;
mod limits;
mod load;
mod loaded;
mod messages;
mod prefix;
mod record;
mod recover;
mod request;
mod service;
#[cfg(test)]
mod tests;
mod turn;

pub use catalog::{model_of, sidechain_session};
pub use collapse::CollapseJob;
pub use events::SessionEvents;
pub use forks::ForkCheckJob;
pub use handle::{FactsGuard, SessionFeature, SessionGuard, SessionHandle};

pub use loaded::LoadedSession;
pub use prefix::{SentRequest, SessionPrefix};
pub use request::{ClientParts, Inject, Moment, PromptRequest, RecallQuery};
pub use service::{Contributed, Contribution, Contributor, Listener, SessionEvent, SessionService};
pub use turn::{ReadyPrompt, TurnRequest, sent_request};
