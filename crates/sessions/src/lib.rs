//! Sessions: history, turns, compactions, forks, undo.
//!
//! Owns the sessions in memory, the decisions of their prompts, and the order in which things become durable. The turn
//! itself is pure and is in `context`; this crate gathers its inputs, stores its decisions, and hands out the prompt.
//! Other services take part through the ports of [`service`], [`Contributor`] and [`SessionEvent`]; this crate does not
//! know them.
//!
//! Reading order: [`service`] → [`request`] → [`loaded`] → [`handle`] → [`load`] → [`locations`] → [`catalog`] → [`messages`] →
//! [`turn`] → [`collapse`] → [`compactions`] → [`record`] → [`recover`] → [`facts`] → [`forks`] → [`children`] → [`events`].

mod cache;
mod carry;
mod catalog;
mod children;
mod collapse;
mod compactions;
mod count;
mod decisions;
mod events;
mod facts;
mod forks;
mod hand_over;
mod handle;
mod kept_state;
mod last_prompt;
mod limits;
mod load;
mod loaded;
mod locations;
mod messages;
mod note_sent;
mod outline;
mod prefix;
mod record;
mod recover;
mod refill;
mod remembered;
mod request;
mod sent;
mod service;
#[cfg(test)]
mod tests;
mod text;
mod turn;

pub use carry::CarriedView;
pub use catalog::{id_for, model_of, sidechain_session};
pub use collapse::CollapseJob;
pub use events::SessionEvents;
pub use forks::ForkCheckJob;
pub use handle::{FactsGuard, SessionFeature, SessionGuard, SessionHandle};

pub use loaded::LoadedSession;
pub use messages::stored_out;
pub use prefix::SessionPrefix;
pub use record::restored_texts;
pub use request::{ClientParts, Inject, Moment, PromptRequest, RecallQuery};
pub use sent::{SentFrame, SentMark, SentRequest};
pub use service::{Contributed, Contribution, Contributor, Listener, SessionEvent, SessionService};
pub use turn::{ReadyPrompt, TurnRequest};
