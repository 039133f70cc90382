//! The session's own tools. A fork repeats them byte for byte, so an extraction works with the client's tools.
//!
//! A tool is recognized by its arguments, and by its name if they are ambiguous. Unknown tools are never called.

use bethink_transcript::edit_tool::{EditCall, EditShape};
use serde_json::{Map, Value};

use crate::wrote::{COMMAND, PATH};

const TEXT: &[&str] = &["content", "contents", "file_text", "text"];
const DIRECTORY: &[&str] =
    &["path", "dir_path", "directory", "dir", "target_directory", "relative_workspace_path"];
const PATTERN: &[&str] = &["pattern", "query", "regex", "glob_pattern"];
/// Prefix of the type of a provider's own editor, which has no schema.
const BUILT_IN: &str = "text_editor_";

#[derive(Clone, Debug, PartialEq, Eq)]
enum ToolShape {
    /// A tool for one kind of call. Each field has the name of an argument, not its value.
    Call(FileCall),
    Edit(EditShape),
    /// A provider's own tool, which views, creates and replaces.
    Editor,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientTool {
    pub name: String,
    shape: ToolShape,
}

/// A tool call in a form that is the same for all clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileCall {
    Read { path: String },
    Write { path: String, text: String },
    Edit { path: String, old: String, new: String, all: bool },
    Grep { pattern: String, path: Option<String> },
    Glob { pattern: String, path: Option<String> },
    List { path: Option<String> },
    Shell { command: String },
}

/// The tools among a session's definitions that an extraction can use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toolset {
    pub tools: Vec<ClientTool>,
}

impl Toolset {
    /// Finds the tools in `tools_json`, which is an array in the format of the Messages API.
    pub fn find(tools_json: &str) -> Self {
        let definitions: Vec<Value> = serde_json::from_str(tools_json).unwrap_or_default();
        let edit = EditShape::find(tools_json);
        let tools = definitions.iter().filter_map(|tool| ClientTool::of(tool, edit.as_ref()));
        Self { tools: tools.collect() }
    }

    /// Whether a tool can write topics; otherwise the model writes them as text.
    pub fn writes(&self) -> bool {
        self.writer().is_some()
    }

    /// Returns the tool that writes topics, with the names of its path and text arguments.
    pub fn writer(&self) -> Option<(&ClientTool, &str, &str)> {
        self.tools.iter().find_map(|tool| match &tool.shape {
            ToolShape::Call(FileCall::Write { path, text }) => Some((tool, &**path, &**text)),
            ToolShape::Editor => Some((tool, "path", "file_text")),
            _ => None,
        })
    }

    pub fn names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_str()).collect()
    }
}

impl ClientTool {
    fn of(tool: &Value, edit: Option<&EditShape>) -> Option<Self> {
        let name = tool.get("name")?.as_str()?.to_owned();
        if tool.get("type").and_then(Value::as_str).is_some_and(|kind| kind.starts_with(BUILT_IN)) {
            return Some(Self { name, shape: ToolShape::Editor });
        }
        if let Some(edit) = edit.filter(|edit| edit.tool == name) {
            return Some(Self { name, shape: ToolShape::Edit(edit.clone()) });
        }
        let properties = tool.get("input_schema")?.get("properties")?.as_object()?;
        let shape = ToolShape::Call(arguments_of(&name.to_lowercase(), properties)?);
        Some(Self { name, shape })
    }

    /// Reads the input of a call.
    pub fn ask(&self, input: &str) -> Result<FileCall, String> {
        if let ToolShape::Edit(shape) = &self.shape {
            let EditCall { path, old, new, replace_all } = EditCall::from_json(shape, input)?;
            return Ok(FileCall::Edit { path, old, new, all: replace_all });
        }
        let input: Map<String, Value> = serde_json::from_str(input)
            .map_err(|error| format!("the arguments are not valid JSON: {error}"))?;
        let text = |name: &str| match input.get(name) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(_) => Err(format!("the argument {name:?} must be a string")),
            None => Err(format!("the argument {name:?} is missing")),
        };
        let optional = |name: &Option<String>| match name {
            Some(name) if input.get(name).is_some_and(|value| !value.is_null()) => {
                text(name).map(Some)
            }
            _ => Ok(None),
        };
        let ToolShape::Call(names) = &self.shape else { return editor(&text) };
        Ok(match names {
            FileCall::Read { path } => FileCall::Read { path: text(path)? },
            FileCall::Write { path, text: content } => {
                FileCall::Write { path: text(path)?, text: text(content)? }
            }
            FileCall::Edit { path, old, new, all } => {
                FileCall::Edit { path: text(path)?, old: text(old)?, new: text(new)?, all: *all }
            }
            FileCall::Grep { pattern, path } => {
                FileCall::Grep { pattern: text(pattern)?, path: optional(path)? }
            }
            FileCall::Glob { pattern, path } => {
                FileCall::Glob { pattern: text(pattern)?, path: optional(path)? }
            }
            FileCall::List { path } => FileCall::List { path: optional(path)? },
            FileCall::Shell { command } => FileCall::Shell { command: text(command)? },
        })
    }
}

/// Reads a call of a provider's own editor, which is one tool with several commands.
fn editor(text: &dyn Fn(&str) -> Result<String, String>) -> Result<FileCall, String> {
    let path = text("path")?;
    match text("command")?.as_str() {
        "view" => Ok(FileCall::Read { path }),
        "create" => Ok(FileCall::Write { path, text: text("file_text")? }),
        "str_replace" => {
            Ok(FileCall::Edit { path, old: text("old_str")?, new: text("new_str")?, all: false })
        }
        _ => Err("only the commands view, create and str_replace are allowed".to_owned()),
    }
}

/// Recognizes a tool. Each field of the result has the name of an argument, not its value.
fn arguments_of(name: &str, properties: &Map<String, Value>) -> Option<FileCall> {
    let named = |names: &[&str]| {
        let name = names.iter().find(|name| properties.contains_key(**name))?;
        Some((*name).to_owned())
    };
    let says = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let (path, text) = (named(PATH), named(TEXT));
    if let (Some(path), Some(text), true) = (&path, text, says(&["write", "create", "save"])) {
        return Some(FileCall::Write { path: path.clone(), text });
    }
    if let (Some(command), true) =
        (named(COMMAND), says(&["bash", "shell", "terminal", "command", "exec"]))
    {
        return Some(FileCall::Shell { command });
    }
    if let Some(pattern) = named(PATTERN) {
        let path = named(DIRECTORY);
        if says(&["glob", "find_file", "file_search"]) {
            return Some(FileCall::Glob { pattern, path });
        }
        let is_grep = says(&["grep", "ripgrep", "search_files", "search_text"]);
        return is_grep.then_some(FileCall::Grep { pattern, path });
    }
    if says(&["list", "ls"]) && !says(&["false", "else", "tool", "skill", "task", "agent"]) {
        return Some(FileCall::List { path: Some(named(DIRECTORY)?) });
    }
    path.filter(|_| says(&["read", "view", "open", "cat"])).map(|path| FileCall::Read { path })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, arguments: &[&str]) -> Value {
        let properties: Map<String, Value> =
            arguments.iter().map(|a| ((*a).to_owned(), json!({ "type": "string" }))).collect();
        json!({ "name": name, "input_schema": { "type": "object", "properties": properties } })
    }

    fn set(tools: &[Value]) -> Toolset {
        Toolset::find(&json!(tools).to_string())
    }

    fn check(tool: &Value, input: &Value, expect: &FileCall) {
        let set = set(std::slice::from_ref(tool));
        assert_eq!(set.tools[0].ask(&input.to_string()).as_ref(), Ok(expect), "{tool}");
    }

    #[test]
    fn each_clients_tools_are_found() {
        let (path, text) = ("/m/a.md".to_owned(), "x".to_owned());
        let read = FileCall::Read { path: path.clone() };
        check(
            &tool("Read", &["file_path", "offset", "limit"]),
            &json!({ "file_path": path, "limit": 3 }),
            &read,
        );
        check(&tool("read_file", &["target_file"]), &json!({ "target_file": path }), &read);
        let write = FileCall::Write { path: path.clone(), text: text.clone() };
        check(
            &tool("Write", &["file_path", "content"]),
            &json!({ "file_path": path, "content": "x" }),
            &write,
        );
        check(
            &tool("write_to_file", &["path", "content"]),
            &json!({ "path": path, "content": "x" }),
            &write,
        );
        let edit = FileCall::Edit {
            path: path.clone(),
            old: "a".to_owned(),
            new: "b".to_owned(),
            all: false,
        };
        let input = json!({ "file_path": path, "old_string": "a", "new_string": "b" });
        check(&tool("Edit", &["file_path", "old_string", "new_string"]), &input, &edit);
        let grep = FileCall::Grep { pattern: text.clone(), path: None };
        check(
            &tool("Grep", &["pattern", "path", "output_mode"]),
            &json!({ "pattern": "x" }),
            &grep,
        );
        let glob = FileCall::Glob { pattern: text.clone(), path: Some("/m".to_owned()) };
        check(&tool("Glob", &["pattern", "path"]), &json!({ "pattern": "x", "path": "/m" }), &glob);
        let list = FileCall::List { path: Some("/m".to_owned()) };
        check(&tool("LS", &["path", "ignore"]), &json!({ "path": "/m" }), &list);
        check(
            &tool("list_dir", &["target_directory"]),
            &json!({ "target_directory": "/m" }),
            &list,
        );
        check(
            &tool("Bash", &["command", "timeout"]),
            &json!({ "command": "x" }),
            &FileCall::Shell { command: text },
        );
        let editor =
            json!({ "type": "text_editor_20250728", "name": "str_replace_based_edit_tool" });
        check(&editor, &json!({ "command": "view", "path": path }), &read);
        check(&editor, &json!({ "command": "create", "path": path, "file_text": "x" }), &write);
        let insert = json!({ "command": "insert", "path": path });
        assert!(set(&[editor]).tools[0].ask(&insert.to_string()).is_err());
    }

    #[test]
    fn unknown_tools_are_ignored() {
        let others = [
            tool("WebFetch", &["url", "prompt"]),
            tool("Task", &["prompt"]),
            tool("WebSearch", &["query"]),
            tool("codebase_search", &["query"]),
            tool("TodoWrite", &["todos"]),
            tool("NotebookEdit", &["notebook_path", "new_source"]),
            tool("delete_file", &["path"]),
            tool("list_tools", &["path"]),
            json!({ "type": "web_search_20250305", "name": "web_search" }),
            json!(3),
        ];
        assert_eq!(set(&others), Toolset::default());
        assert_eq!(Toolset::find("no json"), Toolset::default());
        let bare =
            json!({ "name": "Write", "description": "", "input_schema": { "type": "object" } });
        assert_eq!(set(&[bare]).writer(), None);
    }

    #[test]
    fn wrong_arguments_are_reported() {
        let tools = set(&[tool("Write", &["file_path", "content"])]);
        let ask = |input: &str| tools.tools[0].ask(input).unwrap_err();
        assert_eq!(ask(r#"{"file_path":"/m/a.md"}"#), "the argument \"content\" is missing");
        assert_eq!(
            ask(r#"{"file_path":3,"content":""}"#),
            "the argument \"file_path\" must be a string"
        );
        assert!(ask("[]").contains("not valid JSON"));
    }
}
