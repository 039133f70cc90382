//! Answers to hooks, in the format of each client.

use serde_json::{Map, Value, json};

use crate::client::HookClient;
use crate::event::HookEvent;

/// Maximum length of the text that a hook may add to a conversation, in characters. Claude Code writes a longer text to a
/// file, and shows the model only a preview.
pub const MAX_CONTEXT_CHARS: usize = 10_000;
/// An empty answer.
pub const NOTHING: &str = "{}";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookAnswer {
    /// Text for the model.
    pub context: Option<String>,
    /// One line for the user.
    pub greeting: Option<String>,
}

impl HookAnswer {
    /// Joins the texts, in order. A text that does not fit is left out; no text is cut short. The tags of reminders are
    /// removed, because clients put a hook's text between their own tags, and some clients escape ours.
    pub fn of(texts: impl IntoIterator<Item = String>) -> Self {
        let (mut context, mut room) = (String::new(), MAX_CONTEXT_CHARS);
        for text in texts {
            let text = without_tags(&text);
            let gap = if context.is_empty() { "" } else { "\n\n" };
            let chars = text.chars().count() + gap.len();
            if text.is_empty() || chars > room {
                continue;
            }
            room -= chars;
            context.push_str(gap);
            context.push_str(text);
        }
        let context = Some(context).filter(|context| !context.is_empty());
        Self { context, greeting: None }
    }

    /// Returns the JSON for this client. The JSON never contains a decision.
    pub fn to_json(&self, client: HookClient, event: HookEvent) -> String {
        if !event.is_answered() {
            return NOTHING.to_owned();
        }
        let mut answer = Map::new();
        let is_cursor = client == HookClient::Cursor;
        match &self.context {
            Some(context) if is_cursor => {
                answer.insert("additional_context".to_owned(), json!(context));
            }
            Some(context) => {
                let name = client.name_of(event);
                let output = json!({ "hookEventName": name, "additionalContext": context });
                answer.insert("hookSpecificOutput".to_owned(), output);
            }
            None => {}
        }
        // Cursor does not support this member.
        if let Some(greeting) = self.greeting.as_ref().filter(|_| !is_cursor) {
            answer.insert("systemMessage".to_owned(), json!(greeting));
        }
        Value::Object(answer).to_string()
    }
}

/// Returns the text of a reminder, or any other text unchanged.
fn without_tags(text: &str) -> &str {
    let inside = text.trim().strip_prefix("<system-reminder>");
    inside.and_then(|inside| inside.strip_suffix("</system-reminder>")).map_or(text, str::trim)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
    fn a_greeting_is_for_the_user_alone() {
        let answer = HookAnswer { context: None, greeting: Some("2 memories".to_owned()) };
        for client in [HookClient::ClaudeCode, HookClient::Codex, HookClient::Gemini] {
            let json = answer.to_json(client, HookEvent::SessionStart);
            assert_eq!(json, r#"{"systemMessage":"2 memories"}"#, "{client}");
        }
        assert_eq!(answer.to_json(HookClient::Cursor, HookEvent::SessionStart), NOTHING);
        assert_eq!(answer.to_json(HookClient::ClaudeCode, HookEvent::Stop), NOTHING);
    }

    #[test]
    fn a_reminder_loses_its_tags() {
        let texts = ["<system-reminder>\na\n</system-reminder>", "b", "<system-reminder>c"];
        let answer = HookAnswer::of(texts.map(str::to_owned));
        assert_eq!(answer.context.unwrap(), "a\n\nb\n\n<system-reminder>c");
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
