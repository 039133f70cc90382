//! Memory that several people share, through a git repository or a folder that is synchronized by other means.
//!
//! Owns the sync of a team directory, one at a time: fetch, compare, write here, commit, check again, push. Git
//! only reads commits and stores content; the files themselves are read and written by `bethink-memories`, by
//! compare-and-swap and with versions. Incoming text is checked before it enters the directory, outgoing text
//! before it leaves, and history is never rewritten. Leaves proposals, and what an agent may write, to
//! `bethink-memories`, and running git to `bethink-git`.
//!
//! Rejected alternative: `git pull` in the directory. It would run a repository's hooks and filters, follow its
//! links, put conflict markers into prompts, and check out a secret before it is scanned.
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
