//! Converts settings to the limits of the engines.

use bethink_compactor::CompactLimits;
use bethink_config::Settings;
use bethink_context::StageLimits;
use bethink_context::budget::BudgetLimits;
use bethink_context::microcompact::MicrocompactLimits;
use bethink_transcript::ToolSelection;

/// Limits of the stages and compactions, for all sessions.
#[derive(Clone, Debug)]
pub(crate) struct SessionLimits {
    pub(crate) stages: StageLimits,
    pub(crate) compact: CompactLimits,
}

impl From<&Settings> for SessionLimits {
    fn from(settings: &Settings) -> Self {
        let (context, compact) = (&settings.context, &settings.compact);
        let budget = BudgetLimits {
            result_chars: context.result_chars,
            results_chars: context.results_chars,
            exempt: ToolSelection::new(&context.preview_exempt_tools),
        };
        let microcompact = MicrocompactLimits {
            idle_minutes: context.microcompact_idle_minutes,
            keep: to_usize(context.microcompact_keep),
            above: to_usize(context.microcompact_above),
            tools: ToolSelection::new(&context.microcompact_tools),
        };
        let compact = CompactLimits {
            keep_min_tokens: compact.keep_min_tokens,
            keep_min_messages: to_usize(compact.keep_min_messages),
            keep_max_tokens: compact.keep_max_tokens,
            user_message_tokens: compact.user_message_tokens,
            files: to_usize(compact.restore_files),
            file_tokens: compact.restore_file_tokens,
            files_tokens: compact.restore_files_tokens,
            skill_tokens: compact.restore_skill_tokens,
            skills_tokens: compact.restore_skills_tokens,
            max_failures: to_u32(compact.max_failures),
            thrash_turns: to_u32(compact.thrash_turns),
            thrash_times: to_u32(compact.thrash_times),
        };
        Self { stages: StageLimits { budget, snip: context.snip, microcompact }, compact }
    }
}

fn to_usize(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

fn to_u32(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
