//! How each failure has to end, from the providers' documentation and the specification's table.

use bethink_model::ErrorClass::{self, *};
use bethink_model_server::{Fault, Kind, Wire};

/// How a call may end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expect {
    /// With an answer, whole or not, that a caller can use or refuse.
    Answer,
    /// With an error of one of these classes.
    Error(&'static [ErrorClass]),
    /// With an answer or with one of these.
    Either(&'static [ErrorClass]),
    /// Only the caller's own deadline ends it.
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
        // The answer itself is whole; only what follows it is missing.
        Fault::LengthTooLong if stream => Either(&[Broken]),
        Fault::LengthTooLong | Fault::LengthTooShort | Fault::HtmlOk => Error(&[Broken]),
        Fault::HugeStream | Fault::HugeEvent => Error(&[TooMuch]),
        // Never unpacked: nobody asked for it to be packed.
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
        // Chat completions carry no thinking, so that there is nothing to leave out.
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

/// Whether one such failure, and then a good server, has to lead to an answer.
pub(crate) fn heals(fault: Fault) -> bool {
    use bethink_model::Retry;
    match call(fault, Wire::Anthropic, true) {
        Expect::Answer | Expect::Either(_) => true,
        Expect::Deadline => false,
        Expect::Error(classes) => {
            // An hour is longer than anybody waits.
            fault != Fault::RateLimitedLong
                && classes.iter().all(|class| Retry::after(*class) != Retry::Never)
        }
    }
}
