use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};

use super::*;

const STREAM: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"model\":\"big\",",
    "\"usage\":{\"input_tokens\":7,\"output_tokens\":1}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":",
    "{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":",
    "{\"type\":\"text_delta\",\"text\":\"h\u{e9}\"}}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},",
    "\"usage\":{\"output_tokens\":4}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

fn headers(kind: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))])
}

fn overheard(format: WireFormat, headers: &HeaderMap, pieces: &[&str]) -> ReadAnswer {
    let mut tee = Tee::new(format, headers);
    for piece in pieces {
        tee.take(&Bytes::copy_from_slice(piece.as_bytes()));
    }
    tee.end()
}

fn anthropic(stream: &str) -> ReadAnswer {
    overheard(WireFormat::Messages, &headers("text/event-stream"), &[stream])
}

#[test]
fn a_stream_is_whole_only_with_its_end() {
    let whole = anthropic(STREAM);
    let reply = whole.reply.unwrap();
    assert_eq!((reply.text().as_str(), whole.lacks_end), ("h\u{e9}", false));
    let cut = anthropic(STREAM.split("event: message_stop").next().unwrap());
    assert!(cut.reply.is_none() && cut.lacks_end);
    assert_eq!((cut.partial.id.as_str(), cut.partial.usage.unwrap().output_tokens), ("m1", 4));
    assert!(anthropic("").lacks_end);
}

#[test]
fn what_can_t_be_understood_still_has_an_end() {
    let odd = STREAM.replace("\"index\":0,\"delta\"", "\"index\":9,\"delta\"");
    let heard = anthropic(&odd);
    assert!(heard.reply.is_none() && !heard.lacks_end);
    let heard = anthropic(odd.split("event: message_stop").next().unwrap());
    assert!(heard.reply.is_none() && heard.lacks_end);
}

#[test]
fn an_error_in_the_stream_is_an_end() {
    let start = STREAM.split("event: content_block_start").next().unwrap();
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}\n\n";
    let heard = anthropic(&format!("{start}{error}"));
    assert!(heard.reply.is_none() && !heard.lacks_end);
}

#[test]
fn whole_json_compressed_and_strange_bodies() {
    let json = r#"{"id":"m","model":"b","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}"#;
    let (a, b) = json.split_at(30);
    let heard = overheard(WireFormat::Messages, &headers("application/json"), &[a, b]);
    assert_eq!(heard.reply.unwrap().text(), "x");
    let mut zipped = headers("text/event-stream");
    zipped.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    for headers in [zipped, headers("text/html")] {
        let heard = overheard(WireFormat::Messages, &headers, &[STREAM]);
        assert!(heard.reply.is_none() && !heard.lacks_end);
    }
}

#[test]
fn chat_completions_end_by_a_reason_or_by_their_mark() {
    let piece = |delta: &str, finish: &str| {
        format!(
            "data: {{\"id\":\"c\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
        )
    };
    let said = piece(r#"{"content":"hi"}"#, "null");
    let end = piece("{}", "\"stop\"");
    let heard = |stream: &str| {
        overheard(WireFormat::ChatCompletions, &headers("text/event-stream"), &[stream])
    };
    assert_eq!(heard(&format!("{said}{end}data: [DONE]\n\n")).reply.unwrap().text(), "hi");
    assert_eq!(heard(&format!("{said}{end}")).reply.unwrap().text(), "hi");
    let cut = heard(&said);
    assert!(cut.reply.is_none() && cut.lacks_end);
    let marked = heard(&format!("{said}data: [DONE]\n\n"));
    assert!(marked.reply.is_none() && !marked.lacks_end);
}

#[test]
fn a_huge_answer_is_given_up() {
    let mut tee = Tee::new(WireFormat::Messages, &headers("text/event-stream"));
    let filler = Bytes::from(format!(": {}\n", "x".repeat(1 << 20)));
    for _ in 0..=MAX_ANSWER >> 20 {
        tee.take(&filler);
        assert!(tee.unread_bytes <= MAX_UNREAD + filler.len());
    }
    tee.take(&Bytes::from_static(STREAM.as_bytes()));
    let heard = tee.end();
    assert!(heard.reply.is_none() && !heard.lacks_end);
}
