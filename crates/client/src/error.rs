//! Errors of requests: no daemon, a problem, or an answer that could not be read.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use bethink_api::Problem;

use crate::address::AddressError;
use crate::proof::ProofError;

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No daemon is listening at the address, or the connection broke.
    #[error("could not reach the daemon at {url}: {reason}")]
    Unreachable { url: String, reason: String },
    /// No daemon is running: the home has neither a socket nor a running daemon's address.
    #[error("no daemon is running for {home}")]
    NotRunning { home: String },
    #[error("could not start the daemon")]
    Start(#[from] StartError),
    /// The daemon answered with a problem.
    #[error("{}", .0.detail)]
    Refused(Box<Problem>),
    /// The daemon ended its response before it was complete. `found` is what it reports about itself.
    #[error("the response from the daemon at {url} was incomplete{}", found.as_ref().map(|it| format!("; the daemon reports: {it}")).unwrap_or_default())]
    IncompleteResponse { url: String, found: Option<String> },
    /// The daemon did not answer in time; the request may still take effect.
    #[error("the daemon at {url} did not answer within {seconds} s")]
    Late { url: String, seconds: u64 },
    /// An unexpected answer, perhaps from another version.
    #[error("could not read the daemon's answer to {what}: {reason}")]
    Garbled { what: String, reason: String },
    #[error(transparent)]
    Address(#[from] AddressError),
    /// Another program answers at the daemon's address.
    #[error(transparent)]
    Proof(#[from] ProofError),
}

impl ClientError {
    /// Returns whether no daemon could be reached.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::NotRunning { .. } | Self::Start(_))
    }

    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Refused(problem) => Some(problem),
            _ => None,
        }
    }
}

/// How long a daemon may take to start, including recovery of a damaged database.
pub(crate) const SERVES_WITHIN: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("could not find bethinkd in {}", looked.iter().map(|dir| dir.display().to_string()).collect::<Vec<_>>().join(", "))]
    NotFound { looked: Vec<PathBuf> },
    #[error("could not create or open {}", path.display())]
    Home { path: PathBuf, source: io::Error },
    #[error("could not run {}", path.display())]
    Spawn { path: PathBuf, source: io::Error },
    #[error("bethinkd exited while starting; its log {} ends with:\n{tail}", log.display())]
    Stopped { log: PathBuf, tail: String },
    #[error("bethinkd did not answer within {} s; it may still be starting: see its log {}", SERVES_WITHIN.as_secs(), log.display())]
    Late { log: PathBuf },
}

/// Reads the problem in an answer's body, or makes one from the status if the body has none.
pub(crate) fn problem(status: u16, body: &[u8]) -> Problem {
    let told = serde_json::from_slice::<Problem>(body).ok();
    told.unwrap_or_else(|| Problem {
        kind: "unknown".into(),
        title: format!("HTTP {status}"),
        status,
        detail: without_body(status, body),
        ..Problem::default()
    })
}

/// Characters of an unexpected body that are shown.
const GLIMPSE: usize = 200;

fn without_body(status: u16, body: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(body).trim().chars().take(GLIMPSE).collect();
    match text.is_empty() {
        true => format!("the daemon answered {status} without a reason"),
        false => format!("the daemon answered {status}: {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_keeps_its_fields() {
        let body = br#"{"type":"invalid","title":"Invalid","status":422,"detail":"no","field":"a.b","limit":3,"actual":4,"hint":"less","new":1}"#;
        let told = problem(422, body);
        assert_eq!((told.kind.as_str(), told.field.as_deref()), ("invalid", Some("a.b")));
        assert_eq!(
            (told.limit, told.actual, told.hint.as_deref()),
            (Some(3), Some(4), Some("less"))
        );
    }

    #[test]
    fn any_other_body_becomes_a_problem_too() {
        assert_eq!(problem(502, b"<html>").detail, "the daemon answered 502: <html>");
        assert_eq!(problem(404, b"").status, 404);
        assert_eq!(problem(404, b"\xff\xfe").kind, "unknown");
    }
}
