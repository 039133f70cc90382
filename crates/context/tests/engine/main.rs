//! The context pipeline, from outside: small histories, what the stages decide, what a model reads.

mod budget;
mod histories;
mod microcompact;
mod prefix;
mod view;
