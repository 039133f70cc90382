//! The port through which the daemon calls a model.
//!
//! Owns the request (a valid prompt, its system prompt and its tools, as exact bytes), the reply, the error classes with their
//! figures, and the decision on which request follows an error. Wire formats, keys and timeouts belong to an adapter; waiting,
//! budgets and records belong to the caller. Performs no I/O.

pub mod classify;
pub mod client_form;
pub mod error;
pub mod port;
pub mod price;
pub mod recovery;
pub mod reply;
pub mod request;
pub mod shrink;

pub use classify::{ProviderMessage, classify};
pub use client_form::{ClientForm, ClientMessage};
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
