//! The input of a hook. A hook's JSON may be large, and only a few of its members are used.

use serde::{Deserialize, Serialize};

/// Maximum size of the JSON, in bytes. The largest inputs contain a tool result.
pub const MAX_INPUT_BYTES: usize = 32 << 20;
/// Maximum number of bytes of a prompt that are used: recall reads no more.
const MAX_PROMPT_BYTES: usize = 8_192;
/// Maximum length of a path, in bytes, on common systems.
const MAX_PATH_BYTES: usize = 4_096;
/// Maximum length of a session id, in bytes. Clients use UUIDs.
const MAX_ID_BYTES: usize = 200;
/// Maximum length of `source` and `reason`, in bytes.
const MAX_WORD_BYTES: usize = 64;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookInput {
    /// The client's own ID for its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The working directory: an absolute path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The session's transcript: an absolute path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript_path: Option<String>,
    /// A subagent's own transcript: an absolute path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_transcript_path: Option<String>,
    /// The beginning of the user's prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Why a session started: `startup`, `resume`, `clear`, `compact`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Why a session ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HookInputError {
    #[error("the input is empty; it must be a JSON object")]
    Empty,
    #[error("the JSON is longer than {MAX_INPUT_BYTES} bytes")]
    TooLarge,
    #[error("not a JSON object: {0}")]
    NotJson(String),
    #[error("`{member}` must be {allowed}")]
    Member { member: &'static str, allowed: &'static str },
}

/// The members, with the names that clients use.
#[derive(Deserialize)]
struct WireInput {
    session_id: Option<String>,
    /// Cursor's name for `session_id`.
    conversation_id: Option<String>,
    cwd: Option<String>,
    /// Cursor's directories. The first directory is the project.
    workspace_roots: Option<Vec<String>>,
    transcript_path: Option<String>,
    agent_transcript_path: Option<String>,
    prompt: Option<String>,
    source: Option<String>,
    reason: Option<String>,
}

impl HookInput {
    pub fn read(json: &[u8]) -> Result<Self, HookInputError> {
        if json.len() > MAX_INPUT_BYTES {
            return Err(HookInputError::TooLarge);
        }
        let json = json.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(json);
        if json.trim_ascii().is_empty() {
            return Err(HookInputError::Empty);
        }
        if json.trim_ascii_start().first() != Some(&b'{') {
            // Serde would also accept an array, and take its elements for the members in order.
            return Err(HookInputError::NotJson("it does not begin with `{`".to_owned()));
        }
        let wire: WireInput =
            serde_json::from_slice(json).map_err(|e| HookInputError::NotJson(e.to_string()))?;
        wire.checked()
    }

    /// Returns the JSON to send, without unused members such as tool results.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| "{}".to_owned())
    }

    /// Returns whether the prompt contains no text that earlier hooks added.
    pub fn starts_over(&self) -> bool {
        !matches!(self.source.as_deref(), Some("resume"))
    }

    /// Returns whether the session has earlier messages, because it was resumed, compacted or cleared.
    pub fn is_continued(&self) -> bool {
        matches!(self.source.as_deref(), Some("resume" | "compact" | "clear"))
    }
}

impl WireInput {
    fn checked(self) -> Result<HookInput, HookInputError> {
        let root = self.workspace_roots.and_then(|roots| roots.into_iter().next());
        Ok(HookInput {
            session_id: id(self.session_id.or(self.conversation_id))?,
            cwd: path("cwd", self.cwd.or(root))?,
            transcript_path: path("transcript_path", self.transcript_path)?,
            agent_transcript_path: path("agent_transcript_path", self.agent_transcript_path)?,
            prompt: self.prompt.map(|prompt| beginning(&prompt, MAX_PROMPT_BYTES)),
            source: self.source.map(|word| beginning(&word, MAX_WORD_BYTES)),
            reason: self.reason.map(|word| beginning(&word, MAX_WORD_BYTES)),
        })
    }
}

fn id(text: Option<String>) -> Result<Option<String>, HookInputError> {
    let is_id =
        |id: &str| id.len() <= MAX_ID_BYTES && id.bytes().all(|byte| byte.is_ascii_graphic());
    checked("session_id", text, is_id, "1 to 200 visible ASCII characters")
}

fn path(member: &'static str, text: Option<String>) -> Result<Option<String>, HookInputError> {
    let is_path =
        |path: &str| path.starts_with('/') && path.len() <= MAX_PATH_BYTES && !path.contains('\0');
    checked(member, text, is_path, "an absolute path of at most 4096 bytes")
}

/// Checks a member's value. An empty string counts as absent.
fn checked(
    member: &'static str,
    text: Option<String>,
    is_allowed: impl Fn(&str) -> bool,
    allowed: &'static str,
) -> Result<Option<String>, HookInputError> {
    let text = text.filter(|text| !text.is_empty());
    match text.as_deref().is_none_or(is_allowed) {
        true => Ok(text),
        false => Err(HookInputError::Member { member, allowed }),
    }
}

fn beginning(text: &str, most: usize) -> String {
    text[..text.floor_char_boundary(most)].to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(json: &str) -> Result<HookInput, HookInputError> {
        HookInput::read(json.as_bytes())
    }

    #[test]
    fn claude_codes_members_are_read_and_others_passed_by() {
        let input = read(
            r#"{"session_id":"abc","transcript_path":"/t/abc.jsonl","cwd":"/p","permission_mode":"default",
                "hook_event_name":"PostToolUse","tool_name":"Read","tool_input":{"deep":[[[]]]},
                "tool_response":{"huge":"…"},"prompt":"why?","source":"resume"}"#,
        )
        .unwrap();
        assert_eq!(input.session_id.as_deref(), Some("abc"));
        assert_eq!(input.transcript_path.as_deref(), Some("/t/abc.jsonl"));
        assert_eq!((input.cwd.as_deref(), input.prompt.as_deref()), (Some("/p"), Some("why?")));
        assert!(input.is_continued() && !input.starts_over());
    }

    #[test]
    fn codex_says_null_and_cursor_has_names_of_its_own() {
        let codex = read(r#"{"session_id":"c","transcript_path":null,"cwd":"/p"}"#).unwrap();
        assert_eq!((codex.transcript_path, codex.cwd.as_deref()), (None, Some("/p")));
        let cursor = read(r#"{"conversation_id":"k","workspace_roots":["/w","/x"]}"#).unwrap();
        assert_eq!((cursor.session_id.as_deref(), cursor.cwd.as_deref()), (Some("k"), Some("/w")));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let check = |json: &str, expect: &str| {
            let told = read(json).unwrap_err().to_string();
            assert!(told.contains(expect), "{json:.80}: {told}");
        };
        check("", "the input is empty");
        check(" \n", "the input is empty");
        check("[]", "does not begin with `{`");
        check("{\"cwd\":", "line 1 column 7");
        check("{}x", "trailing");
        check(r#"{"cwd":"relative"}"#, "`cwd` must be an absolute path");
        check(r#"{"transcript_path":"/a\u0000b"}"#, "`transcript_path`");
        check(r#"{"session_id":"two words"}"#, "`session_id`");
        check(r#"{"session_id":7}"#, "invalid type");
        // Unused members are skipped without recursion, no matter how deeply they are nested.
        check(&format!("{{\"x\":{}}}", "[".repeat(100_000)), "expected value");
        let huge = vec![b' '; MAX_INPUT_BYTES + 1];
        assert_eq!(HookInput::read(&huge), Err(HookInputError::TooLarge));
    }

    #[test]
    fn a_long_prompt_is_cut_between_characters() {
        let prompt = "ä".repeat(MAX_PROMPT_BYTES);
        let input = read(&format!(r#"{{"prompt":"{prompt}"}}"#)).unwrap();
        assert_eq!(input.prompt.unwrap().len(), MAX_PROMPT_BYTES);
    }

    proptest! {
        #[test]
        fn anything_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            drop(HookInput::read(&bytes));
        }

        #[test]
        fn what_was_read_is_read_again(id in "[a-z0-9-]{1,36}", prompt in ".{0,80}") {
            let input = HookInput {
                session_id: Some(id),
                cwd: Some("/p".to_owned()),
                prompt: Some(prompt),
                ..HookInput::default()
            };
            prop_assert_eq!(HookInput::read(input.to_json().as_bytes()).unwrap(), input);
        }
    }
}
