//! Sessions without other services: a home for them, their turns, and a scripted model.

pub(crate) mod home;
mod locations;
mod model;
mod remembered;
mod restoration;
mod turn;
