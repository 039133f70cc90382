//! Every number that governs compaction; defaults are the specification's (section 4).

/// Budgets of a compaction, in estimated tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactLimits {
    /// The kept tail has at least this many tokens …
    pub keep_min_tokens: u64,
    /// … and this many messages with text …
    pub keep_min_messages: usize,
    /// … but is not extended past this many tokens.
    pub keep_max_tokens: u64,
    pub user_message_tokens: u64,
    pub files: usize,
    pub file_tokens: u64,
    pub files_tokens: u64,
    pub skill_tokens: u64,
    pub skills_tokens: u64,
    /// Consecutive failures after which compaction is no longer tried automatically.
    pub max_failures: u32,
    /// A window that fills up within this many turns of a compaction was refilled quickly.
    pub thrash_turns: u32,
    /// How many quick refills in a row count as thrashing: something other than the history fills the window.
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

/// How the room under `auto` is divided after a compaction. The rest is room to work in. Measured on
/// recorded sessions: a larger tail keeps more recent names, a larger summary more old ones.
pub const TAIL_PERCENT: u64 = 40;
pub const SUMMARY_PERCENT: u64 = 35;
pub const RESTORED_PERCENT: u64 = 10;
/// Restored texts fill a new view no further than this, so that the next compaction is not due at once.
pub const FILLED_PERCENT: u64 = 80;
/// The largest summary, whatever the window: models read a longer one less carefully.
pub const SUMMARY_MAX_TOKENS: u64 = 16_000;
/// How much larger it may be when it contains notes (up to 12,000 tokens) or a model's text.
pub const TEXT_EXTRA_TOKENS: u64 = 8_000;
/// The smallest summary: nine sections with a line each.
pub const SUMMARY_MIN_TOKENS: u64 = 400;
/// If less room than this is left under `auto` after system and tools, no compaction can help.
pub const MIN_ROOM: u64 = 1_500;

/// The largest model answer that is read as a summary, draft included: four times the bytes of the largest
/// summary that is written.
pub const REPLY_MAX_BYTES: usize = 200_000;
/// Limit for instructions about summaries, in bytes: a longer text is a specification, which belongs elsewhere.
pub const WISH_BYTES: usize = 4_000;
