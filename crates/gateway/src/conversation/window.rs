//! Finds the context window of a client's model, because requests do not state it.

use bethink_api::ModelSpec;
use bethink_context::thresholds::{MIN_WINDOW, OUTPUT_RESERVE};
use bethink_service::Result;

use super::service::GatewayService;

/// Context windows by prefix of the model's name, from the providers' lists of models; the longest prefix wins. A
/// qualifier before the name, such as `anthropic/` or `us.anthropic.`, is ignored.
const WINDOWS: [(&str, u64); 17] = [
    ("claude", 200_000),
    ("gpt-5", 400_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("gpt-3.5", 16_385),
    ("chatgpt-4o", 128_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("gemini", 1_048_576),
    ("deepseek", 128_000),
    ("kimi", 256_000),
    ("glm", 128_000),
    ("grok-4", 256_000),
    ("mistral-large", 128_000),
];

/// Suffix of a model name that stands for a context window of a million tokens.
const LARGE: &str = "[1m]";
const LARGE_WINDOW: u64 = 1_000_000;

impl GatewayService {
    /// Returns the model of a request. Its window comes from the settings for this model, the suffix of the name, the table, or
    /// the default in the settings.
    pub(super) fn client_model(&self, name: String, max_output: Option<u64>) -> Result<ModelSpec> {
        let settings = &self.cx.settings().context;
        let context_window = settings
            .window_of(&name)
            .or_else(|| name.ends_with(LARGE).then_some(LARGE_WINDOW))
            .or_else(|| longest(WINDOWS.into_iter(), bare(&name)))
            .unwrap_or(settings.window);
        let context_window = beside(context_window, max_output.unwrap_or(0));
        let max_output_tokens = max_output.filter(|most| *most > 0);
        let preserved_thinking = None;
        let spec = ModelSpec { name, context_window, max_output_tokens, preserved_thinking };
        self.sessions.model_or_default(Some(spec))
    }
}

/// Reduces the window so that a prompt that just fits leaves room for the requested output, because providers refuse
/// prompts that do not. The compaction thresholds already reserve some room. A quarter of the window is always left for
/// the prompt.
fn beside(window: u64, max_output: u64) -> u64 {
    let room = window - max_output.min(window / 4 * 3);
    window.min((room + room.min(OUTPUT_RESERVE)).max(MIN_WINDOW))
}

fn longest<'a>(known: impl Iterator<Item = (&'a str, u64)>, name: &str) -> Option<u64> {
    let fitting = known.filter(|(start, _)| name.starts_with(start));
    fitting.max_by_key(|(start, _)| start.len()).map(|(_, window)| window)
}

/// Returns the model's name without a qualifier.
fn bare(name: &str) -> &str {
    let name = name.rsplit('/').next().unwrap_or(name);
    name.rsplit_once("anthropic.").map_or(name, |(_, bare)| bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_answer_has_its_room() {
        for (window, output, expect) in [
            (200_000, 0, 200_000),
            (200_000, 20_000, 200_000),
            (200_000, 64_000, 156_000),
            (108_000, 64_000, 64_000),
            (200_000, 180_000, 70_000),
            (16_000, 6_000, 16_000),
            (16_000, 12_000, 8_000),
            (12_000, 9_000, 8_000),
            (8_192, 8_192, 8_000),
            (4_000, 2_000, 4_000),
        ] {
            assert_eq!(beside(window, output), expect, "{window} {output}");
        }
    }

    #[test]
    fn windows_are_known_by_name() {
        for (name, expect) in [
            ("claude-sonnet-4-5-20250929", Some(200_000)),
            ("us.anthropic.claude-opus-4-1-v1:0", Some(200_000)),
            ("anthropic/claude-3.7-sonnet", Some(200_000)),
            ("gpt-4o-mini", Some(128_000)),
            ("gpt-4-0613", Some(8_192)),
            ("gpt-4.1-nano", Some(1_047_576)),
            ("openai/gpt-5.1-codex", Some(400_000)),
            ("qwen3-coder", None),
            ("", None),
        ] {
            assert_eq!(longest(WINDOWS.into_iter(), bare(name)), expect, "{name}");
        }
    }
}
