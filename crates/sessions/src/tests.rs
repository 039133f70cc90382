//! Sessions without other services: a home for them, their turns, and a scripted model.

mod events;
pub(crate) mod home;
mod locations;
mod model;
mod remembered;
mod restoration;
mod turn;
