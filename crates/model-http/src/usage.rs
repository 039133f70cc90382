//! Reads the token figures that providers send, and limits them to plausible values.

use bethink_transcript::TokenUsage;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Number;
use serde_json::value::RawValue;

use crate::limits::MAX_FIGURE;

/// The figures received for one call. Figures only increase, so the largest value of each is kept.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UsageTally {
    input: Option<u64>,
    output: Option<u64>,
    written: Option<u64>,
    read: Option<u64>,
    doubtful: bool,
}

/// The members are parsed separately, so that an invalid figure does not affect the other figures.
#[derive(Deserialize)]
struct AnthropicUsage {
    input_tokens: Option<Box<RawValue>>,
    output_tokens: Option<Box<RawValue>>,
    cache_creation_input_tokens: Option<Box<RawValue>>,
    cache_read_input_tokens: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct OpenAiUsage {
    prompt_tokens: Option<Box<RawValue>>,
    completion_tokens: Option<Box<RawValue>>,
    prompt_tokens_details: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct ResponsesUsage {
    input_tokens: Option<Box<RawValue>>,
    output_tokens: Option<Box<RawValue>>,
    input_tokens_details: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiUsage {
    prompt_token_count: Option<Box<RawValue>>,
    cached_content_token_count: Option<Box<RawValue>>,
    tool_use_prompt_token_count: Option<Box<RawValue>>,
    candidates_token_count: Option<Box<RawValue>>,
    thoughts_token_count: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<Box<RawValue>>,
}

impl UsageTally {
    /// Adds a complete or partial `usage` object from the Messages API.
    pub(crate) fn take_anthropic(&mut self, usage: Option<&RawValue>) {
        let Some(usage) = self.read::<AnthropicUsage>(usage) else { return };
        take(&mut self.input, &mut self.doubtful, usage.input_tokens);
        take(&mut self.output, &mut self.doubtful, usage.output_tokens);
        take(&mut self.written, &mut self.doubtful, usage.cache_creation_input_tokens);
        take(&mut self.read, &mut self.doubtful, usage.cache_read_input_tokens);
    }

    /// Adds a `usage` object from chat completions.
    pub(crate) fn take_openai(&mut self, usage: Option<&RawValue>) {
        let Some(usage) = self.read::<OpenAiUsage>(usage) else { return };
        let OpenAiUsage { prompt_tokens, completion_tokens, prompt_tokens_details } = usage;
        self.take_with_cached(prompt_tokens, completion_tokens, prompt_tokens_details.as_deref());
    }

    /// Adds a `usage` object from the Responses API.
    pub(crate) fn take_responses(&mut self, usage: Option<&RawValue>) {
        let Some(usage) = self.read::<ResponsesUsage>(usage) else { return };
        let ResponsesUsage { input_tokens, output_tokens, input_tokens_details } = usage;
        self.take_with_cached(input_tokens, output_tokens, input_tokens_details.as_deref());
    }

    /// Adds a `usageMetadata` object from Gemini. Its figure for the prompt includes cached tokens, and figures of 0 are left
    /// out.
    pub(crate) fn take_gemini(&mut self, usage: Option<&RawValue>) {
        let Some(usage) = self.read::<GeminiUsage>(usage) else { return };
        let mut sum = |figures: [Option<Box<RawValue>>; 2]| {
            let mut all = [None, None];
            for (into, figure) in all.iter_mut().zip(figures) {
                take(into, &mut self.doubtful, figure);
            }
            all.into_iter().flatten().reduce(|a, b| a + b)
        };
        let prompt = sum([usage.prompt_token_count, usage.tool_use_prompt_token_count]);
        let output = sum([usage.candidates_token_count, usage.thoughts_token_count]).unwrap_or(0);
        self.output = Some(self.output.unwrap_or(0).max(output));
        take(&mut self.read, &mut self.doubtful, usage.cached_content_token_count);
        self.take_prompt(prompt);
    }

    /// Adds OpenAI's figures. The figure for the prompt includes cached tokens.
    fn take_with_cached(
        &mut self,
        prompt_tokens: Option<Box<RawValue>>,
        output: Option<Box<RawValue>>,
        details: Option<&RawValue>,
    ) {
        let details = self.read::<Details>(details);
        let mut prompt = None;
        take(&mut prompt, &mut self.doubtful, prompt_tokens);
        take(&mut self.read, &mut self.doubtful, details.and_then(|all| all.cached_tokens));
        take(&mut self.output, &mut self.doubtful, output);
        self.take_prompt(prompt);
    }

    /// Adds the figure for the prompt, which includes the cached tokens.
    fn take_prompt(&mut self, prompt: Option<u64>) {
        if let Some(prompt) = prompt {
            let read = self.read.unwrap_or(0);
            self.doubtful |= read > prompt;
            self.read = self.read.map(|read| read.min(prompt));
            self.input = Some(prompt.saturating_sub(read));
        }
    }

    fn read<T: DeserializeOwned>(&mut self, object: Option<&RawValue>) -> Option<T> {
        let object = object.filter(|object| object.get() != "null")?;
        // Serde would accept an array in place of the object.
        let read =
            serde_json::from_str(object.get()).ok().filter(|_| object.get().starts_with('{'));
        self.doubtful |= read.is_none();
        read
    }

    /// Returns the bounded figures, and whether they are doubtful: a figure was missing or implausible, or the prompt
    /// had no tokens.
    pub(crate) fn end(self) -> (TokenUsage, bool) {
        let usage = TokenUsage {
            input_tokens: self.input.unwrap_or(0),
            output_tokens: self.output.unwrap_or(0),
            cache_creation_input_tokens: self.written.unwrap_or(0),
            cache_read_input_tokens: self.read.unwrap_or(0),
        };
        let missing = self.input.is_none() || self.output.is_none() || usage.prompt() == 0;
        (usage, self.doubtful || missing)
    }
}

fn take(into: &mut Option<u64>, doubtful: &mut bool, figure: Option<Box<RawValue>>) {
    let Some(figure) = figure.filter(|figure| figure.get() != "null") else { return };
    let (value, sound) = bounded(&figure);
    *doubtful |= !sound;
    *into = Some(into.unwrap_or(0).max(value));
}

fn bounded(figure: &RawValue) -> (u64, bool) {
    let Ok(number) = serde_json::from_str::<Number>(figure.get()) else { return (0, false) };
    match (number.as_u64(), number.as_f64()) {
        (Some(whole), _) => (whole.min(MAX_FIGURE), whole <= MAX_FIGURE),
        // Fractions are truncated, and negative numbers become 0.
        (None, Some(number)) => ((number.max(0.0) as u64).min(MAX_FIGURE), false),
        (None, None) => (0, false),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn raw(value: &serde_json::Value) -> Box<RawValue> {
        RawValue::from_string(value.to_string()).unwrap()
    }

    fn figures(usage: TokenUsage) -> [u64; 4] {
        [
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_creation_input_tokens,
            usage.cache_read_input_tokens,
        ]
    }

    #[test]
    fn figures_are_bounded_and_doubted() {
        let wide = MAX_FIGURE + 1;
        for (usage, expect, doubtful) in [
            (json!({"input_tokens": 5, "output_tokens": 0}), [5, 0, 0, 0], false),
            (
                json!({"input_tokens": 0, "output_tokens": 7, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 9}),
                [0, 7, 2, 9],
                false,
            ),
            (
                json!({"input_tokens": 5, "output_tokens": 1, "cache_read_input_tokens": null}),
                [5, 1, 0, 0],
                false,
            ),
            (json!({"input_tokens": -5, "output_tokens": 1}), [0, 1, 0, 0], true),
            (json!({"input_tokens": 12.75, "output_tokens": 1}), [12, 1, 0, 0], true),
            (json!({"input_tokens": wide, "output_tokens": 1}), [MAX_FIGURE, 1, 0, 0], true),
            (json!({"input_tokens": 1e300, "output_tokens": 1}), [MAX_FIGURE, 1, 0, 0], true),
            (json!({"input_tokens": "5", "output_tokens": 1}), [0, 1, 0, 0], true),
            (json!({"input_tokens": 5}), [5, 0, 0, 0], true),
            (json!({"input_tokens": 0, "output_tokens": 1}), [0, 1, 0, 0], true),
            (json!(null), [0, 0, 0, 0], true),
            (json!([1]), [0, 0, 0, 0], true),
        ] {
            let mut tally = UsageTally::default();
            tally.take_anthropic(Some(&raw(&usage)));
            let (found, doubted) = tally.end();
            assert_eq!((figures(found), doubted), (expect, doubtful), "{usage}");
        }
    }

    #[test]
    fn figures_of_a_stream_count_up() {
        let mut tally = UsageTally::default();
        tally.take_anthropic(Some(&raw(&json!({"input_tokens": 10, "output_tokens": 1}))));
        tally.take_anthropic(Some(&raw(&json!({"output_tokens": 42, "input_tokens": 0}))));
        let (usage, doubtful) = tally.end();
        assert_eq!((figures(usage), doubtful), ([10, 42, 0, 0], false));
    }

    #[test]
    fn what_a_cache_gave_is_taken_out_of_the_prompt() {
        for (usage, expect, doubtful) in [
            (json!({"prompt_tokens": 100, "completion_tokens": 5}), [100, 5, 0, 0], false),
            (
                json!({"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 60}}),
                [40, 5, 0, 60],
                false,
            ),
            (
                json!({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 60}}),
                [0, 5, 0, 10],
                true,
            ),
            (
                json!({"prompt_tokens": 10, "completion_tokens": -5, "prompt_tokens_details": null}),
                [10, 0, 0, 0],
                true,
            ),
            (json!({"completion_tokens": 5}), [0, 5, 0, 0], true),
        ] {
            let mut tally = UsageTally::default();
            tally.take_openai(Some(&raw(&usage)));
            let (found, doubted) = tally.end();
            assert_eq!((figures(found), doubted), (expect, doubtful), "{usage}");
        }
    }
}
