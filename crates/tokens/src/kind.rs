//! What a text is made of, as far as it matters to a tokenizer, and what each part costs.
//!
//! A byte-pair tokenizer first splits a text where letters, digits, marks and white space meet, and
//! then rarely needs more than one token for a common piece. So pieces are counted, not bytes: prose
//! has about five bytes a piece, code three, JSON and hashes two, and each gets its own figure
//! without anyone having to say which of them a text is.

/// Thousandths of a token: sums of many small costs stay whole numbers.
pub const MILLI: u64 = 1_000;
/// A tool result's id and frame, whatever it shows. A result always comes with its call, so that usage
/// tells the sum of both frames alone; this is the smaller share of it.
pub const RESULT_FRAME_TOKENS: u32 = 30;
/// Letters of one case in a row from which on they are no word: minified code, encoded data.
pub const LONG_RUN: u32 = 16;

macro_rules! kinds {
    ($($kind:ident $name:literal $fit:ident $milli:literal $why:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum TokenKind { $(#[doc = $why] $kind,)* }

        impl TokenKind {
            pub const ALL: [TokenKind; KINDS] = [$(TokenKind::$kind,)*];

            pub fn name(self) -> &'static str {
                match self { $(TokenKind::$kind => $name,)* }
            }

            /// Where its cost comes from.
            pub fn fit(self) -> FactorSource {
                match self { $(TokenKind::$kind => FactorSource::$fit,)* }
            }

            /// Its cost, in thousandths of a token.
            pub const fn milli(self) -> u64 {
                match self { $(TokenKind::$kind => $milli,)* }
            }
        }

        /// How many kinds there are.
        pub const KINDS: usize = [$($milli as u64,)*].len();
    };
}

/// Where a cost comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorSource {
    /// Fitted to reported usage (`figures --only tokens` fits it again).
    Usage,
    /// Set, since the recorded sessions have too little of it to fit.
    Set,
}

// Costs of `Usage` kinds were fitted to 1,566 turns of 15 recorded sessions (Claude Sonnet 4 to Opus
// 4.6), each left out in turn to see that they hold for others: `figures --only tokens FILES…`.
kinds! {
    Free "free" Set 0 "What its neighbours pay for: letters of a word, one space before it.",
    Word "word" Usage 1_070 "A run of small letters that no capital opens.",
    Capital "capital" Usage 1_560 "A run of capitals, with the small letters after it.",
    Long "long run" Set 300 "A letter further than any word goes.",
    Digits "digits" Usage 850 "The first digit of a run.",
    Digit "digit" Usage 390 "A further digit.",
    Line "line" Usage 1_000 "A line end; blank lines go with it.",
    Indent "indent" Usage 220 "White space after white space.",
    Mark "mark" Usage 1_280 "A mark, such as a bracket or a quote.",
    Marks "marks" Usage 100 "A mark after a mark.",
    Symbol "symbol" Usage 1_200 "Arrows, box drawing, typographic quotes: U+2000 to U+2FFF.",
    Cjk "cjk" Set 1_000 "A character of Chinese, Japanese or Korean, or of another script of three bytes a character.",
    Emoji "emoji" Set 2_500 "A character above U+FFFF.",
    Script "script" Set 600 "A character of a script of two bytes: Cyrillic, Greek, Arabic, accented Latin.",
    Call "call" Usage 53_000 "A tool call's name, id and frame, beside its input.",
    Result "result" Set 30_000 "A tool result's id and frame, beside its text.",
    Thought "thought" Usage 16_000 "A block of thinking, beside its text.",
    Media "media" Set 2_000_000 "An image or a document, whatever its bytes (specification, section 3).",
}

const _: () = assert!(TokenKind::Result.milli() == RESULT_FRAME_TOKENS as u64 * MILLI);
