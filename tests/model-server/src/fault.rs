//! All faults, by name.

use serde::{Deserialize, Serialize};

/// The stage at which a fault occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Before the request is read.
    Connection,
    /// A good answer that is not delivered correctly.
    Delivery,
    /// An HTTP error, or an error in the stream.
    Refusal,
    /// A well-formed answer with wrong content.
    Content,
    /// An unusual but valid answer, which a client must accept.
    Odd,
}

macro_rules! faults {
    ($($(#[doc = $doc:literal])* $fault:ident $name:literal $kind:ident,)*) => {
        /// A fault. Scripts and tables use the names, so they do not change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Fault {
            $($(#[doc = $doc])* #[serde(rename = $name)] $fault,)*
        }

        impl Fault {
            pub const ALL: &[Fault] = &[$(Fault::$fault,)*];

            pub fn name(self) -> &'static str {
                match self { $(Fault::$fault => $name,)* }
            }

            pub fn kind(self) -> Kind {
                match self { $(Fault::$fault => Kind::$kind,)* }
            }
        }
    };
}

faults! {
    /// The connection is accepted but never read.
    HangAtAccept "hang_at_accept" Connection,
    /// The connection is reset as soon as the request begins.
    ResetAtAccept "reset_at_accept" Connection,
    /// The request is read, but never answered.
    HangBeforeHeaders "hang_before_headers" Delivery,
    /// Half of the headers, then nothing.
    HangInHeaders "hang_in_headers" Delivery,
    /// The headers, then nothing.
    HangAfterHeaders "hang_after_headers" Delivery,
    /// Half of the answer, then nothing.
    HangMidStream "hang_mid_stream" Delivery,
    /// The answer, one byte at each tick of [`crate::Script::drip_ms`].
    OneByteASecond "one_byte_a_second" Delivery,
    ResetBeforeHeaders "reset_before_headers" Delivery,
    ResetMidStream "reset_mid_stream" Delivery,
    /// The server closes its sending half in the middle of the answer.
    HalfClose "half_close" Delivery,
    /// The connection is closed without any answer.
    CloseBeforeHeaders "close_before_headers" Delivery,
    /// Well-formed HTTP with half of the JSON.
    TruncatedJson "truncated_json" Delivery,
    /// `Content-Length` is larger than the body.
    LengthTooLong "length_too_long" Delivery,
    /// `Content-Length` is smaller than the body.
    LengthTooShort "length_too_short" Delivery,
    /// Bytes that are not HTTP.
    NotHttp "not_http" Delivery,
    /// 200 with a web page.
    HtmlOk "html_ok" Delivery,
    /// An endless stream of events.
    HugeStream "huge_stream" Delivery,
    /// An endless event.
    HugeEvent "huge_event" Delivery,
    /// `Content-Encoding: gzip` with a body that unpacks to a gigabyte.
    GzipBomb "gzip_bomb" Delivery,
    /// 200, then an error instead of the first event.
    ErrorAfterOk "error_after_ok" Delivery,
    /// 200, some text, then an error.
    ErrorMidStream "error_mid_stream" Delivery,
    /// 200, then the provider's overflow text as an event.
    OverflowAfterOk "overflow_after_ok" Delivery,
    /// A correct end of the body before the answer is complete.
    EofWithoutStop "eof_without_stop" Delivery,
    /// 307 to an address that clients must not connect to.
    Redirect "redirect" Delivery,
    /// 429 with `Retry-After: 1`.
    RateLimited "rate_limited" Refusal,
    RateLimitedBare "rate_limited_bare" Refusal,
    /// 429 with a `Retry-After` of an hour.
    RateLimitedLong "rate_limited_long" Refusal,
    /// 529 with `Retry-After: 1`.
    Overloaded "overloaded" Refusal,
    OverloadedBare "overloaded_bare" Refusal,
    ServerError "server_error" Refusal,
    /// 502 with a proxy's web page.
    BadGateway "bad_gateway" Refusal,
    /// 503 with plain text.
    Unavailable "unavailable" Refusal,
    WrongKey "wrong_key" Refusal,
    /// 401 with the client's key in the error text.
    EchoedKey "echoed_key" Refusal,
    NotPermitted "not_permitted" Refusal,
    NoModel "no_model" Refusal,
    Quota "quota" Refusal,
    Invalid "invalid" Refusal,
    /// The prompt alone is too long, with figures.
    Overflow "overflow" Refusal,
    /// Prompt and `max_tokens` together are too long.
    OutputOverflow "output_overflow" Refusal,
    OverflowBedrock "overflow_bedrock" Refusal,
    OverflowGemini "overflow_gemini" Refusal,
    OverflowOpenAi "overflow_openai" Refusal,
    OverflowResponses "overflow_responses" Refusal,
    OverflowLlamaCpp "overflow_llama_cpp" Refusal,
    /// 413.
    RequestTooLarge "request_too_large" Refusal,
    MediaTooLarge "media_too_large" Refusal,
    ThinkingBound "thinking_bound" Refusal,
    ThinkingModified "thinking_modified" Refusal,
    CallWithoutResult "call_without_result" Refusal,
    ResultWithoutCall "result_without_call" Refusal,
    /// An error that the table of errors does not have.
    UnknownError "unknown_error" Refusal,
    /// Calls a tool in every answer.
    ToolLoop "tool_loop" Content,
    /// Calls a tool that was not offered.
    ForbiddenTool "forbidden_tool" Content,
    /// 500 calls in one answer.
    ManyCalls "many_calls" Content,
    /// Edits a file that is not the notes.
    OtherFile "other_file" Content,
    /// Edits a path that climbs out of the notes' directory.
    EscapesPath "escapes_path" Content,
    /// Arguments that are not JSON.
    BrokenArguments "broken_arguments" Content,
    /// No content at all.
    EmptyContent "empty_content" Content,
    EmptySummary "empty_summary" Content,
    /// Prose instead of the format.
    NoFormat "no_format" Content,
    LacksSection "lacks_section" Content,
    /// A summary with more bytes than the request.
    LargerThanInput "larger_than_input" Content,
    TerminalEscapes "terminal_escapes" Content,
    /// Ends at the output limit, every time.
    CutOff "cut_off" Content,
    Refuses "refuses" Content,
    NegativeUsage "negative_usage" Content,
    AbsurdUsage "absurd_usage" Content,
    MissingUsage "missing_usage" Content,
    /// Unknown events and fields.
    UnknownEvents "unknown_events" Odd,
    /// Byte-order mark, CRLF, comments, `data:` without a space.
    OddSse "odd_sse" Odd,
}

impl Fault {
    pub fn named(name: &str) -> Option<Fault> {
        Fault::ALL.iter().copied().find(|fault| fault.name() == name)
    }

    /// Returns whether the fault ends at once, so that it can be used at random.
    pub fn is_quick(self) -> bool {
        use Fault as F;
        !matches!(
            self,
            F::HangAtAccept
                | F::HangBeforeHeaders
                | F::HangInHeaders
                | F::HangAfterHeaders
                | F::HangMidStream
                | F::OneByteASecond
                | F::HugeStream
                | F::HugeEvent
                | F::GzipBomb
                | F::HalfClose
                | F::RateLimitedLong
        )
    }

    /// Returns whether retrying the same request cannot succeed.
    pub fn is_permanent(self) -> bool {
        use Fault as F;
        matches!(
            self,
            F::Redirect
                | F::WrongKey
                | F::EchoedKey
                | F::NotPermitted
                | F::NoModel
                | F::Quota
                | F::Invalid
                | F::Overflow
                | F::OverflowAfterOk
                | F::OutputOverflow
                | F::OverflowBedrock
                | F::OverflowGemini
                | F::OverflowOpenAi
                | F::OverflowResponses
                | F::OverflowLlamaCpp
                | F::RequestTooLarge
                | F::MediaTooLarge
                | F::ThinkingBound
                | F::ThinkingModified
                | F::CallWithoutResult
                | F::ResultWithoutCall
                | F::UnknownError
        )
    }

    /// Returns whether the provider reports that the request is too long.
    pub fn is_overflow(self) -> bool {
        use Fault as F;
        matches!(
            self,
            F::Overflow
                | F::OverflowAfterOk
                | F::OutputOverflow
                | F::OverflowBedrock
                | F::OverflowGemini
                | F::OverflowOpenAi
                | F::OverflowResponses
                | F::OverflowLlamaCpp
                | F::RequestTooLarge
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_a_name_of_its_own_that_leads_back() {
        for fault in Fault::ALL {
            assert_eq!(Fault::named(fault.name()), Some(*fault));
            assert_eq!(serde_json::json!(fault), fault.name());
        }
        assert_eq!(Fault::named("none"), None);
    }
}
