//! Readers of questions, answers and errors: texts without structure.

use std::collections::HashSet;

use bethink_compactor::fidelity::collect;
use bethink_compactor::full::{compact_instructions, read};
use bethink_compactor::well_formed;
use bethink_days::{Day, named_days, relative_date, stamped_day};
use bethink_model::{ProviderMessage, classify};
use bethink_names::for_each_name;
use bethink_names::words::for_each_word;
use bethink_recall::{Question, analyze, highlights, phrase, query_terms, snippet};
use bethink_secrets::gate;
use bethink_sse::Decoder;
use bethink_tokens::{json_tokens, text_tokens};

/// Limit of an event, as in the readers of model streams; larger than every text.
const EVENT_BYTES: usize = 4 << 20;
/// Size of the pieces in which a stream arrives, in bytes.
const PIECE_BYTES: usize = 1_000;
/// Size of a question about a text, in bytes; [`questions`] reads longer ones.
const QUESTION_BYTES: usize = 4_000;
/// Maximum length of a snippet, in characters, as in an answer to a search.
const SNIPPET_CHARS: usize = 320;

pub(super) fn compactor(text: &str) {
    let _ = compact_instructions(text);
    let _ = read(text);
    let _ = read(&format!("<summary>\n{text}\n</summary>"));
    let _ = well_formed(text);
    collect(text, &mut HashSet::new());
}

pub(super) fn dates(text: &str) {
    let _ = named_days(text, Day(20_000));
    let _ = stamped_day(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let said = "2026-11-22".parse().unwrap_or_default();
    for at in 0..words.len() {
        let _ = relative_date(&words[at..], said);
    }
}

pub(super) fn provider_errors(text: &str) {
    let message = ProviderMessage { status: Some(400), kind: None, code: None, message: text };
    let _ = classify(&message);
    let _ = classify(&ProviderMessage { kind: Some(text), code: Some(text), ..message });
}

pub(super) fn names(text: &str) {
    for_each_name(text, |_| {});
    for_each_word(text, |_| {});
    let _ = bethink_statement::words(text, 0..text.len());
    let _ = bethink_statement::normal(text);
    let _ = bethink_statement::names(text);
    let content = bethink_statement::content(text);
    let _ = bethink_statement::likeness(&content, &content);
    let _ = bethink_invisible_chars::find(text);
}

pub(super) fn questions(text: &str) {
    let question = Question::new(text);
    let _ = phrase::held(text, &question.phrases);
    let _ = query_terms(text);
    let _ = analyze(text);
}

pub(super) fn snippets(text: &str) {
    let _ = snippet(text, &terms(text), SNIPPET_CHARS);
}

pub(super) fn marks(text: &str) {
    let terms = terms(text);
    let _ = highlights(text, &terms);
    let _ = phrase::together(text, &terms);
}

/// The terms of a question. A question is short.
fn terms(text: &str) -> Vec<String> {
    query_terms(&text[..text.floor_char_boundary(QUESTION_BYTES)])
}

pub(super) fn secrets(text: &str) {
    let _ = gate("notes", text);
}

pub(super) fn events(text: &str) {
    let mut decoder = Decoder::new(EVENT_BYTES);
    let mut events = Vec::new();
    for piece in text.as_bytes().chunks(PIECE_BYTES) {
        if decoder.push(piece, &mut events).is_err() {
            return;
        }
    }
}

pub(super) fn tokens(text: &str) {
    let _ = text_tokens(text);
    let _ = json_tokens(text);
}
