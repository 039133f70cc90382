//! The parsers that read text from outside, each with a check that must pass for every input.

use bethink_hook_events::{Delivery, HookInput};
use bethink_memdir::{Name, header, index};
use bethink_session_file::{SessionFileReader, lines};
use bethink_session_memory::{NotesBudget, NotesDraft, Template, Updated, WrittenNotes, update};
use bethink_sse::Decoder;
use bethink_transcript::message::MessageSource;
use bethink_transcript::{Message, MessageId, MessageMeta, Seq, UnixMicros, json, text};
use bytes::Bytes;

use super::{git_objects, git_output, settings_files};

/// A parser under test.
#[derive(Clone, Copy, Debug)]
pub struct FuzzTarget {
    /// The target's name, and that of the folder with its examples.
    pub name: &'static str,
    /// Panics if the parser breaks its promise.
    pub check: fn(&[u8]),
    /// The factor by which the time limit is multiplied.
    pub slowness: u32,
}

impl FuzzTarget {
    pub(super) const fn new(name: &'static str, check: fn(&[u8])) -> Self {
        Self { name, check, slowness: 1 }
    }
}

pub const ALL: [FuzzTarget; 9] = [
    FuzzTarget::new("session-file", session_file),
    FuzzTarget::new("sse", sse),
    FuzzTarget::new("front-matter", front_matter),
    FuzzTarget::new("json-spans", json_spans),
    FuzzTarget::new("markdown", markdown),
    FuzzTarget::new("git-objects", git_objects::check),
    FuzzTarget::new("git-output", git_output::check),
    FuzzTarget::new("hook-input", hook_input),
    // Each input is edited about a hundred times: several entries in the files of all agents, three times.
    FuzzTarget { name: "settings-files", check: settings_files::check, slowness: 4 },
];

/// The lines of a file, joined, are the file again, in whatever pieces it arrives.
fn session_file(input: &[u8]) {
    let joined = |lines: &[bethink_session_file::SessionLine]| -> Vec<u8> {
        lines.iter().flat_map(|l| [&l.head[..], l.raw(), &l.tail[..]].concat()).collect()
    };
    let (whole, _) = lines(Bytes::copy_from_slice(input));
    assert!(joined(&whole) == input, "the lines are not the file");
    let (mut reader, mut pieces) = (SessionFileReader::default(), Vec::new());
    for chunk in input.chunks(1 + input.len() / 3) {
        reader.feed(Bytes::copy_from_slice(chunk), |line| pieces.push(line));
    }
    reader.finish(|line| pieces.push(line));
    assert!(joined(&pieces) == input, "the lines of the pieces are not the file");
    assert_eq!(whole.len(), pieces.len(), "the pieces have other lines");
}

/// Events are the same in whatever pieces the bytes arrive.
fn sse(input: &[u8]) {
    const MOST: usize = 64 << 10;
    let (mut whole, mut pieces) = (Vec::new(), Vec::new());
    let all = Decoder::new(MOST).push(input, &mut whole);
    let mut decoder = Decoder::new(MOST);
    let step = 1 + input.len() / 7;
    let one_by_one = input.chunks(step).try_for_each(|chunk| decoder.push(chunk, &mut pieces));
    assert_eq!(all, one_by_one);
    assert_eq!(whole, pieces);
}

/// Any text can be read as a topic, and a written header is read back unchanged.
fn front_matter(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let topic = header::read(&text);
    let written = header::write(&topic.header, topic.body);
    let again = header::read(&written);
    let rewritten = header::write(&again.header, again.body);
    assert!(rewritten == written, "a header that was written is read as another one");
}

/// The cursor accepts everything that serde accepts; a message is valid JSON after its lone surrogates have been
/// replaced.
fn json_spans(input: &[u8]) {
    let Ok(id) = MessageId::new("m1") else { return };
    let meta = MessageMeta { seq: Seq(1), id, created_at: UnixMicros(0) };
    let parsed = Message::parse(meta, Bytes::copy_from_slice(input), MessageSource::Client);
    // The cursor reads text that was checked to be UTF-8.
    let Ok(text) = std::str::from_utf8(input) else {
        assert!(parsed.is_err(), "a message that is not UTF-8");
        return;
    };
    json::for_each_json_string(text, |_| {});
    let mended = json::without_lone_surrogates(text);
    let text = mended.as_deref().map_or(input, |mended| mended);
    assert_eq!(text.len(), input.len());
    let by_serde = serde_json::from_slice::<serde_json::Value>(text).is_ok();
    let mut cursor = json::Cursor::new(text);
    let skipped = cursor.skip().is_ok() && cursor.end().is_ok();
    let is_unsure = json::depth(text) >= SERDE_DEPTH || has_huge_number(text);
    assert!(skipped == by_serde || is_unsure, "the cursor: {skipped}, serde: {by_serde}");
    if let Ok(message) = parsed {
        assert!(by_serde || is_unsure, "a message that is not JSON");
        message.blocks.iter().for_each(|block| drop(block.text()));
    }
}

/// Serde refuses numbers that no float can hold. They are JSON, and bethink keeps them as they are.
fn has_huge_number(text: &[u8]) -> bool {
    text.windows(2).any(|two| matches!(two, [b'0'..=b'9' | b'.', b'e' | b'E']))
        || text.split(|byte| !byte.is_ascii_digit()).any(|digits| digits.len() > 300)
}

/// Deeper values are left to the cursor's own limit.
const SERDE_DEPTH: usize = 120;

/// Notes keep every line; an index finds its entries and can be changed.
fn markdown(input: &[u8]) {
    let source = String::from_utf8_lossy(input);
    let lines: Vec<&str> = source.lines().collect();
    assert_eq!(text::closed_fences(&lines).len(), lines.len());
    let plain = text::plain(&source);
    assert!(!plain.contains('\u{1b}'), "an escape is left");
    // The first write may tidy the file once: a heading in a fence that is never closed gets a blank line.
    let first = notes_of(&source, &WrittenNotes::default());
    let second = notes_of(&first.text, &first.written);
    let third = notes_of(&second.text, &second.written);
    assert!(third.text == second.text, "notes change each time they are read and written");
    drop((index::entries(&source), index::shown(&source), index::warnings(&source)));
    assert!(index::merge(&source, &source, &source) == source, "a merge of nothing");
    if let Ok(name) = Name::parse("fog") {
        let added = index::add(&source, &name, "Fog", "how thick it is");
        drop(index::remove(&added, &name));
    }
}

/// Merges a notes file with an update that adds nothing.
fn notes_of(file: &str, last: &WrittenNotes) -> Updated {
    let (template, budget) = (Template::default(), NotesBudget::default());
    update(&template, NotesDraft::default(), last, Some(file), &budget)
}

/// An input that is accepted is also accepted in the form in which it is sent to the daemon.
fn hook_input(input: &[u8]) {
    if let Ok(read) = HookInput::read(input) {
        assert_eq!(HookInput::read(read.to_json().as_bytes()).as_ref(), Ok(&read));
    }
    if let Some(delivery) = Delivery::read(input) {
        assert_eq!(Delivery::read(delivery.to_json().as_bytes()).as_ref(), Some(&delivery));
    }
}
