//! Which models check thinking against the prompt from which it was made.

/// The family whose models preserve thinking, and the first version that does (provider's documentation on preserved thinking:
/// from Claude Fable 5.1 on). Other families do not preserve it.
const PRESERVING: (&str, Version) = ("fable", (5, 1));

type Version = (u32, u32);

/// Whether views of a session with this model leave out thinking that was made from a different prompt. The session's
/// `preserved_thinking` overrides what the model's name implies.
pub fn preserves_thinking(setting: Option<bool>, model: &str) -> bool {
    let (family, first) = PRESERVING;
    let by_name = || version_of(&model.to_ascii_lowercase(), family).is_some_and(|v| v >= first);
    setting.unwrap_or_else(by_name)
}

/// Returns the version in the name of a model of `family`: `claude-fable-5-1-20260901` is (5, 1).
fn version_of(model: &str, family: &str) -> Option<Version> {
    let mut words = model.split(|c: char| !c.is_ascii_alphanumeric());
    words.find(|word| *word == family)?;
    // A date or a revision (`v1`) is not part of the version.
    let mut numbers = words.map_while(|word| word.parse().ok().filter(|n: &u32| *n < 1_000));
    numbers.next().map(|major| (major, numbers.next().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_preserve_thinking() {
        let check = |model: &str, expect: bool| {
            assert_eq!(preserves_thinking(None, model), expect, "{model}");
        };
        check("claude-fable-5-1", true);
        check("claude-fable-5.1", true);
        check("claude-fable-5-1-20260901", true);
        check("us.anthropic.claude-fable-5-1-v1:0", true);
        check("Claude-Fable-6", true);
        check("claude-fable-5-10", true);
        check("claude-fable-5", false);
        check("claude-fable-5-20260601", false);
        check("claude-fable", false);
        check("claude-sonnet-4-5", false);
        check("unfabled-9", false);
        check("gpt-5.1", false);
        check("", false);
    }

    #[test]
    fn the_sessions_setting_wins() {
        assert!(preserves_thinking(Some(true), "claude-sonnet-4-5"));
        assert!(!preserves_thinking(Some(false), "claude-fable-5-1"));
    }
}
