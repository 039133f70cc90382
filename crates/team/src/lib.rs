//! Memory that several people share: a git repository, or a folder that is synced by other means.
//!
//! Owns one sync at a time for a team directory: fetch, compare, write here, commit, check again, push. Git is asked
//! for commits and given contents; the files themselves are read and written by `bethink-memories`, by compare-and-swap
//! with their versions kept. What comes in is checked before it enters the directory, what goes out before it leaves,
//! and no history is ever rewritten. Leaves proposals, and what an agent may write, to `bethink-memories`, and running
//! git to `bethink-git`.
//!
//! The road not taken: `git pull` in the directory, which lets a repository's hooks, filters and links have
//! a say, puts markers of conflicts into prompts, and checks a secret out before anybody looked at it.
//!
//! Reading order: [`service`] → [`errors`] → [`place`] → [`plan`] → [`look`] → [`round`] → [`sync`] → [`apply`] →
//! [`share`] → [`status`].

mod apply;
mod errors;
mod look;
mod place;
mod plan;
mod round;
mod service;
mod share;
mod status;
mod sync;

pub use service::TeamService;
