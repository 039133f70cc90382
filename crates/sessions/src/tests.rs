//! Sessions without other services: a home for them, their turns, and a scripted model.

pub(crate) mod home;
mod model;
mod places;
mod remembered;
mod restoration;
mod turn;
