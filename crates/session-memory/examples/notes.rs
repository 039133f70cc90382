//! Prints the notes of a recorded session: `cargo run --example notes -- FILE [MESSAGES]`.

// A program for a terminal.
#![allow(clippy::print_stdout, clippy::expect_used, clippy::unwrap_used)]

use bethink_facts::Facts;
use bethink_session_memory::{
    EmbeddedWriter, NotesBudget, NotesRequest, NotesWriter, Template, Written, update,
};
use bethink_tokens::ByteEstimator;
use bethink_transcript::message::Source;
use bethink_transcript::{Message, MessageId, MessageMeta, Seq, UnixMicros};
use serde_json::Value;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("a recorded session");
    let most = arguments.next().map_or(u64::MAX, |n| n.parse().expect("a number of messages"));
    let text = std::fs::read_to_string(file).expect("a readable file");
    let (mut facts, mut project, mut seq) = (Facts::default(), String::new(), 0);
    for line in text.lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        let is_message = line["type"] == "user" || line["type"] == "assistant";
        if !is_message || line["isSidechain"] == true || seq >= most {
            continue;
        }
        project = line["cwd"].as_str().filter(|_| project.is_empty()).map_or(project, Into::into);
        let id = MessageId::new(&format!("m{seq}")).expect("an id");
        let meta = MessageMeta { seq: Seq(seq + 1), id, created_at: UnixMicros(0) };
        let raw = line["message"].to_string().into_bytes().into();
        if let Ok(message) = Message::parse(meta, raw, Source::Provider) {
            seq += 1;
            facts.observe(&message);
        }
    }
    let template = Template::default();
    let request =
        NotesRequest { facts: &facts, template: &template, title: None, project_dir: &project };
    let draft = EmbeddedWriter.write(&request).expect("a draft");
    let budget = NotesBudget::default();
    let notes = update(&template, draft, &Written::default(), None, &budget, &ByteEstimator);
    println!("{}", notes.text);
}
