//! Reads what other memory programs export: claude-mem's `export-memories`, and mem0's `get_all` and exports.

use bethink_memdir::{Header, MemoryKind, Source, header};
use bethink_transcript::text::one_line;
use serde::Deserialize;
use serde_json::Value;

/// A memory from an export, as a new topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForeignMemory {
    pub(crate) description: String,
    body: String,
    kind: Option<MemoryKind>,
    /// The time at which the memory was created, in RFC 3339 format, if the export contains it.
    time: Option<String>,
}

impl ForeignMemory {
    /// Returns the text of the topic. `now` is used as the topic's time if the export does not contain one.
    pub(crate) fn topic(&self, from: &str, now: &str) -> String {
        let source = Source {
            session: String::new(),
            messages: Vec::new(),
            strategy: format!("import from {from}"),
            time: self.time.clone().unwrap_or_else(|| now.to_owned()),
            ..Source::default()
        };
        let header = Header {
            description: Some(self.description.clone()),
            kind: self.kind.or_else(|| header::guess_kind(&self.body)),
            source: Some(source),
            ..Header::default()
        };
        header::write(&header, &format!("{}\n", self.body.trim()))
    }
}

/// A parsed export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForeignExport {
    pub(crate) from: &'static str,
    pub(crate) memories: Vec<ForeignMemory>,
    pub(crate) empty: usize,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum UnknownExport {
    #[error("it is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    #[error(
        "it is neither a claude-mem export (which has `observations`) nor a mem0 export (which has a `results` or `memories` \
         list whose entries each have a `memory` field)"
    )]
    Unknown,
}

/// claude-mem stores lists as JSON in a string.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Observation {
    #[serde(rename = "type")]
    kind: Option<String>,
    title: Option<String>,
    subtitle: Option<String>,
    narrative: Option<String>,
    text: Option<String>,
    facts: Value,
    created_at: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Mem0Memory {
    memory: Option<String>,
    /// The name that exports from mem0's hosted service use for `memory`.
    content: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
}

pub(crate) fn read(text: &str) -> Result<ForeignExport, UnknownExport> {
    let value: Value = serde_json::from_str(text)?;
    let list = |key: &str| value.get(key).and_then(Value::as_array);
    if let Some(observations) = list("observations") {
        return Ok(export("claude-mem", observations, observed));
    }
    let memories = list("results").or_else(|| list("memories")).or_else(|| value.as_array());
    let is_mem0 = |one: &Value| one.get("memory").is_some() || one.get("content").is_some();
    match memories {
        Some(memories) if memories.is_empty() || memories.iter().any(is_mem0) => {
            Ok(export("mem0", memories, remembered))
        }
        _ => Err(UnknownExport::Unknown),
    }
}

fn export(
    from: &'static str,
    entries: &[Value],
    one: fn(&Value) -> Option<ForeignMemory>,
) -> ForeignExport {
    let memories: Vec<ForeignMemory> = entries.iter().filter_map(one).collect();
    ForeignExport { from, empty: entries.len() - memories.len(), memories }
}

fn observed(entry: &Value) -> Option<ForeignMemory> {
    let seen = Observation::deserialize(entry).ok()?;
    let said = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let facts = match &seen.facts {
        Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
        facts => facts.clone(),
    };
    let facts: Vec<String> = facts
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|fact| Some(format!("- {}", one_line(fact.as_str()?))))
        .collect();
    let parts = [said(seen.subtitle), said(seen.narrative), said(seen.text)];
    let mut parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.extend(Some(facts.join("\n")).filter(|facts| !facts.is_empty()));
    let title = said(seen.title);
    let body = if parts.is_empty() { title.clone()? } else { parts.join("\n\n") };
    let described = || Header::default().described(&body);
    Some(ForeignMemory {
        description: title.as_deref().map(one_line).unwrap_or_else(described),
        // What claude-mem observes is about the project; it has no preferences of the person.
        kind: seen.kind.map(|_| MemoryKind::Project),
        time: seen.created_at,
        body,
    })
}

fn remembered(entry: &Value) -> Option<ForeignMemory> {
    let memory = Mem0Memory::deserialize(entry).ok()?;
    let body = memory.memory.or(memory.content).filter(|text| !text.trim().is_empty())?;
    Some(ForeignMemory {
        description: Header::default().described(&body),
        kind: None,
        time: memory.updated_at.or(memory.created_at),
        body,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_of_claude_mem() {
        let text = r#"{"exportedAt": "2026-01-01T00:00:00Z", "observations": [
            {"id": 1, "type": "decision", "title": "Errors use problem+json", "subtitle": "One shape",
             "narrative": "We chose it.", "facts": "[\"RFC 9457\", \"every route\"]",
             "created_at": "2026-01-02T03:04:05Z"},
            {"id": 2, "title": " ", "facts": null}
        ], "sessions": [], "summaries": [], "prompts": []}"#;
        let export = read(text).unwrap();
        assert_eq!((export.from, export.empty, export.memories.len()), ("claude-mem", 1, 1));
        assert_eq!(
            export.memories[0].topic(export.from, "2026-11-23T00:00:00Z"),
            "---\ndescription: Errors use problem+json\ntype: project\nsource:\n  strategy: import from claude-mem\n  \
             time: 2026-01-02T03:04:05Z\n---\n\nOne shape\n\nWe chose it.\n\n- RFC 9457\n- every route\n"
        );
    }

    #[test]
    fn exports_of_mem0() {
        let one = r#"{"id": "a", "memory": "Prefers morning meetings.", "created_at": "2026-01-02T03:04:05Z", "metadata": {}}"#;
        for text in [
            format!("[{one}]"),
            format!(r#"{{"count": 1, "results": [{one}]}}"#),
            format!(r#"{{"memories": [{one}]}}"#),
        ] {
            let export = read(&text).unwrap();
            assert_eq!((export.from, export.memories.len()), ("mem0", 1), "{text}");
            assert_eq!(export.memories[0].description, "Prefers morning meetings.");
            assert_eq!(export.memories[0].time.as_deref(), Some("2026-01-02T03:04:05Z"));
        }
    }

    #[test]
    fn other_files_are_refused() {
        assert!(matches!(read("# Notes"), Err(UnknownExport::NotJson(_))));
        for text in ["{}", "[1, 2]", r#"{"results": [{"title": "x"}]}"#, r#"{"observations": 1}"#] {
            assert!(matches!(read(text), Err(UnknownExport::Unknown)), "{text}");
        }
    }
}
