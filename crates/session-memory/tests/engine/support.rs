//! Drafts and sessions for tests.

use bethink_facts::Facts;
use bethink_session_memory::{
    DraftSection, EmbeddedWriter, NotesBudget, NotesDraft, NotesRequest, NotesRow, NotesWriter,
    Template, Updated, WrittenNotes, update,
};
use bethink_transcript::message::MessageSource;
use bethink_transcript::{Message, MessageId, MessageMeta, Seq, UnixMicros};
use serde_json::{Value, json};

/// Makes a draft of the default template's sections from rows of (section, key, text).
pub(crate) fn draft(rows: &[(usize, &str, &str)]) -> NotesDraft {
    let template = Template::default();
    let sections = template.sections.iter().enumerate().map(|(at, section)| {
        let own = rows.iter().filter(|(place, ..)| *place == at);
        let rows = own.map(|(_, key, text)| NotesRow::item(*key, text, 1)).collect();
        DraftSection { kind: section.kind, rows }
    });
    NotesDraft { sections: sections.collect() }
}

pub(crate) fn merge(draft: NotesDraft, last: &WrittenNotes, file: Option<&str>) -> Updated {
    let (template, budget) = (Template::default(), NotesBudget::default());
    update(&template, draft, last, file, &budget)
}

pub(crate) fn facts(messages: &[Value]) -> Facts {
    let mut facts = Facts::default();
    for (at, message) in messages.iter().enumerate() {
        let id = MessageId::new(&format!("m{at}")).unwrap();
        let meta = MessageMeta { seq: Seq(at as u64 + 1), id, created_at: UnixMicros(0) };
        let raw = message.to_string().into_bytes().into();
        facts.observe(&Message::parse(meta, raw, MessageSource::Client).unwrap());
    }
    facts
}

/// Returns the embedded notes of these messages.
pub(crate) fn notes(messages: &[Value]) -> String {
    let (facts, template) = (facts(messages), Template::default());
    let request =
        NotesRequest { facts: &facts, template: &template, title: None, project_dir: "/proj/tide" };
    let draft = EmbeddedWriter.write(&request).unwrap();
    merge(draft, &WrittenNotes::default(), None).text
}

pub(crate) fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

pub(crate) fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// Returns a call and its result.
pub(crate) fn call(id: &str, name: &str, input: &Value, result: &str, failed: bool) -> [Value; 2] {
    [
        json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": name, "input": input}]}),
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": result, "is_error": failed}]}),
    ]
}
