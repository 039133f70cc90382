//! Makes the content of an answer, independent of the wire format: a good one, or one with a fault.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};

use crate::ask::{self, Ask, Purpose, Tool};
use crate::fault::Fault;
use crate::script::ToolCall;
use crate::state::Decided;
use crate::{notes, recall, summary};

/// Prefix of the signature of thinking.
pub(crate) const SIGNED: &str = "signed-over:";
/// Number of calls in an answer with too many.
const MANY: usize = 500;
/// A token count that exceeds every context window.
const ABSURD: i64 = 9_000_000_000_000_000;
/// Minimum length of a cached prefix, in tokens (Anthropic, for its smallest models).
const LEAST_CACHED: u64 = 1024;

/// Clears the screen, sets the window title, colors text, reverses its direction, and ends a string.
const ESCAPES: &str = "- \u{1b}[2J\u{1b}]0;owned\u{7}\u{1b}[31mred\u{9b}31m\u{202e}detrever\u{0}";

#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub content: Vec<Content>,
    pub stop: Stop,
    /// `None` if the field is left out.
    pub usage: Option<Usage>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Thinking {
        text: String,
        signature: String,
    },
    Text(String),
    /// Arguments as JSON, which may be invalid.
    Call {
        id: String,
        name: String,
        arguments: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    EndTurn,
    MaxTokens,
    ToolUse,
    Refusal,
}

/// Signed integers, so that a figure can be invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Tokens that were neither read from the cache nor written to it.
    pub input: i64,
    pub output: i64,
    pub read: i64,
    pub written: i64,
}

/// Returns the answer to a request.
pub(crate) fn answer(asked: &Ask, decided: &Decided) -> Answer {
    let Decided { fault, cached, number, .. } = *decided;
    let mut answer = match fault {
        Some(fault) => spoiled(asked, fault, number),
        None => scripted_call(asked, decided).unwrap_or_else(|| good(asked, number)),
    };
    limit(&mut answer, asked.max_tokens);
    answer.usage = Some(usage(asked, &answer, cached));
    if let Some(fault) = fault {
        spoil_usage(fault, &mut answer);
    }
    answer
}

/// Returns the call in the script, if its tool is offered and no tool was called before.
fn scripted_call(asked: &Ask, decided: &Decided) -> Option<Answer> {
    let ToolCall { name_end, arguments } = decided.script.call.as_ref()?;
    let tool = asked.tools.iter().find(|tool| tool.name.ends_with(name_end))?;
    let has_result = |message| ask::blocks(message).iter().any(|b| b["type"] == "tool_result");
    let is_called = asked.messages.iter().any(has_result);
    (!is_called).then(|| calls(vec![called(decided.number, 0, &tool.name, arguments)]))
}

fn good(asked: &Ask, number: u64) -> Answer {
    match asked.purpose {
        Purpose::Summary => said(summary::write(asked).whole()),
        Purpose::Notes => notes::answer(asked, number),
        Purpose::Recall => said(recall::choose(&asked.instruction)),
        Purpose::Other => {
            said(format!("I have read {} messages → and go on.", asked.messages.len()))
        }
    }
}

fn spoiled(asked: &Ask, fault: Fault, number: u64) -> Answer {
    let call = |name: &str, input: &Value| calls(vec![called(number, 0, name, input)]);
    match fault {
        Fault::ToolLoop => looped(asked, number),
        Fault::ForbiddenTool => call("Bash", &json!({"command": "touch /tmp/never"})),
        Fault::ManyCalls => {
            let tool = any_tool(asked);
            let input = input_of(tool.as_ref());
            let name = tool.map_or("Read".to_owned(), |tool| tool.name);
            calls((0..MANY).map(|n| called(number, n, &name, &input)).collect())
        }
        Fault::OtherFile => edit_of(asked, number, "/etc/hosts"),
        Fault::EscapesPath => {
            let place = notes::path(&asked.instruction).unwrap_or_else(|| "notes.md".to_owned());
            edit_of(asked, number, &format!("{place}/../../../escaped.md"))
        }
        Fault::BrokenArguments => {
            let name = any_tool(asked).map_or("edit".to_owned(), |tool| tool.name);
            let arguments = "{\"file_path\": \"a".to_owned();
            calls(vec![Content::Call { id: format!("toolu_{number}_0"), name, arguments }])
        }
        Fault::EmptyContent => Answer { content: Vec::new(), stop: Stop::EndTurn, usage: None },
        Fault::EmptySummary => said("<analysis>\n</analysis>\n<summary>\n</summary>".to_owned()),
        Fault::NoFormat => said("It was a good session, and much was done in it.".to_owned()),
        Fault::LacksSection => said(summary::write(asked).without(2).whole()),
        Fault::LargerThanInput => {
            let filler = "This was said at length, and then once more.\n";
            let times = asked.pieces.text.len() / filler.len() + 200;
            said(summary::write(asked).with(&filler.repeat(times)).whole())
        }
        Fault::TerminalEscapes => match asked.purpose {
            Purpose::Summary => said(summary::write(asked).with(ESCAPES).whole()),
            Purpose::Notes => escaping(good(asked, number)),
            Purpose::Recall | Purpose::Other => said(format!("All is {ESCAPES} well.")),
        },
        Fault::CutOff => {
            Answer { stop: Stop::MaxTokens, ..said("And so it goes on and".to_owned()) }
        }
        Fault::Refuses => {
            Answer { stop: Stop::Refusal, ..said("I can't help with that.".to_owned()) }
        }
        _ => good(asked, number),
    }
}

/// Adds terminal escape sequences to the edits.
fn escaping(mut answer: Answer) -> Answer {
    for content in &mut answer.content {
        let Content::Call { arguments, .. } = content else { continue };
        let mut input: Value = serde_json::from_str(arguments).unwrap_or_default();
        if let Some(new) = input["new_string"].as_str() {
            input["new_string"] = json!(format!("{new} {ESCAPES}"));
        }
        *arguments = input.to_string();
    }
    answer
}

fn spoil_usage(fault: Fault, answer: &mut Answer) {
    let all = |n| Some(Usage { input: n, output: n, read: n, written: n });
    match fault {
        Fault::NegativeUsage => answer.usage = all(-5),
        Fault::AbsurdUsage => answer.usage = all(ABSURD),
        Fault::MissingUsage => answer.usage = None,
        _ => {}
    }
}

pub(crate) fn said(text: String) -> Answer {
    Answer { content: vec![Content::Text(text)], stop: Stop::EndTurn, usage: None }
}

pub(crate) fn calls(content: Vec<Content>) -> Answer {
    Answer { content, stop: Stop::ToolUse, usage: None }
}

pub(crate) fn called(number: u64, n: usize, name: &str, input: &Value) -> Content {
    let id = format!("toolu_{number:04}_{n:03}");
    Content::Call { id, name: name.to_owned(), arguments: input.to_string() }
}

fn looped(asked: &Ask, number: u64) -> Answer {
    let tool = any_tool(asked);
    let input = input_of(tool.as_ref());
    let name = tool.map_or("Read".to_owned(), |tool| tool.name);
    calls(vec![called(number, 0, &name, &input)])
}

fn any_tool(asked: &Ask) -> Option<Tool> {
    notes::edit_tool(asked).or(asked.tools.first()).cloned()
}

/// Makes a value for each property of a tool.
fn input_of(tool: Option<&Tool>) -> Value {
    let properties = tool.map(|tool| tool.properties.clone()).unwrap_or_default();
    properties
        .into_iter()
        .map(|name| (name, json!("again")))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn edit_of(asked: &Ask, number: u64, path: &str) -> Answer {
    let name = notes::edit_tool(asked).map_or("edit".to_owned(), |tool| tool.name.clone());
    let input = json!({"file_path": path, "old_string": "localhost", "new_string": "elsewhere"});
    calls(vec![called(number, 0, &name, &input)])
}

/// Cuts the answer off at the output limit.
fn limit(answer: &mut Answer, max_tokens: u64) {
    let most = usize::try_from(max_tokens).unwrap_or(usize::MAX);
    let mut left = most.saturating_mul(36) / 10;
    for content in &mut answer.content {
        let Content::Text(text) = content else { continue };
        if text.len() > left {
            let end = (0..=left).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(end);
            answer.stop = Stop::MaxTokens;
        }
        left = left.saturating_sub(text.len());
    }
    answer.content.retain(|content| !matches!(content, Content::Text(text) if text.is_empty()));
}

fn usage(asked: &Ask, answer: &Answer, cached: usize) -> Usage {
    let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let whole = asked.tokens();
    // OpenAI caches by itself; the Messages API up to the last breakpoint.
    let reach = match asked.wire {
        ask::Wire::Anthropic => asked.pieces.marked,
        ask::Wire::OpenAi | ask::Wire::Responses | ask::Wire::Gemini => asked.pieces.text.len(),
    };
    let enough = |tokens: u64| if tokens < LEAST_CACHED { 0 } else { tokens };
    let read = enough(ask::tokens(cached.min(reach)));
    let written = enough(ask::tokens(reach)).saturating_sub(read);
    let output: usize = answer.content.iter().map(Content::len).sum();
    Usage {
        input: signed(whole.saturating_sub(read + written)),
        output: signed(ask::tokens(output).max(1)),
        read: signed(read),
        written: signed(written),
    }
}

impl Content {
    fn len(&self) -> usize {
        match self {
            Content::Thinking { text, .. } | Content::Text(text) => text.len(),
            Content::Call { name, arguments, .. } => name.len() + arguments.len(),
        }
    }
}

/// Makes thinking whose signature depends on everything before it.
pub(crate) fn thinking(asked: &Ask) -> Content {
    let signature = format!("{SIGNED}{}", digest(&asked.pieces.text));
    Content::Thinking { text: "What is asked for, and what is at hand?".to_owned(), signature }
}

pub(crate) fn digest(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::Wire;
    use crate::script::Script;

    fn asked(max_tokens: u64, text: &str, marked: bool) -> Ask {
        let mut block = json!({"type": "text", "text": text});
        if marked {
            block["cache_control"] = json!({"type": "ephemeral"});
        }
        let body =
            json!({"max_tokens": max_tokens, "messages": [{"role": "user", "content": [block]}]});
        Ask::read(Wire::Anthropic, &body)
    }

    fn decided(fault: Option<Fault>, cached: usize) -> Decided {
        let script = Script::default();
        Decided { number: 1, fault, cached, script, prompt_faults: Vec::new() }
    }

    #[test]
    fn a_scripted_call_is_made_once_of_a_tool_that_is_offered() {
        let call = ToolCall { name_end: "__recall".to_owned(), arguments: json!({"query": "fog"}) };
        let script = Script { call: Some(call), ..Script::default() };
        let decided = Decided { script, ..decided(None, 0) };
        let answer = |name: &str, message: Value| {
            let body = json!({"messages": [message], "tools": [{"name": name}]});
            answer(&Ask::read(Wire::Anthropic, &body), &decided).content
        };
        let asked = json!({"role": "user", "content": "When is fog?"});
        let arguments = "{\"query\":\"fog\"}".to_owned();
        let call = Content::Call {
            id: "toolu_0001_000".to_owned(),
            name: "mcp__bethink__recall".to_owned(),
            arguments,
        };
        assert_eq!(answer("mcp__bethink__recall", asked.clone()), [call]);
        assert!(matches!(answer("Read", asked)[..], [Content::Text(_)]));
        let result = json!({"type": "tool_result", "tool_use_id": "toolu_0001_000"});
        let came = json!({"role": "user", "content": [result]});
        assert!(matches!(answer("mcp__bethink__recall", came)[..], [Content::Text(_)]));
    }

    #[test]
    fn figures_add_up_to_the_prompt() {
        let asked = asked(1000, &"word ".repeat(2000), true);
        let total = |u: Usage| u.input + u.read + u.written;
        let cold = answer(&asked, &decided(None, 0)).usage.unwrap();
        let warm = answer(&asked, &decided(None, 8000)).usage.unwrap();
        assert_eq!((cold.read, warm.read), (0, 2223));
        assert_eq!(total(cold) as u64, asked.tokens());
        assert_eq!(total(warm) as u64, asked.tokens());
        let bare = answer(&self::asked(1000, &"word ".repeat(2000), false), &decided(None, 8000));
        assert_eq!(bare.usage.unwrap().read, 0, "nothing is cached without a breakpoint");
    }

    #[test]
    fn an_answer_stops_at_its_limit() {
        let answer = answer(&asked(2, "hello", false), &decided(None, 0));
        assert_eq!(answer.stop, Stop::MaxTokens);
        assert_eq!(answer.content, [Content::Text("I have ".to_owned())]);
    }

    #[test]
    fn wrong_figures_are_wrong() {
        let asked = asked(100, "hello", false);
        assert_eq!(answer(&asked, &decided(Some(Fault::MissingUsage), 0)).usage, None);
        assert!(answer(&asked, &decided(Some(Fault::NegativeUsage), 0)).usage.unwrap().input < 0);
        assert!(
            answer(&asked, &decided(Some(Fault::AbsurdUsage), 0)).usage.unwrap().input > 1 << 40
        );
        assert_eq!(answer(&asked, &decided(Some(Fault::ManyCalls), 0)).content.len(), 500);
    }
}
