//! The tools, in a fixed order, because a client's cached prompt begins with them.

mod answer;
pub(crate) mod expand;
pub(crate) mod memory;
pub(crate) mod notes;
pub(crate) mod recall;
pub(crate) mod remember;
pub(crate) mod search_history;
pub(crate) mod search_team;
pub(crate) mod todos;

use std::future::Future;

use bethink_service::ServiceError;
use rmcp::model::{CallToolResult, ContentBlock, ErrorData, JsonObject, Tool};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use self::answer::{Answered, ToolAnswer};
use crate::client::McpClient;
use crate::refused::of_tool;

pub(crate) fn all() -> Vec<Tool> {
    vec![
        recall::described(),
        search_history::described(),
        remember::described(),
        notes::described(),
        todos::described(),
        expand::described(),
        memory::described(),
    ]
}

/// The tools for members of a team project, after all others.
pub(crate) fn team_tools() -> Vec<Tool> {
    vec![search_team::described()]
}

/// Calls a tool. An unknown name is a protocol error; every other error is the tool's answer.
pub(crate) async fn call(
    client: McpClient,
    name: &str,
    arguments: JsonObject,
) -> Result<CallToolResult, ErrorData> {
    match name {
        "recall" => answer(arguments, |input| recall::call(client, input)).await,
        "search_history" => answer(arguments, |input| search_history::call(client, input)).await,
        "remember" => answer(arguments, |input| run_to_end(remember::call(client, input))).await,
        "notes" => answer(arguments, |input| notes::call(client, input)).await,
        "todos" => answer(arguments, |input| run_to_end(todos::call(client, input))).await,
        "expand" => answer(arguments, |input| expand::call(client, input)).await,
        "memory" => answer(arguments, |input| run_to_end(memory::call(client, input))).await,
        "search_team" => answer(arguments, |input| search_team::call(client, input)).await,
        _ => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> ErrorData {
    let shown: String = name.chars().take(60).collect();
    let known: Vec<_> = all().into_iter().map(|tool| tool.name).collect();
    let message = format!("Unknown tool: {shown:?}; use one of {}", known.join(", "));
    ErrorData::invalid_params(message, None)
}

async fn answer<I, T, F>(
    arguments: JsonObject,
    work: impl FnOnce(I) -> F,
) -> Result<CallToolResult, ErrorData>
where
    I: DeserializeOwned,
    T: Serialize,
    F: Future<Output = Answered<T>>,
{
    let input = match serde_path_to_error::deserialize(Value::Object(arguments)) {
        Ok(input) => input,
        Err(error) => {
            let (path, error) = (error.path().to_string(), error.into_inner());
            let refusal = ServiceError::of_json(&path, &error.to_string(), "arguments");
            return Ok(of_tool(&refusal));
        }
    };
    match work(input).await {
        Ok(ToolAnswer { value, text, is_error }) => {
            let value = serde_json::to_value(value)
                .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
            result.structured_content = Some(value);
            result.is_error = Some(is_error);
            Ok(result)
        }
        Err(refusal) => Ok(of_tool(&refusal)),
    }
}

/// Runs a call to its end even if the client disconnects, so that no change is incomplete.
async fn run_to_end<T: Send + 'static>(
    work: impl Future<Output = Answered<T>> + Send + 'static,
) -> Answered<T> {
    tokio::spawn(work).await.map_err(ServiceError::internal)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_stable_and_small() {
        let tools = all();
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        let expect = ["recall", "search_history", "remember", "notes", "todos", "expand", "memory"];
        assert_eq!(names, expect);
        let bytes = serde_json::to_string(&tools).unwrap().len();
        // Every session of every client pays for it.
        assert!(bytes < 11_500, "{bytes}");
        assert_eq!(serde_json::to_string(&all()).unwrap(), serde_json::to_string(&tools).unwrap());
    }

    #[test]
    fn every_tool_tells_its_effect_and_its_shapes() {
        for tool in all().into_iter().chain(team_tools()) {
            let hints = tool.annotations.unwrap();
            let said = [
                hints.read_only_hint,
                hints.destructive_hint,
                hints.idempotent_hint,
                hints.open_world_hint,
            ];
            assert!(said.iter().all(Option::is_some), "{}", tool.name);
            assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
            assert_eq!(tool.output_schema.as_ref().unwrap()["type"], "object", "{}", tool.name);
            // The models of some providers do not support lists of types, or references.
            let input = serde_json::to_string(&*tool.input_schema).unwrap();
            assert!(!input.contains("\"null\"") && !input.contains("$ref"), "{input}");
            // JSON Schema defines no formats for integers, and validators warn about them whenever a client starts.
            for schema in [&*tool.input_schema, &*tool.output_schema.unwrap()] {
                let schema = serde_json::to_string(schema).unwrap();
                assert!(!schema.contains("\"format\":\"uint"), "{schema}");
                assert!(!schema.contains("\"format\":\"int"), "{schema}");
            }
        }
    }

    #[tokio::test]
    async fn a_change_is_made_to_its_end_when_nobody_waits_for_it() {
        let (begin, begun) = tokio::sync::oneshot::channel::<()>();
        let (done, ended) = tokio::sync::oneshot::channel();
        let change = run_to_end(async move {
            begun.await.unwrap();
            done.send(()).unwrap();
            Ok(ToolAnswer::new((), String::new()))
        });
        let hung_up = tokio_util::sync::CancellationToken::new();
        hung_up.cancel();
        // Like a request that is cancelled while it is handled: it is polled once, then dropped.
        let mut change = Box::pin(change);
        assert!(at_once(&mut change).is_none());
        assert!(hung_up.run_until_cancelled(change).await.is_none());
        begin.send(()).unwrap();
        ended.await.unwrap();
    }

    /// Polls a future once, and returns its output if it is ready.
    fn at_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match std::pin::Pin::new(future).poll(&mut context) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        }
    }

    #[test]
    fn only_readers_say_so() {
        let readers: Vec<_> = all()
            .into_iter()
            .chain(team_tools())
            .filter(|tool| tool.annotations.as_ref().unwrap().read_only_hint == Some(true))
            .map(|tool| tool.name)
            .collect();
        assert_eq!(readers, ["recall", "search_history", "notes", "expand", "search_team"]);
    }
}
