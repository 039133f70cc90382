//! The text that `session ls --format` prints for each session.

use bethink_api::Session;

type Field = (&'static str, fn(&Session) -> String);

/// The fields, by their names in a template.
const FIELDS: [Field; 9] = [
    ("id", |session| session.id.to_string()),
    ("title", |session| session.title.clone().unwrap_or_default()),
    ("project", |session| session.project_dir.clone()),
    ("messages", |session| session.messages.to_string()),
    ("model", |session| session.model.name.clone()),
    ("tags", |session| session.tags.join(",")),
    ("parent", |session| session.parent.map(|id| id.to_string()).unwrap_or_default()),
    ("created", |session| session.created_at.clone()),
    ("updated", |session| session.updated_at.clone()),
];

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Field(fn(&Session) -> String),
}

/// A template: text with fields in braces.
#[derive(Clone, Debug)]
pub(crate) struct SessionTemplate(Vec<Part>);

impl SessionTemplate {
    /// Parses a template. `\t` and `\n` are a tab and a line feed.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        for (at, piece) in text.split('{').enumerate() {
            let plain = match at {
                0 => piece,
                _ => {
                    let (name, plain) = piece.split_once('}').ok_or("a `{` has no matching `}`")?;
                    parts.push(Part::Field(field(name)?));
                    plain
                }
            };
            parts.push(Part::Text(plain.replace("\\t", "\t").replace("\\n", "\n")));
        }
        Ok(Self(parts))
    }

    pub(crate) fn text(&self, session: &Session) -> String {
        let text = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            // A title with a line feed must not look like two sessions.
            Part::Field(read) => read(session).replace(char::is_control, " "),
        };
        self.0.iter().map(text).collect()
    }
}

fn field(name: &str) -> Result<fn(&Session) -> String, String> {
    let found = FIELDS.iter().find(|(known, _)| *known == name);
    found.map(|(_, read)| *read).ok_or_else(|| {
        let names: Vec<_> = FIELDS.iter().map(|(name, _)| *name).collect();
        format!("unknown field {{{name}}}; the fields are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_replaced_and_unknown_ones_are_refused() {
        let session: Session = serde_json::from_value(serde_json::json!({
            "id": "019aa8f2-1111-7aaa-8000-000000000001", "project_dir": "/work", "title": "{id}", "tags": ["a", "b"],
            "parent": null, "forked_at_seq": null, "model": {"name": "m", "context_window": 1, "max_output_tokens": 1},
            "messages": 3, "last_seq": 3, "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-02T00:00:00Z",
        }))
        .unwrap();
        let printed = |text: &str| SessionTemplate::parse(text).map(|one| one.text(&session));
        assert_eq!(printed("{title}\\t{messages} {tags}}").unwrap(), "{id}\t3 a,b}");
        assert_eq!(printed("{parent}").unwrap(), "");
        assert!(printed("{size}").unwrap_err().contains("id, title, project"));
        assert!(printed("{id").is_err());
    }
}
