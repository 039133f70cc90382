//! Sessions alone: a home to open them in, their turns, and a model beside them.

pub(crate) mod home;
mod model;
mod turn;
