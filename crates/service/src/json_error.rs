//! Errors for JSON values that do not have the expected type, in words that a client's author or a model understands.

use crate::error::ServiceError;

impl ServiceError {
    /// Returns the error for a value that could not be deserialized. `path` leads to it, and is empty for the whole value;
    /// `whole` is the name of the whole value. serde names a missing or unknown field only in its `message`.
    pub fn of_json(path: &str, message: &str, whole: &str) -> Self {
        let path = if path == "." { "" } else { path };
        let message = without_position(message);
        let (name, detail) = plain(message);
        let field = match (path, name) {
            ("", None) => whole.to_owned(),
            (path, None) => path.to_owned(),
            ("", Some(name)) => name.to_owned(),
            // The path of an unknown or repeated field may contain its name already.
            (path, Some(name)) if path == name || path.ends_with(&format!(".{name}")) => {
                path.to_owned()
            }
            (path, Some(name)) => format!("{path}.{name}"),
        };
        Self::invalid(field, detail)
    }
}

/// Returns the name of the field, if the message has one, and what is wrong.
fn plain(message: &str) -> (Option<&str>, String) {
    if let Some((name, _)) = quoted(message, "missing field ") {
        return (Some(name), "is missing".to_owned());
    }
    if let Some((name, _)) = quoted(message, "duplicate field ") {
        return (Some(name), "is given more than once".to_owned());
    }
    if let Some((name, rest)) = quoted(message, "unknown field ") {
        let allowed = rest.strip_prefix(", expected ").unwrap_or_default();
        let detail = match allowed {
            "" => "is not a known field".to_owned(),
            allowed => format!("is not a known field; use {allowed}"),
        };
        return (Some(name), detail);
    }
    if let Some((value, rest)) = quoted(message, "unknown variant ")
        && let Some(allowed) = rest.strip_prefix(", expected ")
    {
        return (None, format!("must be {allowed}, not `{value}`"));
    }
    if message.starts_with("UUID parsing failed") {
        return (None, "must be a UUID".to_owned());
    }
    if message.starts_with("number out of range") {
        return (None, "is too large a number".to_owned());
    }
    let wrong = ["invalid type: ", "invalid value: "];
    if let Some(rest) = wrong.iter().find_map(|start| message.strip_prefix(start))
        && let Some((found, expected)) = rest.rsplit_once(", expected ")
    {
        return (None, format!("must be {}, not {}", expected_words(expected), found_words(found)));
    }
    (None, message.to_owned())
}

/// Returns the text between the backquotes that follow `start`, and the rest.
fn quoted<'a>(message: &'a str, start: &str) -> Option<(&'a str, &'a str)> {
    message.strip_prefix(start)?.strip_prefix('`')?.split_once('`')
}

fn expected_words(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a borrowed string" | "string or map" | "variant identifier" => "a string",
        "a sequence" => "an array",
        "a map" => "an object",
        "a UUID string" => "a UUID",
        _ if expected.starts_with("struct ") => "an object",
        _ if expected.starts_with("enum ") => "a string",
        other => other,
    }
}

fn found_words(found: &str) -> String {
    match found {
        "sequence" => "an array".to_owned(),
        "map" => "an object".to_owned(),
        "unit value" => "null".to_owned(),
        _ => {
            let number =
                ["integer ", "floating point "].iter().find_map(|kind| found.strip_prefix(kind));
            let value = number.or_else(|| found.strip_prefix("boolean "));
            match value {
                Some(value) => value.trim_matches('`').to_owned(),
                None => found.replacen("string ", "the string ", 1),
            }
        }
    }
}

/// Removes the position that serde_json adds: the field says where.
fn without_position(message: &str) -> &str {
    let Some((before, after)) = message.rsplit_once(" at line ") else { return message };
    let is_position = |c: char| c.is_ascii_digit() || c == ' ';
    match after.replacen("column", "", 1).chars().all(is_position) {
        true => before,
        false => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde::de::DeserializeOwned;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only the errors matter")]
    struct Asked {
        id: Option<uuid::Uuid>,
        limit: Option<u64>,
        list: Option<Vec<Inner>>,
        kind: Option<Kind>,
        on: Option<bool>,
        name: String,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only the errors matter")]
    struct Inner {
        a: i64,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        One,
        Two,
        Three,
    }

    fn check<T: DeserializeOwned + std::fmt::Debug>(json: &str, field: &str, detail: &str) {
        let message = serde_json::from_str::<T>(json).unwrap_err().to_string();
        let error = ServiceError::of_json("", &message, "body");
        assert_eq!((error.field.as_deref(), &*error.detail), (Some(field), detail), "{message}");
    }

    #[test]
    fn serdes_words_become_plain_words() {
        check::<Asked>("{}", "name", "is missing");
        check::<Asked>("7", "body", "must be an object, not 7");
        check::<Asked>(
            r#"{"limit":"3"}"#,
            "body",
            "must be a whole number from 0, not the string \"3\"",
        );
        check::<Asked>(r#"{"limit":-1}"#, "body", "must be a whole number from 0, not -1");
        check::<Asked>(r#"{"limit":1.5}"#, "body", "must be a whole number from 0, not 1.5");
        check::<Asked>(r#"{"list":{}}"#, "body", "must be an array, not an object");
        check::<Asked>(r#"{"on":"yes"}"#, "body", "must be true or false, not the string \"yes\"");
        check::<Asked>(r#"{"name":null}"#, "body", "must be a string, not null");
        check::<Asked>(r#"{"id":"x"}"#, "body", "must be a UUID");
        check::<Asked>(
            r#"{"kind":"four"}"#,
            "body",
            "must be one of `one`, `two`, `three`, not `four`",
        );
        check::<Asked>(r#"{"name":"a","name":"b"}"#, "name", "is given more than once");
        let unknown =
            "is not a known field; use one of `id`, `limit`, `list`, `kind`, `on`, `name`";
        check::<Asked>(r#"{"bogus":1}"#, "bogus", unknown);
    }

    #[test]
    fn the_field_is_the_whole_path() {
        let field = |path, message| ServiceError::of_json(path, message, "body").field.unwrap();
        assert_eq!(field("list[0]", "missing field `a` at line 1 column 9"), "list[0].a");
        assert_eq!(field("list[0].b", "unknown field `b`, expected `a`"), "list[0].b");
        assert_eq!(field(".", "EOF"), "body");
    }
}
