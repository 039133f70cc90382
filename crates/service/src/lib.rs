//! Gives every service its settings, the clock, the store, the event hub, and the job queue.
//!
//! A service owns its state, its jobs and its tables, and acts through a [`ServiceContext`]. This crate does not know the
//! services: each kind of job has a registered [`JobHandler`], and events are the closed set [`Event`].
//!
//! Reading order: [`context`] → [`error`] → [`event`] → [`hub`] → [`jobs`] → [`runner`] → [`background`] → [`storage`] → [`private_file`] →
//! [`recording`].

mod background;
mod clock;
mod context;
mod continue_on_drop;
mod error;
mod event;
mod hub;
mod jobs;
mod json_error;
mod locked;
mod page;
pub mod private_file;
mod recording;
mod runner;
mod storage;
mod stored;

pub use background::{at_low_priority, blocking, blocking_on_disk};
pub use bethink_store::Receipt;
pub use clock::{Clock, SystemClock, parse_rfc3339, rfc3339};
pub use context::ServiceContext;
pub use continue_on_drop::ContinueOnDrop;
pub use error::{ErrorKind, Result, ServiceError, if_found, key_reused};
pub use event::{Event, ForgetEventOutcome, ModelStep, RecalledTopic};
pub use hub::{AllEvents, EventHub, SessionSubscription, StreamEvent};
pub use jobs::{JobQueue, job_payload, job_session, new_job_id};
pub use locked::locked;
pub use page::{MAX_PAGE, page_limit};
pub use recording::{RecordingRules, Unrecorded};
pub use runner::{JobHandler, JobOutput, JobRunner, JobStart};
pub use storage::{StorageNews, is_disk_fault};
pub use stored::{READ_BATCH, next_batch, parse_stored};
