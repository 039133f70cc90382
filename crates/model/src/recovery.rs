//! What follows a failed call, or an answer that is not whole: another request, or none.
//!
//! A machine without clock and chance, one for each answer that is wanted. Its steps are counted, so that
//! no row of errors, however long, leads to more than [`MAX_CALLS`] calls; what changes a request makes it
//! smaller, so that a refused one never goes out again.

use std::time::Duration;

use bethink_transcript::PromptMessage;

use crate::error::{ErrorClass, ModelError, Retry};
use crate::reply::{Reply, Stop};
use crate::request::{ModelRequest, about_tokens, answered};
use crate::shrink;

/// Rounds are dropped so many times, by the specification (section 4, level 3).
pub const MAX_DROPS: u32 = 3;
/// An answer that is cut off is continued so many times, by the specification (section 4).
pub const MAX_CONTINUATIONS: u32 = 3;
/// The same request goes out again so many times after a failure that may pass.
pub const MAX_REPEATS: u32 = 3;
/// The limit of output is lowered twice: some servers name the prompt's size as "at least".
const MAX_LOWERED: u32 = 2;
/// Most calls for one answer: the first, the repeats, and every change there is. Media and thinking go once, and the
/// limit of output is doubled once, which makes the last three.
pub const MAX_CALLS: u32 = 1 + MAX_REPEATS + MAX_DROPS + MAX_LOWERED + MAX_CONTINUATIONS + 3;

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// A provider that asks for more is not waited for: the embedded strategies answer sooner.
pub const LONGEST_ASKED_WAIT: Duration = Duration::from_secs(5 * 60);
/// With less room than this a lower limit of output would only cut the answer off.
const LEAST_OUTPUT: u64 = 1_024;
/// What a model reads when its answer was cut off.
pub const CONTINUE: &str =
    "Your answer was cut off. Continue exactly where you stopped, without repeating anything.";

/// What to do now.
#[derive(Clone, Debug)]
pub enum Next {
    /// Ask again after a wait; what this call gave is void.
    Again { request: ModelRequest, wait: Duration, change: &'static str },
    /// Ask for the rest at once; what this call gave stands.
    More { request: ModelRequest, change: &'static str },
    /// The answer is as good as it gets.
    Take,
    /// The error stands.
    GiveUp,
}

/// A request that was changed, and how.
type Changed = (ModelRequest, &'static str);

/// What was tried for one answer.
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

/// The wait before the same request goes out once more, after `repeats` of it and the wait that the
/// provider asked for; `None` once it is not to be repeated.
pub fn backoff(repeats: u32, asked: Option<Duration>) -> Option<Duration> {
    if repeats >= MAX_REPEATS || asked.is_some_and(|asked| asked > LONGEST_ASKED_WAIT) {
        return None;
    }
    let own = FIRST_WAIT.saturating_mul(1 << repeats).min(LONGEST_WAIT);
    Some(asked.map_or(own, |asked| asked.max(FIRST_WAIT)))
}

impl Recovery {
    /// `max_tokens` may be raised to `max_output`. The last `tail` messages of the prompt stay whatever happens: the
    /// instruction and what follows it.
    pub fn new(max_output: u64, tail: usize) -> Self {
        Self { max_output, tail, ..Self::default() }
    }

    /// Messages at the end that the request must keep; grows with every continuation.
    pub fn tail(&self) -> usize {
        self.tail
    }

    /// After `request` failed with `error`.
    pub fn after_error(&mut self, error: &ModelError, request: &ModelRequest) -> Next {
        let next = match error.class.retry() {
            Retry::Never => None,
            Retry::Same => backoff(self.repeats, error.retry_after).map(|wait| {
                self.repeats += 1;
                Next::Again { request: request.clone(), wait, change: "asked again" }
            }),
            Retry::Changed => self.change(error, request).map(again),
        };
        next.unwrap_or(Next::GiveUp)
    }

    /// After `request` was answered with `reply`.
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
        Some((shrink::drop_rounds(request, self.tail, gap)?, "oldest rounds dropped"))
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
        Some((shrink::shrink_output(request, room)?, "limit of output lowered"))
    }

    fn double(&mut self, request: &ModelRequest) -> Option<Changed> {
        let raised = request.max_tokens.saturating_mul(2).min(self.max_output);
        // A limit that an error lowered is the most there is room for.
        let settled = self.doubled || self.lowered > 0 || self.continuations > 0;
        if settled || raised <= request.max_tokens {
            return None;
        }
        self.doubled = true;
        Some((ModelRequest { max_tokens: raised, ..request.clone() }, "limit of output raised"))
    }

    /// Only words can be continued. An answer that calls tools can't: no prompt holds a call without its
    /// result.
    fn go_on(&mut self, reply: &Reply, request: &ModelRequest) -> Option<Next> {
        if reply.text().trim().is_empty() {
            return None;
        }
        let said = answered(&reply.content, request.end());
        let go_on = PromptMessage::said(CONTINUE, request.end(), about_tokens(CONTINUE.len()));
        self.more(request, vec![said, go_on], "answer continued")
    }

    /// The provider goes on by itself when it reads its own words last.
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

/// Once by itself: no media are left to strip a second time.
fn strip_media(request: &ModelRequest) -> Option<Changed> {
    Some((shrink::strip_media(request)?, "images and documents left out"))
}

#[cfg(test)]
mod tests;
