//! Tests of chat completions.

use bethink_model_server::Script;
use serde_json::{Value, json};

use crate::world::{World, body, streamed};

#[test]
fn a_request_for_a_title_is_no_session() {
    let world = World::new(Script::good());
    let mut asks = body("");
    asks["messages"] = json!([
        {"role": "system", "content": "You are a title generator. You output ONLY a thread title."},
        {"role": "user", "content": "Generate a title for this conversation:\n"},
        {"role": "user", "content": "Why is the build red?"},
    ]);
    assert_eq!(world.chat(&asks).status, 200);
    world.chat(&body("Why is the build red?")).ok();
    assert_eq!(world.histories(2).len(), 1);
    assert_eq!(world.server.counts().requests, 2);
}

#[test]
fn a_chat_is_kept_and_goes_on() {
    let world = World::new(Script::good());
    let named = |mut body: Value| {
        body["prompt_cache_key"] = json!("session-5");
        body
    };
    let first = world.chat(&named(body("Why is the build red?"))).ok();
    let said = first["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    let histories = world.histories(2);
    assert_eq!(histories[0][1]["content"], json!([{"type": "text", "text": said}]));
    let mut next = named(streamed(""));
    next["messages"] = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Why is the build red?"},
        {"role": "assistant", "content": said},
        {"role": "user", "content": "Mend it."},
    ]);
    let answer = world.chat(&next).text();
    assert!(answer.ends_with("data: [DONE]\n\n"), "{answer}");
    let sent: Value = serde_json::from_slice(&world.seen().body).unwrap();
    assert_eq!(sent, next);
    let histories = world.histories(4);
    assert_eq!(histories.len(), 1, "{histories:?}");
    assert_eq!(world.server.counts().invalid_prompts, 0);
}
