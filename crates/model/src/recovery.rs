//! What follows a failed call, or an answer that is not whole: another request, or none.
//!
//! A machine without clock and chance, one for each answer that is wanted. Its steps are counted, so that
//! no row of errors, however long, leads to more than [`MAX_CALLS`] calls; what changes a request makes it
//! smaller, so that a refused one never goes out again.

use std::time::Duration;

use bethink_transcript::PromptMessage;

use crate::error::{Class, ModelError, Retry};
use crate::reply::{Reply, Stop};
use crate::request::{Request, about_tokens, answered};
use crate::shrink;

/// Rounds are dropped so many times, by the specification (section 4, level 3).
pub const MAX_DROPS: u32 = 3;
/// An answer that is cut off is continued so many times, by the specification (section 4).
pub const MAX_CONTINUATIONS: u32 = 3;
/// The same request goes out again so many times after a failure that may pass.
pub const MAX_REPEATS: u32 = 3;
/// The limit of output is lowered twice: some servers name the prompt's size as "at least".
const MAX_LOWERED: u32 = 2;
/// Most calls for one answer: the first, the repeats, and every change there is (media and thinking go
/// once, the limit of output is doubled once).
pub const MAX_CALLS: u32 =
    1 + MAX_REPEATS + MAX_DROPS + MAX_LOWERED + MAX_CONTINUATIONS + STRIPPED_ONCE + DOUBLED_ONCE;
const STRIPPED_ONCE: u32 = 2;
const DOUBLED_ONCE: u32 = 1;

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// A provider that asks for more is not waited for: the embedded strategies answer sooner.
pub const LONGEST_ASKED_WAIT: Duration = Duration::from_secs(5 * 60);
/// With less room than this a lower limit of output would only cut the answer off.
const LEAST_OUTPUT: u64 = 1_024;
/// What a model reads when its answer was cut off.
pub const CONTINUE: &str =
    "Your answer was cut off. Continue exactly where you stopped, without repeating anything.";

/// What recovery may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most that `max_tokens` may be raised to.
    pub max_output: u64,
    /// Messages at the prompt's end that stay whatever happens: the instruction and what follows it.
    pub tail: usize,
    /// The first message that is not shown as it was when the thinking after it was produced.
    pub first_edited: usize,
    /// Somebody hears the answer as it comes, so that one which began is not begun again.
    pub listened: bool,
    /// Thousandths of a wait that are added to it, so that many clients do not come back together.
    pub jitter: u16,
}

impl Limits {
    /// For a prompt that ends with an instruction, heard by nobody.
    pub fn new(max_output: u64) -> Self {
        Self { max_output, tail: 1, first_edited: 0, listened: false, jitter: 0 }
    }
}

/// What to do now.
#[derive(Clone, Debug)]
pub enum Next {
    /// Ask again after a wait; what this call gave is void.
    Again { request: Request, wait: Duration, change: &'static str },
    /// Ask for the rest at once; what this call gave stands.
    More { request: Request, change: &'static str },
    /// The answer is as good as it gets.
    Take,
    /// The error stands.
    GiveUp,
}

/// What was tried for one answer.
#[derive(Clone, Debug)]
pub struct Recovery {
    limits: Limits,
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
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            repeats: 0,
            drops: 0,
            lowered: 0,
            continuations: 0,
            thinking_stripped: false,
            doubled: false,
        }
    }

    /// Messages at the end that the request must keep; grows with every continuation.
    pub fn tail(&self) -> usize {
        self.limits.tail
    }

    /// After `request` failed with `error`.
    pub fn after_error(&mut self, error: &ModelError, request: &Request) -> Next {
        if error.heard {
            return Next::GiveUp;
        }
        let changed = match error.class.retry() {
            Retry::Never => None,
            Retry::Same => return self.repeat(error, request),
            Retry::Changed => self.change(error, request),
        };
        changed.map_or(Next::GiveUp, |(request, change)| Next::Again {
            request,
            wait: Duration::ZERO,
            change,
        })
    }

    /// After `request` was answered with `reply`.
    pub fn after_reply(&mut self, reply: &Reply, request: &Request) -> Next {
        let next = match reply.stop {
            Stop::MaxTokens => self.double(request).or_else(|| self.go_on(reply, request)),
            Stop::PauseTurn => self.resume(reply, request),
            Stop::WindowFull => self.room(request),
            _ => None,
        };
        next.unwrap_or(Next::Take)
    }

    fn repeat(&mut self, error: &ModelError, request: &Request) -> Next {
        let Some(wait) = backoff(self.repeats, error.retry_after) else { return Next::GiveUp };
        self.repeats += 1;
        let jitter = wait.saturating_mul(u32::from(self.limits.jitter.min(1_000))) / 1_000;
        Next::Again { request: request.clone(), wait: wait + jitter, change: "asked again" }
    }

    fn change(&mut self, error: &ModelError, request: &Request) -> Option<(Request, &'static str)> {
        match error.class {
            Class::Overflow => self.drop_rounds(request, error.figures.gap()),
            Class::OutputOverflow => self
                .lower(error, request)
                .or_else(|| self.drop_rounds(request, error.figures.gap())),
            Class::MediaTooLarge => Self::strip_media(request),
            Class::RequestTooLarge => {
                Self::strip_media(request).or_else(|| self.drop_rounds(request, None))
            }
            Class::ThinkingBound => self.strip_thinking(request),
            _ => None,
        }
    }

    fn drop_rounds(
        &mut self,
        request: &Request,
        gap: Option<u64>,
    ) -> Option<(Request, &'static str)> {
        if self.drops >= MAX_DROPS {
            return None;
        }
        self.drops += 1;
        let smaller = shrink::drop_rounds(request, self.limits.tail, gap)?;
        Some((smaller, "oldest rounds dropped"))
    }

    /// Once by itself: no media are left to strip a second time.
    fn strip_media(request: &Request) -> Option<(Request, &'static str)> {
        Some((shrink::strip_media(request)?, "images and documents left out"))
    }

    fn strip_thinking(&mut self, request: &Request) -> Option<(Request, &'static str)> {
        if std::mem::replace(&mut self.thinking_stripped, true) {
            return None;
        }
        let smaller = shrink::strip_thinking(request, self.limits.first_edited)?;
        Some((smaller, "thinking left out"))
    }

    fn lower(&mut self, error: &ModelError, request: &Request) -> Option<(Request, &'static str)> {
        if self.lowered >= MAX_LOWERED {
            return None;
        }
        let figures = &error.figures;
        let room = figures.limit?.checked_sub(figures.input.unwrap_or(0))?;
        if room < LEAST_OUTPUT.min(request.max_tokens) {
            return None;
        }
        self.lowered += 1;
        Some((shrink::shrink_output(request, room)?, "limit of output lowered"))
    }

    fn double(&mut self, request: &Request) -> Option<Next> {
        let raised = request.max_tokens.saturating_mul(2).min(self.limits.max_output);
        // A limit that an error lowered is the most there is room for.
        let settled = self.doubled || self.lowered > 0 || self.continuations > 0;
        if settled || self.limits.listened || raised <= request.max_tokens {
            return None;
        }
        self.doubled = true;
        let request = Request { max_tokens: raised, ..request.clone() };
        Some(Next::Again { request, wait: Duration::ZERO, change: "limit of output raised" })
    }

    /// Only words can be continued. An answer that calls tools can't: no prompt holds a call without its
    /// result.
    fn go_on(&mut self, reply: &Reply, request: &Request) -> Option<Next> {
        if reply.text().trim().is_empty() {
            return None;
        }
        let said = answered(&reply.content, request.end());
        let go_on = PromptMessage::said(CONTINUE, request.end(), about_tokens(CONTINUE.len()));
        self.more(request, vec![said, go_on], "answer continued")
    }

    /// The provider goes on by itself when it reads its own words last.
    fn resume(&mut self, reply: &Reply, request: &Request) -> Option<Next> {
        let said = answered(&reply.content, request.end());
        if said.blocks.is_empty() {
            return None;
        }
        self.more(request, vec![said], "paused answer resumed")
    }

    fn more(
        &mut self,
        request: &Request,
        messages: Vec<PromptMessage>,
        change: &'static str,
    ) -> Option<Next> {
        if self.continuations >= MAX_CONTINUATIONS {
            return None;
        }
        let longer = request.followed_by(messages).ok()?;
        self.continuations += 1;
        let added = longer.prompt.messages().len() - request.prompt.messages().len();
        self.limits.tail += added;
        Some(Next::More { request: longer, change })
    }

    /// The window was full before the answer was: a shorter prompt leaves it more room.
    fn room(&mut self, request: &Request) -> Option<Next> {
        if self.limits.listened {
            return None;
        }
        let (request, change) = self.drop_rounds(request, None)?;
        Some(Next::Again { request, wait: Duration::ZERO, change })
    }
}

#[cfg(test)]
mod tests;
