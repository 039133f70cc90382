//! Decides when a model is paused: if it or its provider fails repeatedly, or if the model's answers in a session are never
//! usable.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use bethink_agent::{Ended, Finished};
use bethink_api::Purpose;
use bethink_model::{ErrorClass, ModelError};
use bethink_service::locked;
use bethink_transcript::SessionId;
use tokio::time::Instant;

/// How many errands in a row must fail before the provider or the model is paused.
const FAILURES: u32 = 3;
/// Length of the first pause. It is doubled after each failed trial.
const REST: Duration = Duration::from_secs(60);
const LONGEST_REST: Duration = Duration::from_secs(15 * 60);
/// Length of the pause if only a person can fix the problem. It is short, so that a renewed key is noticed soon: a command
/// that prints a key runs at most once a minute.
const REST_AFTER_REFUSAL: Duration = Duration::from_secs(60);
/// Maximum number of failure counts, each for a session and a purpose, or for a model. If there are more, all are dropped.
const REMEMBERED: usize = 1_024;

/// Lets errands through while the provider and the errand's model are responding. After a pause, it lets through one trial at
/// a time.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    states: Mutex<BTreeMap<BreakerScope, BreakerState>>,
    /// Whether a client's own model is called, so that the settings in [model] do not matter.
    is_of_client: bool,
}

/// What failures are counted for: the provider (`None`), or one of its models.
type BreakerScope = Option<String>;

#[derive(Debug, Default)]
struct BreakerState {
    failures: u32,
    rest: Duration,
    until: Option<Instant>,
    /// When the last failure was.
    last: Option<Instant>,
    /// Whether a trial is running.
    trial: bool,
    why: String,
    /// What a person can do about the failures.
    todo: Option<&'static str>,
}

/// An errand that was let through.
#[derive(Debug)]
pub(crate) struct Pass<'a> {
    breaker: &'a Breaker,
    model: String,
    /// What this errand is a trial of.
    trials: Vec<BreakerScope>,
}

impl Breaker {
    pub(crate) fn of_client() -> Self {
        Self { is_of_client: true, ..Self::default() }
    }

    fn states(&self) -> MutexGuard<'_, BTreeMap<BreakerScope, BreakerState>> {
        locked(&self.states)
    }

    /// Describes a pause, and what a person can do.
    fn paused(&self, scope: &BreakerScope, state: &BreakerState, left: Duration) -> String {
        let seconds = left.as_secs() + 1;
        let failures = match state.failures {
            0 | 1 => "a failure".to_owned(),
            many => format!("{many} failures in a row, most recently"),
        };
        let todo = state.todo.filter(|_| !self.is_of_client).unwrap_or(WAIT);
        let name = scope.as_ref().map_or_else(String::new, |name| format!(" {name}"));
        format!(
            "the model{name} is paused for another {seconds} s after {failures}: {}; {todo}",
            state.why
        )
    }

    pub(crate) fn enter(&self, model: &str) -> Result<Pass<'_>, String> {
        let mut states = self.states();
        let mut trials = Vec::new();
        for scope in [None, Some(model.to_owned())] {
            let Some(state) = states.get(&scope) else { continue };
            let Some(until) = state.until else { continue };
            let left = until.saturating_duration_since(Instant::now());
            if !left.is_zero() || state.trial {
                return Err(self.paused(&scope, state, left));
            }
            trials.push(scope);
        }
        for scope in &trials {
            states.entry(scope.clone()).or_default().trial = true;
        }
        Ok(Pass { breaker: self, model: model.to_owned(), trials })
    }

    /// Returns why the provider or one of its models is paused; `None` if none is.
    pub(crate) fn rests(&self) -> Option<String> {
        let states = self.states();
        let told = |(scope, state): (&BreakerScope, &BreakerState)| {
            Some(self.paused(scope, state, state.left_to_tell(scope)?))
        };
        states.iter().find_map(told)
    }

    /// Returns the last failure and what to do about it, if it paused nothing or its pause is over.
    pub(crate) fn failing(&self) -> Option<(String, &'static str)> {
        let states = self.states();
        let is_told = |(scope, state): &(&BreakerScope, &BreakerState)| {
            let is_recent = state.last.is_some_and(|last| last.elapsed() < LONGEST_REST);
            state.failures > 0
                && state.left_to_tell(scope).is_none()
                && (scope.is_none() || is_recent)
        };
        let (_, state) = states.iter().find(is_told)?;
        let found = match state.failures {
            1 => format!("the last call failed: {}", state.why),
            many => format!("the last call failed: {} ({many} failures in a row)", state.why),
        };
        Some((found, state.todo.unwrap_or(RETRY)))
    }
}

impl Pass<'_> {
    /// Returns whether another errand has opened the breaker in the meantime.
    pub(crate) fn is_void(&self) -> bool {
        let states = self.breaker.states();
        let scopes = [None, Some(self.model.clone())];
        let is_paused =
            |scope: &BreakerScope| states.get(scope).is_some_and(|state| state.until.is_some());
        scopes.iter().any(|scope| !self.trials.contains(scope) && is_paused(scope))
    }

    pub(crate) fn leave(&self, ended: &Result<Finished, ModelError>) {
        self.answered(match ended {
            Ok(Finished { ended: Ended::Failed(error), .. }) | Err(error) => Some(error),
            Ok(_) => None,
        });
    }

    /// Records whether the provider responded.
    pub(crate) fn answered(&self, failed: Option<&ModelError>) {
        let mut states = self.breaker.states();
        let model = Some(self.model.clone());
        match failed.map(|error| (error, blame(error.class))) {
            None | Some((_, Blame::Request)) => {
                states.remove(&None);
                states.remove(&model);
            }
            Some((_, Blame::Nobody)) => {}
            Some((error, blame)) if is_of_provider(error.class) => {
                states.entry(None).or_default().failed(error, blame);
            }
            Some((error, blame)) => {
                // A provider that refuses one model may serve another one.
                states.remove(&None);
                if states.len() >= REMEMBERED {
                    states.clear();
                }
                states.entry(model).or_default().failed(error, blame);
            }
        }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        // A trial ended or was cancelled, so the next errand may try.
        let mut states = self.breaker.states();
        for scope in &self.trials {
            if let Some(state) = states.get_mut(scope) {
                state.trial = false;
            }
        }
    }
}

/// Whether a failure is the same with every model of the provider.
fn is_of_provider(class: ErrorClass) -> bool {
    matches!(class, ErrorClass::Auth | ErrorClass::Quota | ErrorClass::Unreachable)
}

impl BreakerState {
    /// Returns how long the pause still lasts. The pause of a model is over with its time, because that model may never be
    /// tried again; the provider's lasts until a trial succeeds, and every errand is one.
    fn left_to_tell(&self, scope: &BreakerScope) -> Option<Duration> {
        let left = self.until?.saturating_duration_since(Instant::now());
        (scope.is_none() || !left.is_zero()).then_some(left)
    }

    fn failed(&mut self, error: &ModelError, blame: Blame) {
        self.failures += 1;
        self.last = Some(Instant::now());
        self.todo = todo(error);
        self.why = error.to_string();
        if blame == Blame::Person {
            self.rest = REST_AFTER_REFUSAL;
        } else if self.failures < FAILURES {
            return;
        } else {
            self.rest = if self.rest.is_zero() { REST } else { (self.rest * 2).min(LONGEST_REST) };
        }
        self.until = Some(Instant::now() + self.rest);
        metrics::counter!("bethink_model_breaker_opened_total").increment(1);
        tracing::warn!(rest_s = self.rest.as_secs(), reason = %error, "the model is paused after failures");
    }
}

/// What happens next if there is nothing that a person can do: the first text is for a paused model, the second is for a model
/// that is not paused yet.
const WAIT: &str = "until then, bethink works without the model";
const RETRY: &str = "bethink tries again with the next call";

/// The cause of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blame {
    /// The provider works, but rejects this request.
    Request,
    Provider,
    /// A person has to fix the problem: the key, the account or the model's name is wrong.
    Person,
    /// The call was not made, or the answer was a redirect, which is not followed.
    Nobody,
}

fn blame(class: ErrorClass) -> Blame {
    match class {
        ErrorClass::Overflow
        | ErrorClass::OutputOverflow
        | ErrorClass::MediaTooLarge
        | ErrorClass::RequestTooLarge
        | ErrorClass::ThinkingBound
        | ErrorClass::History
        | ErrorClass::Invalid => Blame::Request,
        ErrorClass::Auth | ErrorClass::Quota | ErrorClass::NotFound => Blame::Person,
        ErrorClass::Forbidden => Blame::Nobody,
        ErrorClass::RateLimited
        | ErrorClass::Overloaded
        | ErrorClass::Server
        | ErrorClass::Unreachable
        | ErrorClass::TimedOut
        | ErrorClass::Broken
        | ErrorClass::TooMuch
        | ErrorClass::Unknown => Blame::Provider,
    }
}

/// Returns what a person can do about a failure.
fn todo(error: &ModelError) -> Option<&'static str> {
    Some(match error.class {
        ErrorClass::Auth if error.status.is_none() => {
            "after you change a variable, restart the daemon; to test api_key_command, run it in a shell"
        }
        ErrorClass::Auth => {
            "renew the key configured in [model]; if it is in an environment variable, restart the daemon"
        }
        ErrorClass::Quota => "add credit to the key's account, or use another key in [model]",
        ErrorClass::NotFound => {
            "fix name, small_name or base_url in [model], and restart the daemon"
        }
        ErrorClass::Unreachable | ErrorClass::TimedOut => {
            "check that the model's server is running and that base_url in [model] is right"
        }
        _ => return None,
    })
}

/// Counts consecutive failures of each purpose in each session.
#[derive(Debug, Default)]
pub(crate) struct Strikes(Mutex<HashMap<(Option<SessionId>, Purpose), u32>>);

impl Strikes {
    pub(crate) fn count(&self, session: Option<SessionId>, purpose: Purpose, good: bool) {
        let mut strikes = locked(&self.0);
        if good {
            strikes.remove(&(session, purpose));
            return;
        }
        if strikes.len() >= REMEMBERED {
            strikes.clear();
        }
        *strikes.entry((session, purpose)).or_default() += 1;
    }

    /// Returns why the model is no longer asked automatically; `None` if it is still asked.
    pub(crate) fn out(&self, session: Option<SessionId>, purpose: Purpose) -> Option<String> {
        let strikes = locked(&self.0);
        let failed = strikes.get(&(session, purpose)).copied().unwrap_or(0);
        (failed >= FAILURES).then(|| {
            format!(
                "the model failed {failed} times in a row for {purpose}, so bethink no longer calls it automatically for this purpose"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use bethink_model::ModelError;

    use super::*;

    const REFUSED: Option<u16> = Some(401);

    fn ends(breaker: &Breaker, class: ErrorClass) {
        let pass = breaker.enter("m").unwrap();
        pass.leave(&Err(ModelError { status: REFUSED, ..ModelError::new(class, "x") }));
    }

    #[tokio::test(start_paused = true)]
    async fn three_failures_open_it_and_one_trial_at_a_time_follows() {
        let breaker = Breaker::default();
        for _ in 0..FAILURES {
            assert!(breaker.rests().is_none());
            ends(&breaker, ErrorClass::Server);
        }
        assert!(breaker.enter("m").unwrap_err().contains("3 failures in a row"));
        tokio::time::advance(REST).await;
        let trial = breaker.enter("m").unwrap();
        assert!(breaker.enter("m").is_err(), "one trial at a time");
        trial.leave(&Err(ModelError::new(ErrorClass::Overloaded, "x")));
        drop(trial);
        tokio::time::advance(REST).await;
        assert!(breaker.enter("m").is_err(), "the pause is doubled");
        tokio::time::advance(REST).await;
        drop(breaker.enter("m").unwrap());
        // A trial that was cancelled lets the next one try.
        let trial = breaker.enter("m").unwrap();
        trial.leave(&Err(ModelError::new(ErrorClass::Overflow, "it answers")));
        assert!(breaker.rests().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_wrong_key_opens_it_at_once_and_a_refused_request_never() {
        let breaker = Breaker::default();
        let refused = ModelError { status: REFUSED, ..ModelError::new(ErrorClass::Auth, "x") };
        let advice = todo(&refused).unwrap();
        for _ in 0..10 {
            ends(&breaker, ErrorClass::Invalid);
        }
        let other = breaker.enter("m").unwrap();
        ends(&breaker, ErrorClass::Auth);
        assert!(other.is_void());
        assert!(breaker.enter("m").unwrap_err().ends_with(advice));
        assert!(breaker.rests().unwrap().ends_with(advice));
        tokio::time::advance(REST_AFTER_REFUSAL).await;
        assert!(breaker.enter("m").is_ok());
    }

    /// A wrong name of one model says nothing about another one; a wrong key does.
    #[tokio::test(start_paused = true)]
    async fn a_model_that_fails_pauses_no_other_one() {
        let breaker = Breaker::default();
        ends(&breaker, ErrorClass::NotFound);
        assert!(breaker.enter("m").unwrap_err().starts_with("the model m is paused"));
        let other = breaker.enter("other").unwrap();
        assert!(!other.is_void());
        other.leave(&Err(ModelError::new(ErrorClass::Quota, "x")));
        assert!(breaker.enter("third").unwrap_err().starts_with("the model is paused"));
    }

    /// Nobody may ever try such a model again.
    #[tokio::test(start_paused = true)]
    async fn a_models_failures_are_not_reported_for_ever() {
        let breaker = Breaker::default();
        ends(&breaker, ErrorClass::NotFound);
        assert!(breaker.rests().is_some() && breaker.failing().is_none());
        tokio::time::advance(REST_AFTER_REFUSAL).await;
        assert!(breaker.rests().is_none() && breaker.failing().is_some());
        tokio::time::advance(LONGEST_REST).await;
        assert!(breaker.failing().is_none());
        ends(&breaker, ErrorClass::Auth);
        tokio::time::advance(LONGEST_REST).await;
        assert!(breaker.rests().is_some(), "every errand is a trial of the provider");
    }

    #[test]
    fn a_session_whose_answers_are_never_good_is_left_alone() {
        let (strikes, id) = (Strikes::default(), Some(SessionId(uuid::Uuid::from_u128(1))));
        for _ in 0..FAILURES {
            assert!(strikes.out(id, Purpose::Summary).is_none());
            strikes.count(id, Purpose::Summary, false);
        }
        assert!(strikes.out(id, Purpose::Summary).is_some());
        assert!(strikes.out(id, Purpose::Notes).is_none());
        strikes.count(id, Purpose::Summary, true);
        assert!(strikes.out(id, Purpose::Summary).is_none());
    }
}
