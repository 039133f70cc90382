//! Limits of compactions.

/// Budgets of a compaction, in estimated tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactLimits {
    /// Minimum number of tokens in the kept tail, if there is room.
    pub keep_min_tokens: u64,
    /// Minimum number of messages with text in the kept tail, if there is room.
    pub keep_min_messages: usize,
    /// Maximum number of tokens to which the kept tail is extended.
    pub keep_max_tokens: u64,
    pub user_message_tokens: u64,
    pub files: usize,
    pub file_tokens: u64,
    pub files_tokens: u64,
    pub skill_tokens: u64,
    pub skills_tokens: u64,
    /// Number of consecutive failures after which compaction is no longer tried automatically.
    pub max_failures: u32,
    /// If the window fills up within this many turns after a compaction, that counts as a quick refill.
    pub thrash_turns: u32,
    /// Number of quick refills in a row that count as thrashing: something other than the history fills the window.
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

/// Minimum percentage of the prompt that a compaction must free: less is not worth losing the cache.
pub const MIN_FREED_PERCENT: u64 = 5;

/// Percentage of the room under the `auto` threshold that the kept tail may take up. In recorded sessions, a tail of twice
/// this size did not help to answer more questions, and made prompts more expensive.
pub const TAIL_PERCENT: u64 = 20;
/// Maximum percentage for a tail that cannot be kept to [`TAIL_PERCENT`] because its newest round is large. Notes that leave a
/// larger tail are not used if another level can write the summary: the next compaction would follow soon.
pub const TAIL_MAX_PERCENT: u64 = 32;
pub const SUMMARY_PERCENT: u64 = 25;
/// Maximum percentage of the room under the `auto` threshold that a view with restored texts may fill, so that the next
/// compaction is not due immediately.
pub const FILLED_PERCENT: u64 = 80;
/// Maximum percentage of the room under the `auto` threshold that the user's words may take up.
pub const USER_ROOM_PERCENT: u64 = 20;
/// Maximum percentage of a summary that the user's words may take up, if the request sets the size of the summary.
pub const USER_PERCENT: usize = 20;
/// Maximum size of a summary without the user's words, in tokens: models read a longer one less carefully.
pub const SUMMARY_MAX_TOKENS: u64 = 4_000;
/// Additional tokens for a summary that contains notes or a model's text.
pub const TEXT_EXTRA_TOKENS: u64 = 4_000;
/// Minimum size of a summary, in tokens: nine sections with a line each.
pub const SUMMARY_MIN_TOKENS: u64 = 400;
/// Percentages of the room under the `auto` threshold that restored texts may take up: in a small window, and in one with
/// [`RESTORED_ROOM`]. In between, the percentage grows with the square of the room: a small window needs its room for work,
/// and a large one can take all that the budgets of [`CompactLimits`] allow.
pub const RESTORED_PERCENT: u64 = 10;
pub const RESTORED_LARGE_PERCENT: u64 = 45;
/// The room under the `auto` threshold of a window of 200,000 tokens with a typical system prompt and tools, in tokens.
pub const RESTORED_ROOM: u64 = 140_000;

/// Returns the maximum size of all restored texts for a room under the `auto` threshold, in tokens.
pub fn restored_tokens(room: u64) -> u64 {
    let full = room.min(RESTORED_ROOM);
    let extra =
        (RESTORED_LARGE_PERCENT - RESTORED_PERCENT) * full * full / (RESTORED_ROOM * RESTORED_ROOM);
    room * (RESTORED_PERCENT + extra) / 100
}

/// Minimum room that the system prompt and tools must leave under the `auto` threshold, in tokens. With less, no compaction
/// can help.
pub const MIN_ROOM: u64 = 1_500;

/// Maximum size of a model's answer with its draft, in bytes: several times the size of a usual answer.
pub const REPLY_MAX_BYTES: usize = 200_000;
/// Maximum size of instructions about summaries, in bytes: a longer text is a specification, which belongs elsewhere.
pub const INSTRUCTIONS_BYTES: usize = 4_000;
