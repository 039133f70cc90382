//! A drop in the provider's cache is reported with its cause, and nothing else is.

use bethink_api::PromptChange;
use bethink_context::cache::{CacheDrop, CacheWatch};
use bethink_transcript::UnixMicros;
use serde_json::json;

use crate::histories::{history, say};

const MINUTE: i64 = 60_000_000;
const TTL: i64 = 5 * MINUTE;

/// Returns an answer at `minute` that read and wrote these numbers of tokens, by `model` unless that is empty.
fn answered(
    watch: &mut CacheWatch,
    minute: i64,
    model: &str,
    read: u64,
    written: u64,
) -> Option<CacheDrop> {
    let mut value = json!({ "role": "assistant", "content": [{ "type": "text", "text": "x" }],
        "usage": { "input_tokens": 3, "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written, "output_tokens": 1 } });
    if !model.is_empty() {
        value["model"] = json!(model);
    }
    let count =
        watch.last_fall().map_or(0, |fall| fall.seq.0) as usize + minute.unsigned_abs() as usize;
    let filler = vec![say("x"); count];
    let made = history(&filler.into_iter().chain([value]).collect::<Vec<_>>());
    let mut message = (*made.entries().last().unwrap().message).clone();
    message.created_at = UnixMicros(minute * MINUTE);
    watch.observe(&message, "claude-x", TTL)
}

/// Returns the cause of a drop from 40,000 cached tokens to 1,000 after `between`.
fn cause(between: impl FnOnce(&mut CacheWatch), minute: i64, model: &str) -> PromptChange {
    let mut watch = CacheWatch::default();
    watch.handed_out(1, 1, None);
    assert_eq!(answered(&mut watch, 1, "", 0, 40_000), None, "nothing to compare with");
    between(&mut watch);
    let fall = answered(&mut watch, minute, model, 1_000, 39_000).unwrap();
    assert_eq!((fall.cached, fall.read, fall.at), (40_000, 1_000, UnixMicros(minute * MINUTE)));
    assert_eq!(watch.breaks(), u64::from(!fall.is_expected()));
    assert_eq!(watch.last_fall(), Some(&fall));
    fall.cause
}

#[test]
fn the_cause_is_named() {
    let stage =
        |name: PromptChange| move |watch: &mut CacheWatch| watch.handed_out(1, 1, Some(name));
    assert_eq!(cause(|_| {}, 3, ""), PromptChange::Unknown);
    assert_eq!(cause(|w| w.handed_out(1, 1, None), 3, ""), PromptChange::Unknown);
    assert_eq!(
        cause(|w| w.handed_out(2, 1, Some(PromptChange::System)), 3, ""),
        PromptChange::System
    );
    assert_eq!(
        cause(|w| w.handed_out(1, 2, Some(PromptChange::Tools)), 3, ""),
        PromptChange::Tools
    );
    assert_eq!(cause(|_| {}, 3, "claude-y"), PromptChange::Model);
    assert_eq!(
        cause(|_| {}, 3, "claude-x-20260101"),
        PromptChange::Unknown,
        "a date is no other model"
    );
    assert_eq!(cause(|_| {}, 6, ""), PromptChange::Unknown, "the cache lives five minutes");
    assert_eq!(cause(|_| {}, 7, ""), PromptChange::Idle);
    for change in [
        PromptChange::Microcompact,
        PromptChange::Snip,
        PromptChange::Collapse,
        PromptChange::History,
    ] {
        assert_eq!(cause(stage(change), 3, ""), change);
        assert_eq!(cause(stage(change), 90, ""), PromptChange::Idle, "{change}: cold anyway");
    }
    assert_eq!(cause(stage(PromptChange::Compaction), 3, ""), PromptChange::Compaction);
    assert_eq!(cause(CacheWatch::compacted, 90, "claude-y"), PromptChange::Compaction);
}

/// A change in a prompt explains the first answer after it, and no later one.
#[test]
fn a_change_explains_one_answer() {
    let mut watch = CacheWatch::default();
    answered(&mut watch, 1, "", 0, 40_000);
    watch.handed_out(1, 1, None);
    watch.handed_out(1, 2, Some(PromptChange::Tools));
    watch.handed_out(1, 2, None);
    assert_eq!(answered(&mut watch, 2, "", 0, 40_000).unwrap().cause, PromptChange::Tools);
    assert_eq!(answered(&mut watch, 3, "", 40_000, 0), None);
    assert_eq!(answered(&mut watch, 4, "", 0, 40_000).unwrap().cause, PromptChange::Unknown);
    assert_eq!(watch.breaks(), 2);
}

#[test]
fn a_small_fall_is_none() {
    for (cached, read, falls) in [
        (40_000, 38_001, false),
        (40_000, 38_000, false),
        (40_000, 37_999, true),
        (10_000, 8_001, false),
        (10_000, 8_000, true),
        (1_999, 0, false),
        (2_000, 0, true),
        (40_000, 60_000, false),
        (u64::from(u32::MAX), 0, true),
        (0, 0, false),
    ] {
        let mut watch = CacheWatch::default();
        answered(&mut watch, 1, "", cached / 2, cached - cached / 2);
        let fall = answered(&mut watch, 2, "", read, 5);
        assert_eq!(fall.is_some(), falls, "{cached} {read}");
    }
}

#[test]
fn parts_of_one_answer_and_what_was_seen_before_count_once() {
    let part = |seq: u64, read: u64| {
        let value = json!({ "role": "assistant", "assistant_message_id": "a1", "content": "x",
            "usage": { "input_tokens": 3, "cache_read_input_tokens": read } });
        let made = history(&vec![value; usize::try_from(seq).unwrap()]);
        (*made.entries().last().unwrap().message).clone()
    };
    let mut watch = CacheWatch::default();
    assert_eq!(watch.observe(&part(1, 40_000), "m", TTL), None);
    assert_eq!(watch.observe(&part(2, 0), "m", TTL), None, "the same answer");
    assert!(answered(&mut watch, 3, "m", 0, 5).is_some());
    assert_eq!(watch.observe(&part(2, 0), "m", TTL), None, "older than what was seen");
}
