//! The loop: calls the model, recovers from errors and runs tools, until the model calls no tool or a budget is used up.

use bethink_model::recovery::{Next, Recovery};
use bethink_model::request::about_tokens;
use bethink_model::{ErrorClass, Model, ModelError, ModelRequest, Reply};
use bethink_transcript::TokenUsage;

use crate::calls::Calls;
use crate::fork::{Ended, Finished, Fork};
use crate::host::{AgentStep, Host};
use crate::tool::Denial;

/// Runs a fork to its end.
///
/// Fails if there was no answer at all. After the first answer, errors are reported in [`Finished::ended`]. To cancel
/// the fork, drop the future: that also drops running tools, and closes the connection of the current call.
pub async fn run(
    fork: Fork<'_>,
    model: &dyn Model,
    host: &dyn Host,
) -> Result<Finished, ModelError> {
    let mut run = AgentRun {
        fork,
        model,
        host,
        request: fork.request.clone(),
        tail: 1,
        turns: 0,
        usage: TokenUsage::default(),
        tokens: 0,
        cost: 0,
        text: String::new(),
        last: None,
        denials: Vec::new(),
        warned: false,
    };
    loop {
        let over = match run.turn().await {
            Ok(reply) => run.act(reply).await,
            Err(over) => Some(over),
        };
        if let Some(over) = over {
            return run.finish(over);
        }
    }
}

struct AgentRun<'a> {
    fork: Fork<'a>,
    model: &'a dyn Model,
    host: &'a dyn Host,
    /// The next request. The request grows at its end, and recovery may remove old turns at its beginning.
    request: ModelRequest,
    /// Number of messages at the request's end that must not be removed: the instruction and everything after it.
    tail: usize,
    turns: u32,
    usage: TokenUsage,
    /// Tokens that count towards the budget. This number exceeds `usage` if a provider's figures are doubtful.
    tokens: u64,
    cost: u64,
    text: String,
    last: Option<Reply>,
    denials: Vec<Denial>,
    /// Whether a fork that has no tools has already been told that it cannot call any.
    warned: bool,
}

impl AgentRun<'_> {
    /// Gets an answer, with retries and continuations if necessary.
    async fn turn(&mut self) -> Result<Reply, Ended> {
        if self.turns >= self.fork.budget.turns {
            return Err(Ended::OutOf("turns"));
        }
        let mut recovery = Recovery::new(self.fork.budget.max_output, self.tail);
        let mut said = None;
        for attempt in 1.. {
            if let Some(budget) = self.spent() {
                return Err(Ended::OutOf(budget));
            }
            let next = match self.model.call(&self.request).await {
                Ok(reply) => {
                    self.count(&reply);
                    let next = recovery.after_reply(&reply, &self.request);
                    if !matches!(next, Next::Again { .. }) {
                        self.keep(&reply, &mut said);
                    }
                    if matches!(next, Next::Take | Next::GiveUp) {
                        self.tail = recovery.tail();
                        return Ok(reply);
                    }
                    next
                }
                Err(error) => {
                    self.host.record(&AgentStep::Failed { error: error.clone(), attempt });
                    let next = recovery.after_error(&error, &self.request);
                    if matches!(next, Next::Take | Next::GiveUp) {
                        self.host.record(&AgentStep::GaveUp { error: error.clone() });
                        return Err(Ended::Failed(error));
                    }
                    next
                }
            };
            self.follow(next).await;
        }
        Err(Ended::OutOf("turns"))
    }

    /// Returns the budget that the next request would exceed, if any.
    fn spent(&self) -> Option<&'static str> {
        let budget = &self.fork.budget;
        if self.tokens.saturating_add(self.request.prompt.tokens()) > budget.tokens {
            return Some("tokens");
        }
        // Free calls never exceed the budget, even if it is zero.
        (self.cost > 0 && self.cost >= budget.cost).then_some("cost")
    }

    fn count(&mut self, reply: &Reply) {
        let usage = &reply.usage;
        let sum = &mut self.usage;
        for (sum, more) in [
            (&mut sum.input_tokens, usage.input_tokens),
            (&mut sum.output_tokens, usage.output_tokens),
            (&mut sum.cache_creation_input_tokens, usage.cache_creation_input_tokens),
            (&mut sum.cache_read_input_tokens, usage.cache_read_input_tokens),
        ] {
            *sum = sum.saturating_add(more);
        }
        let mut tokens = usage.total();
        if reply.usage_doubtful {
            let bytes = reply.content.iter().map(|block| block.json.len()).sum();
            let guess = self.request.prompt.tokens() + u64::from(about_tokens(bytes));
            tokens = tokens.max(guess);
        }
        self.tokens = self.tokens.saturating_add(tokens);
        let cost = self.host.cost(&self.request.model, usage).unwrap_or(0);
        self.cost = self.cost.saturating_add(cost);
    }

    /// Stores an answer, or its continuation.
    fn keep(&mut self, reply: &Reply, said: &mut Option<String>) {
        if said.is_none() {
            self.turns += 1;
        }
        let said = said.get_or_insert_default();
        said.push_str(&reply.text());
        if !said.trim().is_empty() {
            self.text.clone_from(said);
        }
        self.last = Some(reply.clone());
    }

    async fn follow(&mut self, next: Next) {
        let (request, wait, change) = match next {
            Next::Again { request, wait, change } => (request, wait, change),
            Next::More { request, change } => (request, std::time::Duration::ZERO, change),
            Next::Take | Next::GiveUp => return,
        };
        self.host.record(&AgentStep::Again { change, wait, weight: request.weight() });
        self.request = request;
        if !wait.is_zero() {
            self.host.wait(wait).await;
        }
    }

    /// Runs or denies the tool calls of an answer. The next request contains the results.
    async fn act(&mut self, reply: Reply) -> Option<Ended> {
        if reply.calls().next().is_none() {
            return Some(Ended::Done);
        }
        let calls = Calls::judge(&reply, &self.request, &self.fork);
        for denial in calls.denials() {
            self.host.record(&AgentStep::Denied(denial.clone()));
            self.denials.push(denial);
        }
        if self.fork.tools.is_empty() && std::mem::replace(&mut self.warned, true) {
            return Some(Ended::OutOf("denials"));
        }
        let results = calls.run(self.host).await;
        let after = self.request.end();
        let more = vec![calls.said(&reply, after), calls.answered(results, after)];
        match self.request.followed_by(more) {
            Ok(longer) => {
                let before = self.request.prompt.messages().len();
                self.tail += longer.prompt.messages().len().saturating_sub(before);
                self.request = longer;
                None
            }
            Err(faults) => {
                let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
                let message =
                    format!("the answer cannot be part of a prompt: {}", faults.join("; "));
                Some(Ended::Failed(ModelError::new(ErrorClass::Broken, message)))
            }
        }
    }

    fn finish(self, ended: Ended) -> Result<Finished, ModelError> {
        let Some(last) = self.last else {
            return Err(match ended {
                Ended::Failed(error) => error,
                Ended::OutOf(budget) => refused(budget, &self.request, &self.fork),
                Ended::Done => ModelError::new(ErrorClass::Unknown, "the model was not called"),
            });
        };
        let Self { text, turns, usage, denials, .. } = self;
        Ok(Finished { text, last, ended, turns, usage, denials })
    }
}

/// Returns the error for a budget that was used up before the model answered.
fn refused(budget: &str, request: &ModelRequest, fork: &Fork<'_>) -> ModelError {
    let needs = request.prompt.tokens();
    let allowed = &fork.budget;
    let message = format!(
        "the {budget} budget does not allow the call, which needs 1 turn and about {needs} tokens; at most {} turns and {} tokens are allowed in total",
        allowed.turns, allowed.tokens
    );
    ModelError::new(ErrorClass::Forbidden, message)
}

#[cfg(test)]
mod tests;
