//! The expected result of each fault, from the providers' documentation and the specification.

use bethink_model::ErrorClass::{self, *};
use bethink_model_server::{Fault, Kind, Wire};

/// The expected end of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expect {
    /// With an answer, complete or not, that the caller can use or reject.
    Answer,
    /// With an error of one of these classes.
    Error(&'static [ErrorClass]),
    /// With an answer, or with an error of one of these classes.
    Either(&'static [ErrorClass]),
    /// Only with the caller's deadline.
    Deadline,
}

pub(crate) fn call(fault: Fault, wire: Wire, stream: bool) -> Expect {
    use Expect::{Answer, Deadline, Either, Error};
    match fault {
        Fault::HangAtAccept
        | Fault::HangBeforeHeaders
        | Fault::HangInHeaders
        | Fault::HangAfterHeaders
        | Fault::HangMidStream => Error(&[TimedOut]),
        Fault::OneByteASecond => Deadline,
        Fault::ResetAtAccept
        | Fault::ResetBeforeHeaders
        | Fault::ResetMidStream
        | Fault::CloseBeforeHeaders
        | Fault::NotHttp => Error(&[Broken, Unreachable]),
        Fault::HalfClose | Fault::TruncatedJson | Fault::EofWithoutStop => Error(&[Broken]),
        // The answer is complete; only the end of the stream is missing.
        Fault::LengthTooLong if stream => Either(&[Broken]),
        Fault::LengthTooLong | Fault::LengthTooShort | Fault::HtmlOk => Error(&[Broken]),
        Fault::HugeStream | Fault::HugeEvent => Error(&[TooMuch]),
        // Rejected without unpacking, because no compression was requested.
        Fault::GzipBomb => Error(&[Broken]),
        Fault::ErrorAfterOk | Fault::ErrorMidStream if wire == Wire::OpenAi => {
            Error(&[Overloaded, Server])
        }
        Fault::ErrorAfterOk | Fault::ErrorMidStream => Error(&[Overloaded]),
        Fault::Redirect => Error(&[Invalid, Broken, Forbidden, NotFound, Unknown]),
        Fault::RateLimited | Fault::RateLimitedBare | Fault::RateLimitedLong => {
            Error(&[RateLimited])
        }
        Fault::Overloaded | Fault::OverloadedBare | Fault::Unavailable => {
            Error(&[Overloaded, Server])
        }
        Fault::ServerError | Fault::BadGateway => Error(&[Server]),
        Fault::WrongKey | Fault::EchoedKey | Fault::NotPermitted => Error(&[Auth]),
        Fault::NoModel => Error(&[NotFound]),
        Fault::Quota => Error(&[Quota]),
        Fault::Invalid => Error(&[Invalid]),
        Fault::Overflow
        | Fault::OverflowAfterOk
        | Fault::OverflowBedrock
        | Fault::OverflowGemini
        | Fault::OverflowOpenAi
        | Fault::OverflowResponses
        | Fault::OverflowLlamaCpp => Error(&[Overflow]),
        Fault::OutputOverflow => Error(&[OutputOverflow, Overflow]),
        Fault::RequestTooLarge => Error(&[RequestTooLarge]),
        Fault::MediaTooLarge => Error(&[MediaTooLarge]),
        // Chat completions contain no thinking that could be left out.
        Fault::ThinkingBound | Fault::ThinkingModified if wire == Wire::OpenAi => Error(&[Invalid]),
        Fault::ThinkingBound | Fault::ThinkingModified => Error(&[ThinkingBound]),
        Fault::CallWithoutResult | Fault::ResultWithoutCall => Error(&[History]),
        Fault::UnknownError => Error(&[Unknown]),
        Fault::BrokenArguments | Fault::EmptyContent => Either(&[Broken]),
        _ => match fault.kind() {
            Kind::Content | Kind::Odd => Answer,
            _ => Error(&[]),
        },
    }
}

/// Returns whether a call must succeed if the fault occurs only once.
pub(crate) fn heals(fault: Fault) -> bool {
    use bethink_model::Retry;
    match call(fault, Wire::Anthropic, true) {
        Expect::Answer | Expect::Either(_) => true,
        Expect::Deadline => false,
        Expect::Error(classes) => {
            // A wait of an hour is too long.
            fault != Fault::RateLimitedLong
                && classes.iter().all(|class| Retry::after(*class) != Retry::Never)
        }
    }
}
