//! The kinds of pieces that a tokenizer sees in a text, and what each costs.
//!
//! A byte-pair tokenizer first splits a text where letters, digits, marks and white space meet, and then
//! rarely needs more than one token for a common piece. So pieces are counted, not bytes: a piece has about
//! five bytes in prose, three in code, two in JSON and hashes, and the estimate fits each without knowing
//! which kind of text it is.

/// Costs are in thousandths of a token, so that sums are integers.
pub const MILLI: u64 = 1_000;
/// Number of tokens in a tool result's id and frame, not counting its content. A result always comes with its call, so
/// reported usage only shows the sum of both frames; this is the smaller part.
pub const RESULT_FRAME_TOKENS: u32 = 30;
/// Maximum length of a word. A longer run of letters of one case is minified code or encoded data.
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

            /// Returns where the kind's cost comes from.
            pub fn fit(self) -> FactorSource {
                match self { $(TokenKind::$kind => FactorSource::$fit,)* }
            }

            /// Returns the kind's cost, in thousandths of a token.
            pub const fn milli(self) -> u64 {
                match self { $(TokenKind::$kind => $milli,)* }
            }
        }

        /// Number of kinds.
        pub const KINDS: usize = [$($milli as u64,)*].len();
    };
}

/// Where a cost comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorSource {
    /// Fitted to reported usage (`figures --only tokens` fits it again).
    Usage,
    /// Set by hand, because the recorded sessions contain too little text of this kind to fit the cost.
    Set,
}

// Costs of `Usage` kinds were fitted to 1,566 turns of 15 recorded sessions (Claude Sonnet 4 to Opus 4.6),
// with leave-one-out validation: `figures --only tokens FILES…`.
kinds! {
    Free "free" Set 0 "A piece that costs nothing: a later letter of a word, a single space, a repeated line break, or a later byte of a UTF-8 character.",
    Word "word" Usage 1_070 "A run of lowercase letters that does not follow a capital letter.",
    Capital "capital" Usage 1_560 "A run of capital letters, with the lowercase letters after it.",
    Long "long run" Set 300 "A letter after the first 16 in a run of letters that is too long to be a word.",
    Digits "digits" Usage 850 "The first digit in a run of digits.",
    Digit "digit" Usage 390 "A later digit in a run of digits.",
    Line "line" Usage 1_000 "A line ending, including any blank lines after it.",
    Indent "indent" Usage 220 "White space that follows other white space.",
    Mark "mark" Usage 1_280 "A punctuation mark, such as a bracket or a quote.",
    Marks "marks" Usage 100 "A punctuation mark that follows another one.",
    Symbol "symbol" Usage 1_200 "A character from U+2000 to U+2FFF, such as an arrow, a box-drawing character or a typographic quote.",
    Cjk "cjk" Set 1_000 "A character of Chinese, Japanese, Korean or another script with three bytes per character.",
    Emoji "emoji" Set 2_500 "A character above U+FFFF.",
    Script "script" Set 600 "A character of a script with two bytes per character, such as Cyrillic, Greek, Arabic or accented Latin.",
    Call "call" Usage 53_000 "A tool call without its input: the name, the id and the fixed tokens around them.",
    Result "result" Set 30_000 "A tool result without its text: the id and the fixed tokens around it.",
    Thought "thought" Usage 16_000 "A thinking block, without its text.",
    Media "media" Set 2_000_000 "An image or a document, whatever its size.",
}

const _: () = assert!(TokenKind::Result.milli() == RESULT_FRAME_TOKENS as u64 * MILLI);
