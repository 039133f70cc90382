//! Answers to hooks, in the format of each client.

use serde_json::json;

use crate::client::HookClient;
use crate::event::HookEvent;

/// Maximum length of the text that a hook may add to a conversation, in characters. Claude Code writes a longer text to a
/// file, and shows the model only a preview.
pub const MAX_CONTEXT_CHARS: usize = 10_000;
/// An empty answer.
pub const NOTHING: &str = "{}";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookAnswer {
    pub context: Option<String>,
}

impl HookAnswer {
    /// Joins the texts, in order. A text that does not fit is left out, and none is cut.
    pub fn of(texts: impl IntoIterator<Item = String>) -> Self {
        let (mut context, mut room) = (String::new(), MAX_CONTEXT_CHARS);
        for text in texts {
            let gap = if context.is_empty() { "" } else { "\n\n" };
            let chars = text.chars().count() + gap.len();
            if text.is_empty() || chars > room {
                continue;
            }
            room -= chars;
            context.push_str(gap);
            context.push_str(&text);
        }
        Self { context: Some(context).filter(|context| !context.is_empty()) }
    }

    /// Returns the JSON for this client. It never contains a decision.
    pub fn to_json(&self, client: HookClient, event: HookEvent) -> String {
        let Some(context) = self.context.as_ref().filter(|_| event.is_answered()) else {
            return NOTHING.to_owned();
        };
        let answer = match client {
            HookClient::Cursor => json!({ "additional_context": context }),
            HookClient::ClaudeCode | HookClient::Codex | HookClient::Gemini => json!({
                "hookSpecificOutput": {
                    "hookEventName": client.name_of(event),
                    "additionalContext": context,
                }
            }),
        };
        answer.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn told(client: HookClient, event: HookEvent) -> Value {
        let json = HookAnswer::of(["a \"b\"\n".to_owned()]).to_json(client, event);
        serde_json::from_str(&json).unwrap()
    }

    #[test]
    fn each_client_gets_its_shape() {
        let claude = told(HookClient::ClaudeCode, HookEvent::PromptSubmit);
        assert_eq!(claude["hookSpecificOutput"]["hookEventName"], "UserPromptSubmit");
        assert_eq!(claude["hookSpecificOutput"]["additionalContext"], "a \"b\"\n");
        let gemini = told(HookClient::Gemini, HookEvent::PromptSubmit);
        assert_eq!(gemini["hookSpecificOutput"]["hookEventName"], "BeforeAgent");
        let cursor = told(HookClient::Cursor, HookEvent::SessionStart);
        assert_eq!(cursor["additional_context"], "a \"b\"\n");
    }

    #[test]
    fn nothing_is_an_empty_object_and_nothing_ever_decides() {
        for client in HookClient::ALL {
            for event in HookEvent::ALL {
                assert_eq!(HookAnswer::default().to_json(client, event), NOTHING);
                let told = told(client, event).to_string();
                for word in ["decision", "\"continue\"", "permission", "block"] {
                    assert!(!told.contains(word), "{told}");
                }
                assert_eq!(told == NOTHING, !event.is_answered(), "{client} {event}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_answer_is_longer_than_a_client_takes(texts in proptest::collection::vec("(ä|x){0,4000}", 0..6)) {
            let answer = HookAnswer::of(texts.clone());
            let context = answer.context.unwrap_or_default();
            prop_assert!(context.chars().count() <= MAX_CONTEXT_CHARS);
            prop_assert!(texts.is_empty() || texts[0].is_empty() || context.starts_with(&texts[0]));
        }
    }
}
