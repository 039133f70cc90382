//! The parameters of the client's requests that bethink's own requests repeat. Without them, the provider would not find
//! the messages in its cache.

use bethink_transcript::json::{encode_string, members};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Members that bethink sets itself.
const OWN: [&str; 6] = ["model", "max_tokens", "system", "tools", "messages", "stream"];
/// Members that shape the answers for the client, and would spoil the answers for bethink. The cache does not depend on
/// them.
const OF_THE_ANSWER: [&str; 2] = ["stop_sequences", "output_format"];
/// Members that a request for a token count may have.
const COUNTED: [&str; 2] = ["thinking", "tool_choice"];

/// Writes the members of `parameters`, each after a comma. `parameters` is a JSON object or empty. `max_tokens` is
/// `None` in a request for a token count.
pub(super) fn write(parameters: &[u8], max_tokens: Option<u64>, body: &mut Vec<u8>) {
    let members = std::str::from_utf8(parameters).ok().and_then(members).unwrap_or_default();
    for (name, value) in members.iter().filter(|(name, value)| fits(name, value, max_tokens)) {
        body.extend_from_slice(format!(",{}:", encode_string(name)).as_bytes());
        body.extend_from_slice(value.get().as_bytes());
    }
}

fn fits(name: &str, value: &RawValue, max_tokens: Option<u64>) -> bool {
    if OWN.contains(&name) || OF_THE_ANSWER.contains(&name) {
        return false;
    }
    match (name, max_tokens) {
        (_, None) if !COUNTED.contains(&name) => false,
        // The API requires a larger output limit.
        ("thinking", Some(max_tokens)) => thinking_budget(value.get()) < max_tokens,
        // With a forced tool call, the answer would have no text.
        ("tool_choice", _) => !matches!(&*typed(value.get()), "any" | "tool"),
        ("output_config", _) => !value.get().contains("\"format\""),
        _ => true,
    }
}

/// The members of `thinking` and `tool_choice` that are read.
#[derive(Default, Deserialize)]
struct Parameter {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    budget_tokens: u64,
}

fn typed(json: &str) -> String {
    serde_json::from_str::<Parameter>(json).unwrap_or_default().kind
}

fn thinking_budget(json: &str) -> u64 {
    serde_json::from_str::<Parameter>(json).unwrap_or_default().budget_tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(parameters: &str, max_tokens: Option<u64>, expect: &str) {
        let mut body = Vec::new();
        write(parameters.as_bytes(), max_tokens, &mut body);
        assert_eq!(String::from_utf8(body).unwrap(), expect, "{parameters}");
    }

    #[test]
    fn members_keep_their_bytes() {
        let thinking = r#""thinking":{ "type": "enabled","budget_tokens":1000}"#;
        let rest = r#""metadata":{"user_id":"u\u00e9"},"temperature":1.0"#;
        let given = format!("{{{thinking},{rest}}}");
        check(&given, Some(1_001), &format!(",{thinking},{rest}"));
        check(&given, Some(1_000), &format!(",{rest}"));
        check(&given, None, &format!(",{thinking}"));
        for none in ["", "{}", "[]", "null", "{"] {
            check(none, Some(9), "");
        }
    }

    #[test]
    fn what_would_spoil_the_answer_is_left_out() {
        let own =
            r#"{"model":"m","max_tokens":1,"system":[],"tools":[],"messages":[],"stream":true}"#;
        check(own, Some(9), "");
        check(r#"{"stop_sequences":["x"],"output_format":{}}"#, Some(9), "");
        for (choice, stays) in [("auto", true), ("none", true), ("any", false), ("tool", false)] {
            let choice = format!(r#""tool_choice":{{"type":"{choice}"}}"#);
            let expect = if stays { format!(",{choice}") } else { String::new() };
            check(&format!("{{{choice}}}"), Some(9), &expect);
        }
        let effort = r#""output_config":{"effort":"high"}"#;
        check(&format!("{{{effort}}}"), Some(9), &format!(",{effort}"));
        check(r#"{"output_config":{"format":{}}}"#, Some(9), "");
    }
}
