//! The port through which the daemon asks a model, and what it makes of the answer.
//!
//! Owns the request (a valid prompt with its frame, as exact bytes), the reply, the classes of errors with
//! their figures, and which changed request, if any, follows an error. Leaves the wire formats, keys and
//! time limits to an adapter, and waiting, budgets and records to whoever calls. Pure.

pub mod classify;
pub mod error;
pub mod port;
pub mod price;
pub mod recovery;
pub mod reply;
pub mod request;
pub mod shrink;

pub use classify::{ProviderMessage, classify};
pub use error::{ErrorClass, Figures, ModelError, Retry};
pub use port::{Answer, Counted, Model};
pub use price::{Price, Prices};
pub use recovery::{Next, Recovery};
pub use reply::{Reply, Stop};
pub use request::ModelRequest;

#[cfg(test)]
mod tests {
    pub(crate) mod fixtures;
}
