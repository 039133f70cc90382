//! Shares memory between people, through a git repository or a folder that another program synchronizes.
//!
//! A sync fetches, compares, writes files here, commits, checks the commit, and pushes it. Git only reads commits and
//! stores content. `bethink-memories` reads and writes the files, by compare-and-swap and with versions; it also
//! handles proposals. Incoming text is checked before it is written here, and outgoing text before it is pushed.
//! History is never rewritten. `bethink-git` runs git.
//!
//! `git pull` in the directory is not used: it would run a repository's hooks and filters, follow its links, put
//! conflict markers into prompts, and check out a secret before it is scanned.
//!
//! Reading order: [`service`] → [`errors`] → [`place`] → [`look`] → [`round`] → [`sync`] → [`apply`] →
//! [`share`] → [`status`] → [`resolve`].

mod apply;
mod errors;
mod look;
mod place;
mod resolve;
mod round;
mod service;
mod share;
mod status;
mod sync;

pub use service::TeamService;
