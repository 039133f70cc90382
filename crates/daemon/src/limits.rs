//! Settings as the engines take them, and the daemon's own bounds.

use std::time::Duration;

use bethink_compactor::CompactLimits;
use bethink_config::{CompactSettings, ContextSettings};
use bethink_context::budget::BudgetLimits;
use bethink_context::microcompact::MicrocompactLimits;

/// Answers of a listing when the client names no limit, and at most.
pub(crate) const PAGE: usize = 100;
pub(crate) const MAX_PAGE: usize = 1_000;
/// Hits of a search, likewise.
pub(crate) const HITS: usize = 10;
pub(crate) const MAX_HITS: usize = 100;
/// Longest title and tag, in bytes; they stand in lists.
pub(crate) const MAX_TITLE: usize = 1_000;
pub(crate) const MAX_TAGS: usize = 100;
/// Longest name of a model in the ledger, in characters; providers' own names have 50 at most.
pub(crate) const MAX_MODEL_NAME: usize = 200;
/// Longest query that is searched for.
pub(crate) const MAX_QUERY: usize = 10_000;
/// Postings read for one search (about 15 MB for that moment): the words of a history of a million
/// messages, but for those that stand in most of them when there are rarer ones.
pub(crate) const POSTINGS: usize = 1_200_000;
/// A search waits so long for an index that is behind, and then tells that it is not complete.
pub(crate) const FINISH_INDEX: Duration = Duration::from_secs(8);
/// Messages read beyond the hits that are asked for: words that stand together bring one of them up.
pub(crate) const SECOND_LOOK: usize = 10;
/// So many times the hits that are asked for are ranked where some may be dropped when they are read.
pub(crate) const FILTERED_HITS: usize = 20;
/// Longest time, in days, that is looked up day by day.
pub(crate) const MAX_FILTER_DAYS: i64 = 100;
/// Todos in one list.
pub(crate) const MAX_TODOS: usize = 1_000;
/// Bytes of `PUT …/state/{kind}`.
pub(crate) const MAX_STATE_BYTES: usize = 8 * 1024 * 1024;
/// A file larger than this is not read again after a compaction: it would not fit anyway.
pub(crate) const MAX_RESTORED_FILE: u64 = 256 * 1024;
/// Tool rounds after which the whole todo list is shown again although it did not change: what stands
/// far up is read less.
pub(crate) const TODOS_WHOLE_EVERY: u32 = 20;

pub(crate) fn budget(settings: &ContextSettings) -> BudgetLimits {
    BudgetLimits {
        result_chars: settings.result_chars,
        results_chars: settings.results_chars,
        ..BudgetLimits::default()
    }
}

pub(crate) fn microcompact(settings: &ContextSettings) -> MicrocompactLimits {
    MicrocompactLimits {
        idle_minutes: settings.microcompact_idle_minutes,
        keep: to_usize(settings.microcompact_keep),
        above: to_usize(settings.microcompact_above),
        tools: settings.microcompact_tools.iter().cloned().collect(),
    }
}

pub(crate) fn compact(settings: &CompactSettings) -> CompactLimits {
    CompactLimits {
        keep_min_tokens: settings.keep_min_tokens,
        keep_min_messages: to_usize(settings.keep_min_messages),
        keep_max_tokens: settings.keep_max_tokens,
        user_message_tokens: settings.user_message_tokens,
        files: to_usize(settings.restore_files),
        file_tokens: settings.restore_file_tokens,
        files_tokens: settings.restore_files_tokens,
        skill_tokens: settings.restore_skill_tokens,
        skills_tokens: settings.restore_skills_tokens,
        max_failures: to_u32(settings.max_failures),
        thrash_turns: to_u32(settings.thrash_turns),
        thrash_times: to_u32(settings.thrash_times),
    }
}

fn to_usize(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

fn to_u32(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
