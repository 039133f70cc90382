//! Decides which request, if any, follows a failed call or an incomplete answer.
//!
//! Each answer has its own deterministic state machine. The state machine counts its steps, so no series of errors
//! leads to more than [`MAX_CALLS`] calls. Every change after an error makes the request smaller, so a rejected request
//! is never sent again. Only after a temporary failure is the same request retried.

use std::time::Duration;

use bethink_transcript::PromptMessage;

use crate::error::{ErrorClass, ModelError, Retry};
use crate::reply::{Reply, Stop};
use crate::request::{ModelRequest, about_tokens, answered};
use crate::shrink;

/// Maximum number of times that rounds are dropped.
pub const MAX_DROPS: u32 = 3;
/// Maximum number of times that an answer is continued after it was cut off, if the output limit cannot be raised.
pub const MAX_CONTINUATIONS: u32 = 3;
/// Maximum number of times that the same request is retried after temporary failures.
pub const MAX_REPEATS: u32 = 3;
/// Maximum number of times that the output limit is lowered. Lowering it once may not be enough, because some servers report
/// only a lower bound for the prompt's size.
const MAX_LOWERED: u32 = 2;
/// Maximum number of calls for one answer: the first, the retries, and every possible change. The 3 at the end are for leaving
/// out media, leaving out thinking, and doubling the output limit.
pub const MAX_CALLS: u32 = 1 + MAX_REPEATS + MAX_DROPS + MAX_LOWERED + MAX_CONTINUATIONS + 3;

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Longest wait that a provider can ask for. If it asks for a longer one, the call is given up, because the embedded strategies
/// answer sooner.
pub const LONGEST_ASKED_WAIT: Duration = Duration::from_secs(5 * 60);
/// Minimum output limit in tokens. With less room, the answer would be cut off.
const LEAST_OUTPUT: u64 = 1_024;
/// Sent to a model whose answer was cut off.
pub const CONTINUE: &str =
    "Your answer was cut off. Continue exactly where you stopped, without repeating anything.";

/// The next step after a call.
#[derive(Clone, Debug)]
pub enum Next {
    /// Send this request after a wait; the result of the last call is discarded.
    Again { request: ModelRequest, wait: Duration, change: &'static str },
    /// Ask for the rest of the answer at once; the result of the last call is kept.
    More { request: ModelRequest, change: &'static str },
    /// The answer is final.
    Take,
    /// The error is final.
    GiveUp,
}

/// A request that was changed, and how.
type Changed = (ModelRequest, &'static str);

/// The recovery attempts for one answer.
#[derive(Clone, Debug, Default)]
pub struct Recovery {
    max_output: u64,
    tail: usize,
    repeats: u32,
    drops: u32,
    lowered: u32,
    continuations: u32,
    thinking_stripped: bool,
    doubled: bool,
}

/// Returns the wait before the same request is retried after `repeats` retries; `None` if it should not be retried again.
/// `asked` is the wait that the provider asked for.
pub fn backoff(repeats: u32, asked: Option<Duration>) -> Option<Duration> {
    if repeats >= MAX_REPEATS || asked.is_some_and(|asked| asked > LONGEST_ASKED_WAIT) {
        return None;
    }
    let own = FIRST_WAIT.saturating_mul(1 << repeats).min(LONGEST_WAIT);
    Some(asked.map_or(own, |asked| asked.max(FIRST_WAIT)))
}

impl Recovery {
    /// Starts a recovery that may raise `max_tokens` to `max_output`. It never drops the last `tail` messages of the
    /// prompt, which are the instruction and what follows it.
    pub fn new(max_output: u64, tail: usize) -> Self {
        Self { max_output, tail, ..Self::default() }
    }

    /// Returns the number of messages at the end of the request that must be kept. The number grows with every continuation.
    pub fn tail(&self) -> usize {
        self.tail
    }

    /// Decides what to do after `request` failed with `error`.
    pub fn after_error(&mut self, error: &ModelError, request: &ModelRequest) -> Next {
        let next = match Retry::after(error.class) {
            Retry::Never => None,
            Retry::Same => backoff(self.repeats, error.retry_after).map(|wait| {
                self.repeats += 1;
                Next::Again { request: request.clone(), wait, change: "retried" }
            }),
            Retry::Changed => self.change(error, request).map(again),
        };
        next.unwrap_or(Next::GiveUp)
    }

    /// Decides what to do after `request` was answered with `reply`.
    pub fn after_reply(&mut self, reply: &Reply, request: &ModelRequest) -> Next {
        let next = match reply.stop {
            Stop::MaxTokens => {
                self.double(request).map(again).or_else(|| self.go_on(reply, request))
            }
            Stop::PauseTurn => self.resume(reply, request),
            // A shorter prompt leaves the answer more room.
            Stop::WindowFull => self.drop_rounds(request, None).map(again),
            _ => None,
        };
        next.unwrap_or(Next::Take)
    }

    fn change(&mut self, error: &ModelError, request: &ModelRequest) -> Option<Changed> {
        let gap = error.figures.gap();
        match error.class {
            ErrorClass::Overflow => self.drop_rounds(request, gap),
            ErrorClass::OutputOverflow => {
                self.lower(error, request).or_else(|| self.drop_rounds(request, gap))
            }
            ErrorClass::MediaTooLarge => strip_media(request),
            ErrorClass::RequestTooLarge => {
                strip_media(request).or_else(|| self.drop_rounds(request, None))
            }
            ErrorClass::ThinkingBound => self.strip_thinking(request),
            _ => None,
        }
    }

    fn drop_rounds(&mut self, request: &ModelRequest, gap: Option<u64>) -> Option<Changed> {
        if self.drops >= MAX_DROPS {
            return None;
        }
        self.drops += 1;
        Some((shrink::drop_rounds(request, self.tail, gap)?, "oldest messages left out"))
    }

    fn strip_thinking(&mut self, request: &ModelRequest) -> Option<Changed> {
        if std::mem::replace(&mut self.thinking_stripped, true) {
            return None;
        }
        Some((shrink::strip_thinking(request)?, "thinking left out"))
    }

    fn lower(&mut self, error: &ModelError, request: &ModelRequest) -> Option<Changed> {
        let figures = &error.figures;
        let room = figures.limit?.checked_sub(figures.input.unwrap_or(0))?;
        if self.lowered >= MAX_LOWERED || room < LEAST_OUTPUT.min(request.max_tokens) {
            return None;
        }
        self.lowered += 1;
        Some((shrink::shrink_output(request, room)?, "output limit lowered"))
    }

    fn double(&mut self, request: &ModelRequest) -> Option<Changed> {
        let raised = request.max_tokens.saturating_mul(2).min(self.max_output);
        // After an error lowered the limit, there is no room for more.
        let settled = self.doubled || self.lowered > 0 || self.continuations > 0;
        if settled || raised <= request.max_tokens {
            return None;
        }
        self.doubled = true;
        Some((ModelRequest { max_tokens: raised, ..request.clone() }, "output limit raised"))
    }

    /// Asks for the rest of an answer that contains text. An answer that calls tools cannot be continued, because a call
    /// without its result is invalid in a prompt.
    fn go_on(&mut self, reply: &Reply, request: &ModelRequest) -> Option<Next> {
        // What does not end within twice the limit is likely never to end.
        if self.doubled || reply.text().trim().is_empty() {
            return None;
        }
        let said = answered(&reply.content, request.end());
        let go_on = PromptMessage::said(CONTINUE, request.end(), about_tokens(CONTINUE.len()));
        self.more(request, vec![said, go_on], "answer continued")
    }

    /// Resumes a paused answer: the provider continues an answer that is the last message of a prompt.
    fn resume(&mut self, reply: &Reply, request: &ModelRequest) -> Option<Next> {
        let said = answered(&reply.content, request.end());
        if said.blocks.is_empty() {
            return None;
        }
        self.more(request, vec![said], "paused answer resumed")
    }

    fn more(
        &mut self,
        request: &ModelRequest,
        messages: Vec<PromptMessage>,
        change: &'static str,
    ) -> Option<Next> {
        if self.continuations >= MAX_CONTINUATIONS {
            return None;
        }
        let longer = request.followed_by(messages).ok()?;
        self.continuations += 1;
        self.tail += longer.prompt.messages().len() - request.prompt.messages().len();
        Some(Next::More { request: longer, change })
    }
}

fn again((request, change): Changed) -> Next {
    Next::Again { request, wait: Duration::ZERO, change }
}

/// Works only once, because no media are left afterwards.
fn strip_media(request: &ModelRequest) -> Option<Changed> {
    Some((shrink::strip_media(request)?, "images and documents left out"))
}

#[cfg(test)]
mod tests;
