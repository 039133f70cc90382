//! How a command can fail, and its exit code.

use std::io;

use bethink_api::Problem;
use bethink_client::places::NoHome;
use bethink_client::proof::ProofError;
use bethink_client::{ClientError, StartError, StopError};
use bethink_replay::ReplayError;
use bethink_terminal::{Screen, StyledText, Tone};

/// Exit codes, which are part of the public contract.
const FAILED: u8 = 1;
const WRONG_USE: u8 = 2;
const UNREACHABLE: u8 = 3;

/// What to do if another program answers at the daemon's address.
pub(crate) const ANOTHER_PROGRAM: &str = "check BETHINK_URL if it is set; if the program at that address may know the token, run `bethink token rotate`";

/// The result of a command, whose output has already been printed.
pub(crate) type Done = Result<(), CliFailure>;

#[derive(Debug, thiserror::Error)]
pub(crate) enum CliFailure {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Stop(#[from] StopError),
    #[error(transparent)]
    Home(#[from] NoHome),
    /// Wrong arguments.
    #[error("{0}")]
    Use(String),
    #[error("{what}")]
    HintedUse { what: String, hint: String },
    #[error("{what}")]
    Failed { what: String, hint: Option<String> },
    /// The error has already been printed, so only the exit code reports it.
    #[error("failed")]
    Printed,
    #[error("could not write the output")]
    Output(#[from] io::Error),
}

impl From<StartError> for CliFailure {
    fn from(error: StartError) -> Self {
        Self::Client(error.into())
    }
}

impl From<ReplayError> for CliFailure {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Client(error) => error.into(),
            ReplayError::Message(..) => Self::new(error.to_string()),
        }
    }
}

impl CliFailure {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self::Failed { what: what.into(), hint: None }
    }

    pub(crate) fn hinted(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Failed { what: what.into(), hint: Some(hint.into()) }
    }

    /// Splits clap's message about a usage error: the first paragraph is the error, the rest is the hint.
    pub(crate) fn arguments(text: &str) -> Self {
        let (what, hint) = text.trim().split_once("\n\n").unwrap_or((text.trim(), ""));
        let what = what.trim_start_matches("error: ").to_owned();
        Self::HintedUse { what, hint: hint.trim().to_owned() }
    }

    /// Returns the error for a failed file operation; `doing` is its verb, such as `read`.
    pub(crate) fn file(doing: &str, path: &std::path::Path, error: &io::Error) -> Self {
        Self::new(format!("could not {doing} {}: {error}", path.display()))
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Client(error) if error.is_unreachable() => UNREACHABLE,
            Self::Stop(StopError::NotRunning { .. }) => UNREACHABLE,
            Self::Use(_) | Self::HintedUse { .. } | Self::Home(_) => WRONG_USE,
            // The reader closed the pipe, as in `bethink history | head`.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            _ => FAILED,
        }
    }

    pub(crate) fn report(&self, screen: &mut Screen) -> io::Result<()> {
        if matches!(self, Self::Printed) || self.exit_code() == 0 {
            return Ok(());
        }
        if screen.json {
            return screen.value_on_stderr(&self.problem());
        }
        screen.explain(StyledText::new().put(Tone::Bad, "error: "), self.sentence())?;
        if let Some(hint) = self.hint() {
            screen.explain(StyledText::new().put(Tone::Accent, " hint: "), hint)?;
        }
        Ok(())
    }

    /// Returns what failed and why: the error and its causes, each once.
    fn sentence(&self) -> String {
        let mut sentence = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let text = error.to_string();
            if !sentence.contains(&text) {
                sentence.push_str(": ");
                sentence.push_str(&text);
            }
            cause = error.source();
        }
        sentence
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Client(ClientError::Refused(problem)) => refusal_hint(problem),
            Self::Client(ClientError::NotRunning { .. } | ClientError::Unreachable { .. }) => {
                Some("run `bethink up` to start the daemon, or `bethink doctor` to find out what is wrong".into())
            }
            Self::Client(ClientError::IncompleteResponse { .. }) => {
                Some("run `bethink doctor` to find out what is wrong, or `bethink logs` for details".into())
            }
            Self::Client(ClientError::Proof(ProofError::NotProven { .. })) => {
                Some(ANOTHER_PROGRAM.into())
            }
            Self::Client(ClientError::Start(StartError::NotFound { .. })) => {
                Some("install `bethinkd` in the same directory as `bethink`, or in a directory in PATH".into())
            }
            Self::Failed { hint, .. } => hint.clone(),
            Self::HintedUse { hint, .. } => Some(hint.clone()).filter(|hint| !hint.is_empty()),
            _ => None,
        }
    }

    pub(crate) fn problem(&self) -> Problem {
        if let Self::Client(ClientError::Refused(problem)) = self {
            return (**problem).clone();
        }
        let (kind, title) = match self.exit_code() {
            WRONG_USE => ("usage_error", "Usage error"),
            UNREACHABLE => ("unreachable", "Daemon unreachable"),
            _ => ("failed", "Failed"),
        };
        Problem {
            kind: kind.into(),
            title: title.into(),
            detail: self.sentence(),
            hint: self.hint(),
            ..Problem::default()
        }
    }
}

/// Returns the words of an argument as one text. The daemon's error for an empty text would name a field of a request.
pub(crate) fn text_of(words: &[String], name: &str) -> Result<String, CliFailure> {
    let text = words.join(" ");
    match text.trim().is_empty() {
        true => Err(CliFailure::Use(format!("the {name} is empty"))),
        false => Ok(text),
    }
}

/// Returns the limit that the request did not keep to, and the daemon's hint. The name of the request's field is left out if the
/// hint says enough, because a person at a terminal did not write the request.
fn refusal_hint(problem: &Problem) -> Option<String> {
    let is_named = problem.limit.is_some() || problem.actual.is_some() || problem.hint.is_none();
    let mut place = Vec::new();
    place.extend(problem.field.as_ref().filter(|_| is_named).map(|field| format!("in {field}")));
    place.extend(problem.actual.map(|actual| format!("got {actual}")));
    let is_minimum = |limit: u64| problem.actual.is_some_and(|actual| actual < limit);
    let extreme = |limit: u64| if is_minimum(limit) { "minimum" } else { "maximum" };
    place.extend(problem.limit.map(|limit| format!("the {} is {limit}", extreme(limit))));
    let place = Some(place.join(", ")).filter(|place| !place.is_empty());
    let parts: Vec<String> = place.into_iter().chain(problem.hint.clone()).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_the_contract() {
        let refused = ClientError::Refused(Box::default());
        let unreachable = ClientError::Unreachable { url: "u".into(), reason: "r".into() };
        let not_found = StartError::NotFound { looked: vec![] };
        let pipe = io::Error::from(io::ErrorKind::BrokenPipe);
        assert_eq!(CliFailure::from(refused).exit_code(), 1);
        assert_eq!(CliFailure::new("x").exit_code(), 1);
        assert_eq!(CliFailure::Use("x".into()).exit_code(), 2);
        assert_eq!(CliFailure::from(unreachable).exit_code(), 3);
        assert_eq!(CliFailure::from(not_found).exit_code(), 3);
        assert_eq!(CliFailure::from(pipe).exit_code(), 0);
    }

    #[test]
    fn an_empty_text_is_a_usage_error() {
        let text = |words: &[&str]| {
            text_of(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), "query")
        };
        assert_eq!(text(&["a", "b"]).unwrap(), "a b");
        assert_eq!(text(&["", " "]).unwrap_err().exit_code(), 2);
    }

    #[test]
    fn a_refusal_says_where_and_what_is_allowed() {
        let problem = Problem {
            detail: "too deep".into(),
            field: Some("messages[2]".into()),
            limit: Some(128),
            actual: Some(10_000),
            ..Problem::default()
        };
        let failure = CliFailure::from(ClientError::Refused(Box::new(problem)));
        assert_eq!(failure.sentence(), "too deep");
        assert_eq!(
            failure.hint().as_deref(),
            Some("in messages[2], got 10000, the maximum is 128")
        );
        let problem = Problem {
            field: Some("text".into()),
            hint: Some("nothing was written".into()),
            ..Problem::default()
        };
        let failure = CliFailure::from(ClientError::Refused(Box::new(problem)));
        assert_eq!(failure.hint().as_deref(), Some("nothing was written"));
    }
}
