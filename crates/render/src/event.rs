//! A session's events other than messages, one line each.

use bethink_api::PromptChange::Unknown;
use bethink_terminal::words::count;
use bethink_terminal::{StyledText, TerminalLook, Tone};
use serde_json::Value;

use crate::facts::{made, reason};

/// Returns `None` for events that are not shown.
pub fn event(kind: &str, data: &str, look: TerminalLook) -> Option<StyledText> {
    let data: Value = serde_json::from_str(data).ok()?;
    let (tone, told) = match kind {
        "model" => model(&data)?,
        "compaction" => compaction(&data),
        "recovery" => (Tone::Warn, format!("{}: {}", text(&data, "class"), text(&data, "detail"))),
        "notes" => (
            Tone::Good,
            format!("updated through message {}{}", number(&data, "through_seq"), by_whom(&data)),
        ),
        "collapse" => (Tone::Good, format!("{} {}", text(&data, "state"), covers(&data))),
        "cache" => {
            let cause = serde_json::from_value(data["cause"].clone());
            (Tone::Warn, format!("prompt cache miss: {}", reason(cause.unwrap_or(Unknown))))
        }
        "job" if text(&data, "state") == "failed" => {
            (Tone::Warn, format!("{} failed", text(&data, "kind")))
        }
        _ => return None,
    };
    Some(StyledText::from("  · ").put(tone, kind).plain("  ").plain(told).fitted(look.width))
}

fn by_whom(data: &Value) -> &'static str {
    match text(data, "by") {
        "model" => " by a model",
        "embedded" => " without a model",
        _ => "",
    }
}

fn text<'a>(data: &'a Value, name: &str) -> &'a str {
    data[name].as_str().unwrap_or_default()
}

fn number(data: &Value, name: &str) -> String {
    count(data[name].as_u64().unwrap_or(0))
}

fn covers(data: &Value) -> String {
    let covers = &data["covers"];
    format!("messages {}–{}", number(covers, "first_seq"), number(covers, "last_seq"))
}

fn compaction(data: &Value) -> (Tone, String) {
    let (before, after) = (number(data, "tokens_before"), number(data, "tokens_after"));
    if data["undone"].as_bool() == Some(true) {
        return (
            Tone::Warn,
            "undone: the prompt shows the messages again instead of the summary".to_owned(),
        );
    }
    let fidelity = data["fidelity"].as_f64().unwrap_or(0.0);
    let (trigger, level) = (text(data, "trigger"), made(text(data, "level")));
    (Tone::Good, format!("{trigger}, {level}: {before} → {after} tokens, fidelity {fidelity:.2}"))
}

fn model(data: &Value) -> Option<(Tone, String)> {
    let (tone, told) = match text(data, "step") {
        "asked" => {
            let (model, tokens) = (text(data, "model"), number(data, "tokens"));
            (Tone::Good, format!("asked {model}, {tokens} tokens"))
        }
        "answered" => {
            let seconds = data["ms"].as_f64().unwrap_or(0.0) / 1_000.0;
            let output = number(data, "output_tokens");
            (Tone::Good, format!("answered, {output} tokens in {seconds:.1} s"))
        }
        "failed" => (Tone::Warn, format!("{}, {}", text(data, "class"), text(data, "message"))),
        "again" => match data["wait_ms"].as_f64().unwrap_or(0.0) / 1_000.0 {
            wait if wait > 0.0 => (Tone::Warn, format!("retrying in {wait:.1} s")),
            _ => (Tone::Warn, format!("retrying, {}", text(data, "change"))),
        },
        "gave_up" => {
            let (class, message) = (text(data, "class"), text(data, "message"));
            (Tone::Warn, format!("continuing without the model: {class}, {message}"))
        }
        "refused" => (Tone::Warn, format!("the answer was rejected: {}", text(data, "message"))),
        "denied" => {
            let (tool, reason) = (text(data, "tool"), text(data, "reason"));
            (Tone::Warn, format!("{tool} was denied: {reason}"))
        }
        _ => return None,
    };
    Some((tone, format!("{}: {told}", text(data, "purpose"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bethink_terminal::LineMode;

    fn shown(kind: &str, data: &str) -> String {
        let look = TerminalLook::plain(100);
        let line = event(kind, data, look);
        line.map(|line| line.render(LineMode::One, false)).unwrap_or_default()
    }

    #[test]
    fn steps_of_a_model_call_are_shown() {
        let failed =
            r#"{"purpose":"summary","step":"failed","class":"overloaded","message":"busy"}"#;
        assert!(shown("model", failed).contains("summary: overloaded, busy"));
        let again = r#"{"purpose":"summary","step":"again","change":"the same","wait_ms":1500}"#;
        assert!(shown("model", again).contains("retrying in 1.5 s"));
        assert_eq!(shown("model", r#"{"step":"called"}"#), "");
        assert_eq!(shown("message", "{}"), "");
        assert_eq!(shown("model", "not json"), "");
    }
}
