use bethink_model::{ErrorClass, Stop};

use super::*;

const START: &str = r#"{"type":"message_start","message":{"id":"m","model":"x","usage":{"input_tokens":4,"output_tokens":1}}}"#;
const END: &str =
    r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn play(events: &[&str]) -> Result<Reply, ProviderTrouble> {
    let mut stream = Events::default();
    for data in events {
        let event = SseEvent { data: (*data).to_owned(), ..SseEvent::default() };
        if stream.take(&event)? == DeltaTaken::Last {
            break;
        }
    }
    stream.end()
}

fn blocks(middle: &[&str]) -> Result<Vec<String>, ProviderTrouble> {
    let events = [&[START], middle, &[END, STOP]].concat();
    let reply = play(&events)?;
    Ok(reply.content.iter().map(|block| block.as_str().to_owned()).collect())
}

#[test]
fn blocks_are_built_by_index() {
    let found = blocks(&[
        r#"{"type":"content_block_start","index":4,"content_block":{"type":"text","text":"b"}}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"text":"","citations":null,"type":"text"}}"#,
        r#"{"type":"content_block_delta","index":4,"delta":{"type":"text_delta","text":"c"}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"a"}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"z": 1}}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"unheard_of_delta","x":[]}}"#,
    ]);
    assert_eq!(
        found.unwrap(),
        [r#"{"text":"a","citations":[{"z": 1}],"type":"text"}"#, r#"{"type":"text","text":"bc"}"#]
    );
}

#[test]
fn blocks_without_deltas_keep_their_bytes() {
    let redacted = r#"{"type":"redacted_thinking", "data":"Eu\/x=="}"#;
    let other = r#"{"type":"server_tool_use","id":"s1","name":"web_search","input":{"q" : 1.0}}"#;
    let starts = [
        format!(r#"{{"type":"content_block_start","index":0,"content_block":{redacted}}}"#),
        format!(r#"{{"type":"content_block_start","index":1,"content_block":{other}}}"#),
    ];
    assert_eq!(blocks(&[&starts[0], &starts[1]]).unwrap(), [redacted, other]);
}

#[test]
fn an_input_that_was_cut_off_is_kept_as_text() {
    let found = blocks(&[
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"n","input":{}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\": \"b"}}"#,
    ]);
    assert_eq!(
        found.unwrap(),
        [r#"{"type":"tool_use","id":"t","name":"n","input":{"_raw":"{\"a\": \"b"}}"#]
    );
}

#[test]
fn figures_and_ends_are_the_last_ones() {
    let reply = play(&[START, END, STOP]).unwrap();
    assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (4, 9));
    assert_eq!((reply.stop, reply.id.as_str(), reply.usage_doubtful), (Stop::EndTurn, "m", false));
}

#[test]
fn events_out_of_order_are_no_answer() {
    let open =
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let text =
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#;
    for events in [
        vec![],
        vec![STOP],
        vec![END, STOP],
        vec![START],
        vec![START, END],
        vec![START, STOP],
        vec![START, START, END, STOP],
        vec![open, START, END, STOP],
        vec![START, open, open, END, STOP],
        vec![START, text, open, END, STOP],
        vec![START, open, r#"{"type":"content_block_delta","index":0}"#, END, STOP],
        vec![
            START,
            open,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":7}}"#,
            END,
            STOP,
        ],
        vec![START, r#"{"type":"content_block_start","index":0,"content_block":[]}"#, END, STOP],
        vec![
            START,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use"}}"#,
            END,
            STOP,
        ],
        vec![r#"{"type":"message_start"}"#, END, STOP],
        vec![START, "{}", END, STOP],
        vec![START, "x", END, STOP],
    ] {
        let found = play(&events);
        assert!(
            matches!(found, Err(ProviderTrouble::Detected(ErrorClass::Broken, _))),
            "{events:?}: {found:?}"
        );
    }
}
