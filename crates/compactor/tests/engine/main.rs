//! The compactor, from outside: whole compactions of small and of hostile histories.

mod floor;
mod story;
mod support;
