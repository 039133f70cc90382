//! Readers of messages: what is stored of a session, and what is made from it.

use std::sync::Arc;

use bethink_agent_transcript::{TranscriptAgent, TranscriptContext, TranscriptReader};
use bethink_compactor::ladder::SummaryRequest;
use bethink_compactor::{EmbeddedSummarizer, SpanRequest, Summarizer, write_span};
use bethink_context::{Decisions, Hints, History, HistoryEntry, ViewOptions};
use bethink_facts::{Facts, RecordedStatement, readable, without_middle};
use bethink_hook_events::{Delivery, HookInput};
use bethink_prefix_match::LikenessReader;
use bethink_recall::{fields, marks};
use bethink_session_memory::{EmbeddedWriter, NotesRequest, NotesWriter, Template};
use bethink_transcript::json::{self, Cursor, encode_string};
use bethink_transcript::message::MessageSource;
use bethink_transcript::{
    CollapseId, Message, MessageId, MessageMeta, Seq, UnixMicros, text, typed,
};
use bytes::Bytes;
use uuid::Uuid;

use super::parts;

/// Size of a summary, in bytes.
const SUMMARY_BYTES: usize = 32_000;
/// Size of the text of a span, in bytes.
const SPAN_BYTES: usize = 4_000;
/// Size of a statement in facts, in bytes.
const STATEMENT_BYTES: usize = 1_000;
/// Maximum number of blocks of a message, with the two around it.
const PIECES: usize = 1_000;

fn message(seq: u64, raw: String) -> Option<Arc<Message>> {
    let id = MessageId::new(&format!("m{seq}")).ok()?;
    let meta = MessageMeta { seq: Seq(seq), id, created_at: UnixMicros(seq as i64 * 1_000_000) };
    Message::parse(meta, Bytes::from(raw), MessageSource::Client).ok().map(Arc::new)
}

/// A part of the text in every place: what a user says, an assistant answers and gives to a tool, and what a tool returns.
fn conversation(text: &str) -> Vec<Arc<Message>> {
    let [asked, said, command, old, new, failed, returned] = parts(text).map(encode_string);
    let calls = format!(
        r#"[{{"type":"text","text":{said}}},{{"type":"tool_use","id":"t1","name":"Bash","input":{{"command":{command}}}}},{{"type":"tool_use","id":"t2","name":"Edit","input":{{"file_path":"/p/a.rs","old_string":{old},"new_string":{new}}}}}]"#
    );
    let results = format!(
        r#"[{{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":{failed}}},{{"type":"tool_result","tool_use_id":"t2","content":{returned}}}]"#
    );
    let contents = [("user", asked), ("assistant", calls), ("user", results)];
    let raw =
        |(role, content): (&str, String)| format!(r#"{{"role":"{role}","content":{content}}}"#);
    contents.map(raw).into_iter().zip(1..).filter_map(|(raw, seq)| message(seq, raw)).collect()
}

fn facts_of(text: &str) -> Facts {
    let mut facts = Facts::default();
    conversation(text).iter().for_each(|message| facts.observe(message));
    facts
}

/// What a user says in one message.
pub(super) fn said(text: &str) -> Vec<RecordedStatement> {
    let mut facts = Facts::default();
    let raw = format!(r#"{{"role":"user","content":{}}}"#, encode_string(text));
    message(1, raw).iter().for_each(|message| facts.observe(message));
    facts.user
}

pub(super) fn facts(text: &str) {
    let facts = facts_of(text);
    let _ = facts.names.ranked(&facts.moment());
    let _ = facts.weight();
    let _ = readable(text);
    let _ = without_middle(text, STATEMENT_BYTES);
}

/// The text as the results of many calls, with the words by which facts recognize tools.
pub(super) fn tool_results(text: &str) {
    let mut facts = Facts::default();
    let size = (text.len() / PIECES).max(1);
    let mut rest = text;
    for seq in 1.. {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(size.min(rest.len())));
        rest = after;
        let piece = encode_string(piece);
        let call = format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"t{seq}","name":"Bash","input":{{"command":{piece}}}}}]}}"#
        );
        let result = format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{seq}","is_error":true,"content":{piece}}}]}}"#
        );
        for (half, raw) in [call, result].into_iter().enumerate() {
            message(2 * seq + half as u64, raw).iter().for_each(|message| facts.observe(message));
        }
        if rest.is_empty() {
            break;
        }
    }
    let _ = facts.names.ranked(&facts.moment());
}

pub(super) fn summary(text: &str) {
    let facts = facts_of(text);
    let request = SummaryRequest {
        facts: &facts,
        max_bytes: SUMMARY_BYTES,
        user_bytes: SUMMARY_BYTES / 4,
        kept_from: None,
        own_bytes: 48_000,
        stands_alone: true,
        focus: None,
    };
    let _ = EmbeddedSummarizer.summarize(&request);
}

pub(super) fn span(text: &str) {
    let _ = write_span(&SpanRequest {
        id: CollapseId(Uuid::nil()),
        messages: conversation(text),
        after: Vec::new(),
        max_bytes: SPAN_BYTES,
        hints: Hints::default(),
    });
}

pub(super) fn view(text: &str) {
    let mut history = History::default();
    conversation(text).into_iter().for_each(|message| history.push(HistoryEntry::new(message)));
    let shown = bethink_context::view(&history, &Decisions::default(), ViewOptions::default());
    let _ = shown.tokens();
}

pub(super) fn notes(text: &str) {
    let facts = facts_of(text);
    let template = Template::default();
    let request =
        NotesRequest { facts: &facts, template: &template, title: None, project_dir: "/p" };
    let _ = EmbeddedWriter.write(&request);
}

pub(super) fn indexed(text: &str) {
    let messages = conversation(text);
    let mut before = None;
    for message in &messages {
        let _ = fields(message);
        let _ = marks::marks(message, before);
        before = Some(message);
    }
}

pub(super) fn likeness(text: &str) {
    let mut reader = LikenessReader::default();
    let _ = reader.read(text.as_bytes());
    for message in conversation(text) {
        if let Ok(reading) = reader.read(message.raw()) {
            let _ = reading.unmarked(message.raw());
        }
    }
}

pub(super) fn session_file(text: &str) {
    let _ = bethink_session_file::lines(Bytes::copy_from_slice(text.as_bytes()));
    let content = encode_string(text);
    let line = format!(
        "{{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":null,\"sessionId\":\"s\",\"message\":{{\"role\":\"user\",\"content\":{content}}}}}\n"
    );
    let _ = bethink_session_file::lines(Bytes::from(line));
}

/// Lines that are no records, and a record with the text, in each place where an agent puts text.
fn transcript(agent: TranscriptAgent, text: &str) {
    let content = encode_string(text);
    let parts = format!("[{{\"type\":\"input_text\",\"text\":{content}}}]");
    let record = format!(
        "{{\"type\":\"response_item\",\"payload\":{{\"type\":\"message\",\"role\":\"user\",\"content\":{parts}}},\
         \"message\":{{\"role\":\"user\",\"content\":{content},\"parts\":{parts}}}}}\n"
    );
    for input in [text, &record] {
        let context = TranscriptContext::default();
        let Some(mut reader) = TranscriptReader::new(agent, context) else { continue };
        reader.feed(input.as_bytes(), |_, _| {});
        drop(reader.finish());
    }
}

pub(super) fn codex(text: &str) {
    transcript(TranscriptAgent::Codex, text);
}

pub(super) fn gemini(text: &str) {
    transcript(TranscriptAgent::Gemini, text);
}

pub(super) fn qwen(text: &str) {
    transcript(TranscriptAgent::Qwen, text);
}

pub(super) fn opencode(text: &str) {
    transcript(TranscriptAgent::Opencode, text);
}

pub(super) fn pi(text: &str) {
    transcript(TranscriptAgent::Pi, text);
}

pub(super) fn cline(text: &str) {
    transcript(TranscriptAgent::Cline, text);
}

pub(super) fn continue_dev(text: &str) {
    transcript(TranscriptAgent::Continue, text);
}

pub(super) fn hooks(text: &str) {
    let prompt = encode_string(text);
    let json =
        format!("{{\"session_id\":\"s\",\"cwd\":\"/p\",\"prompt\":{prompt},\"tool\":{prompt}}}");
    let _ = HookInput::read(text.as_bytes());
    let _ = HookInput::read(json.as_bytes());
    let _ = Delivery::read(text.as_bytes());
}

pub(super) fn json(text: &str) {
    let _ = Cursor::new(text.as_bytes()).skip();
    let _ = json::depth(text.as_bytes());
    let _ = json::members(text);
    let _ = json::without_lone_surrogates(text);
    json::for_each_json_string(text, |_| {});
    let literal = encode_string(text);
    let _ = json::decode_string(&literal);
    let _ = json::decode_string(text);
    let object = format!("{{\"a\":{literal},\"b\":1}}");
    let _ = json::with_member(&object, "b", "2");
    let _ = json::without_key(&object, "a");
}

pub(super) fn messages(text: &str) {
    let _ = message(1, text.to_owned());
    let _ = message(1, format!("{{\"role\":\"user\",\"content\":{text}}}"));
    let _ = conversation(text);
    let _ = typed::title(text);
    let _ = typed::without_reminders(text);
    let _ = typed::command_arguments(text);
    let _ = text::plain(text);
    let _ = text::one_line(text);
    let _ = text::open_fence(text);
    let lines: Vec<&str> = text.lines().collect();
    let _ = text::closed_fences(&lines);
}
