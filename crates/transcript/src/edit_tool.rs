//! The client's own edit tool. A forked agent must repeat the session's tools byte for byte, so it edits files with the
//! client's own tool for this.

use serde_json::Value;

/// Argument names that clients use.
const PATH: &[&str] = &["file_path", "path", "filePath", "filename"];
const OLD: &[&str] = &["old_string", "old_str", "oldString", "search", "old_text", "oldText"];
const NEW: &[&str] = &["new_string", "new_str", "newString", "replace", "new_text", "newText"];
const ALL: &[&str] = &["replace_all", "replaceAll"];
/// The argument that selects the command of a tool with several commands.
const COMMAND: &str = "command";
const REPLACE: &str = "str_replace";
/// Type prefix of a provider's own editor, which has no schema.
const BUILT_IN: &str = "text_editor_";

/// How a client's edit tool is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditShape {
    pub tool: String,
    pub path: String,
    pub old: String,
    pub new: String,
    pub replace_all: Option<String>,
    /// Whether a call needs `"command": "str_replace"`.
    pub has_command: bool,
}

/// One edit as it was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditCall {
    pub path: String,
    pub old: String,
    pub new: String,
    pub replace_all: bool,
}

impl EditShape {
    /// Searches a session's tool definitions (a JSON array in the shape of the Messages API) for the tool that replaces
    /// text in a file. If there are several, returns the one with the best name.
    pub fn find(tools_json: &str) -> Option<Self> {
        let tools: Vec<Value> = serde_json::from_str(tools_json).ok()?;
        let shapes = tools.iter().filter_map(Self::of);
        shapes.min_by_key(|shape| rank(&shape.tool))
    }

    fn of(tool: &Value) -> Option<Self> {
        let name = tool.get("name")?.as_str()?.to_owned();
        if tool.get("type").and_then(Value::as_str).is_some_and(|kind| kind.starts_with(BUILT_IN)) {
            let [path, old, new] = ["path", "old_str", "new_str"].map(str::to_owned);
            return Some(Self { tool: name, path, old, new, replace_all: None, has_command: true });
        }
        let properties = tool.get("input_schema")?.get("properties")?.as_object()?;
        let named = |names: &[&str]| {
            let name = names.iter().find(|name| properties.contains_key(**name))?;
            Some((*name).to_owned())
        };
        Some(Self {
            tool: name,
            path: named(PATH)?,
            old: named(OLD)?,
            new: named(NEW)?,
            replace_all: named(ALL),
            has_command: properties.contains_key(COMMAND),
        })
    }
}

/// Returns the rank of a tool by its name; lower is better. Among tools with the same rank, the first is chosen.
fn rank(name: &str) -> u8 {
    let name = name.to_lowercase();
    match name.as_str() {
        "edit" => 0,
        name if name.starts_with(REPLACE) => 1,
        name if name.contains("edit") => 2,
        _ => 3,
    }
}

impl EditCall {
    /// Reads the arguments of a call. The error tells the model why they are invalid.
    pub fn from_json(shape: &EditShape, input: &str) -> Result<Self, String> {
        let input: Value = serde_json::from_str(input)
            .map_err(|error| format!("the arguments are not valid JSON: {error}"))?;
        if shape.has_command && input.get(COMMAND).and_then(Value::as_str) != Some(REPLACE) {
            return Err(format!("only the command {REPLACE:?} is allowed"));
        }
        let text = |name: &str| match input.get(name) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(_) => Err(format!("the argument {name:?} must be a string")),
            None => Err(format!("the argument {name:?} is missing")),
        };
        let all = shape.replace_all.as_deref().and_then(|name| input.get(name));
        Ok(Self {
            path: text(&shape.path)?,
            old: text(&shape.old)?,
            new: text(&shape.new)?,
            replace_all: all.and_then(Value::as_bool).unwrap_or(false),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, arguments: &[&str]) -> Value {
        let properties: serde_json::Map<String, Value> =
            arguments.iter().map(|a| ((*a).to_owned(), json!({ "type": "string" }))).collect();
        json!({ "name": name, "input_schema": { "type": "object", "properties": properties } })
    }

    fn check(tools: &[Value], expect: Option<(&str, &str, &str, &str)>) {
        let found = EditShape::find(&json!(tools).to_string());
        let found = found.as_ref().map(|s| (&*s.tool, &*s.path, &*s.old, &*s.new));
        assert_eq!(found, expect);
    }

    #[test]
    fn the_edit_tool_of_each_client_is_found() {
        let edit = tool("Edit", &["file_path", "old_string", "new_string", "replace_all"]);
        let bash = tool("Bash", &["command"]);
        let other = tool("replace_in_file", &["path", "search", "replace"]);
        check(
            &[bash.clone(), edit.clone()],
            Some(("Edit", "file_path", "old_string", "new_string")),
        );
        check(&[other.clone(), edit], Some(("Edit", "file_path", "old_string", "new_string")));
        check(&[other], Some(("replace_in_file", "path", "search", "replace")));
        let camel = tool("edit", &["filePath", "oldString", "newString"]);
        check(&[camel], Some(("edit", "filePath", "oldString", "newString")));
        let built_in =
            json!({ "type": "text_editor_20250728", "name": "str_replace_based_edit_tool" });
        let shape = ("str_replace_based_edit_tool", "path", "old_str", "new_str");
        check(&[bash.clone(), built_in], Some(shape));
        check(&[bash, tool("Write", &["file_path", "content"])], None);
        check(&[], None);
        assert_eq!(EditShape::find("no json"), None);
        assert_eq!(EditShape::find("[1, {\"name\": 2}]"), None);
    }

    #[test]
    fn a_call_is_read_by_the_shape() {
        let tools =
            json!([tool("Edit", &["file_path", "old_string", "new_string", "replace_all"])]);
        let shape = EditShape::find(&tools.to_string()).unwrap();
        let read = |input: Value| EditCall::from_json(&shape, &input.to_string());
        let input =
            json!({ "file_path": "/n", "old_string": "a", "new_string": "", "replace_all": true });
        let [path, old, new] = ["/n", "a", ""].map(str::to_owned);
        assert_eq!(read(input), Ok(EditCall { path, old, new, replace_all: true }));
        let missing = read(json!({ "file_path": "/n", "old_string": "a" })).unwrap_err();
        assert_eq!(missing, "the argument \"new_string\" is missing");
        let wrong = read(json!({ "file_path": ["/n"] })).unwrap_err();
        assert_eq!(wrong, "the argument \"file_path\" must be a string");
        assert!(
            EditCall::from_json(&shape, "{\"file_path\":").unwrap_err().contains("not valid JSON")
        );
    }

    #[test]
    fn an_editor_with_commands_may_replace_and_nothing_else() {
        let tools = json!([tool("str_replace_editor", &["command", "path", "old_str", "new_str"])]);
        let shape = EditShape::find(&tools.to_string()).unwrap();
        for command in [json!("create"), json!("insert"), json!("view"), json!(null)] {
            let input = json!({ "command": command, "path": "/n", "old_str": "a", "new_str": "b" });
            let reason = EditCall::from_json(&shape, &input.to_string()).unwrap_err();
            assert!(reason.contains("str_replace"), "{reason}");
        }
        let input =
            json!({ "command": "str_replace", "path": "/n", "old_str": "a", "new_str": "b" });
        assert!(EditCall::from_json(&shape, &input.to_string()).is_ok());
    }
}
