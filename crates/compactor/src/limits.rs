//! Every number of a compaction, in one place; defaults are the specification's (section 4).

/// Budgets of a compaction, in estimated tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactLimits {
    /// The kept tail has at least this …
    pub keep_min_tokens: u64,
    /// … and so many messages with text …
    pub keep_min_messages: usize,
    /// … but is not extended past this.
    pub keep_max_tokens: u64,
    pub user_message_tokens: u64,
    pub files: usize,
    pub file_tokens: u64,
    pub files_tokens: u64,
    pub skill_tokens: u64,
    pub skills_tokens: u64,
    /// Consecutive failures after which compaction is no longer tried on its own.
    pub max_failures: u32,
    /// Refilled within so many turns …
    pub thrash_turns: u32,
    /// … so often in a row: something else fills the window.
    pub thrash_times: u32,
}

impl Default for CompactLimits {
    fn default() -> Self {
        Self {
            keep_min_tokens: 10_000,
            keep_min_messages: 5,
            keep_max_tokens: 40_000,
            user_message_tokens: 20_000,
            files: 5,
            file_tokens: 5_000,
            files_tokens: 50_000,
            skill_tokens: 5_000,
            skills_tokens: 25_000,
            max_failures: 3,
            thrash_turns: 3,
            thrash_times: 3,
        }
    }
}

/// A compaction must free at least this share of the prompt, in percent: less is not worth a cold
/// cache.
pub const MIN_FREED_PERCENT: u64 = 5;

/// How the room under `auto` is shared out after a compaction. What is left is the room to work in.
/// Measured on recorded sessions: a larger tail keeps what is near, a larger summary what is far.
pub const TAIL_PERCENT: u64 = 40;
pub const SUMMARY_PERCENT: u64 = 35;
pub const RESTORED_PERCENT: u64 = 10;
/// What is restored fills a new view no further than this, so that the next compaction is not at hand.
pub const FILLED_PERCENT: u64 = 80;
/// The largest summary, whatever the window: past it a summary is read like a log.
pub const SUMMARY_MAX_TOKENS: u64 = 16_000;
/// So much more where a text of another hand is a part of it: notes, which have up to 12,000 tokens, or
/// what a model wrote.
pub const TEXT_EXTRA_TOKENS: u64 = 8_000;
/// The smallest: nine sections with a line each.
pub const SUMMARY_MIN_TOKENS: u64 = 400;
/// Less room than this under `auto` once system and tools are in: no compaction can help.
pub const MIN_ROOM: u64 = 1_500;

/// The largest answer of a model that is read as a summary: four times the bytes of the largest one that is
/// written, draft included.
pub const REPLY_MAX_BYTES: usize = 200_000;
/// What people may ask of a summary, in bytes: longer is a specification, which belongs elsewhere.
pub const WISH_BYTES: usize = 4_000;
