//! Tests that any bytes become an answer or an error.

use bethink_model::Stop;
use proptest::prelude::*;
use secrecy::SecretString;

use super::*;
use crate::anthropic::AnthropicDialect;
use crate::dialect::AnswerFormat;
use crate::openai::OpenAiDialect;

const RECORDED: [&str; 2] = [
    include_str!("../../tests/wire/canned/anthropic.sse"),
    include_str!("../../tests/wire/canned/openai.sse"),
];

fn read<D: Dialect>(_: &D, bytes: &[u8]) -> Result<Reply, ProviderTrouble> {
    let (mut decoder, mut events) = (Decoder::new(1 << 20), Vec::new());
    decoder.push(bytes, &mut events).map_err(|_| ProviderTrouble::broken("large"))?;
    let mut stream = D::Stream::default();
    for event in &events {
        if stream.take(event)? == DeltaTaken::Last {
            break;
        }
    }
    stream.end()
}

/// Checks that a reply has valid blocks and bounded figures.
fn judge(reply: Result<Reply, ProviderTrouble>) -> Result<(), TestCaseError> {
    if let Ok(reply) = reply {
        for block in &reply.content {
            let json: Result<serde_json::Value, _> =
                serde_json::from_slice(block.mended.as_deref().unwrap_or(&block.json));
            prop_assert!(json.is_ok_and(|json| json.is_object()), "{}", block.as_str());
        }
        prop_assert!(reply.usage.total() <= 4 * MAX_FIGURE);
    }
    Ok(())
}

#[derive(Clone, Debug)]
enum Damage {
    Change(u8),
    Cut(usize),
    Twice(usize),
}

fn damages() -> impl Strategy<Value = Vec<(prop::sample::Index, Damage)>> {
    let damage = prop_oneof![
        any::<u8>().prop_map(Damage::Change),
        prop::sample::select(b"{}[]\",:\n0-\\".to_vec()).prop_map(Damage::Change),
        (1usize..40).prop_map(Damage::Cut),
        (1usize..300).prop_map(Damage::Twice),
    ];
    prop::collection::vec((any::<prop::sample::Index>(), damage), 0..4)
}

fn damaged(text: &str, damages: &[(prop::sample::Index, Damage)]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for (at, damage) in damages {
        let at = at.index(bytes.len());
        match damage {
            Damage::Change(byte) => bytes[at] = *byte,
            Damage::Cut(length) => drop(bytes.drain(at..(at + length).min(bytes.len()))),
            Damage::Twice(length) => {
                let piece = bytes[at..(at + length).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}

#[test]
fn only_a_key_that_is_no_dummy_is_removed_from_an_answer() {
    let check = |key: &str, expect: &str| {
        let reply = Reply {
            id: String::new(),
            model: String::new(),
            content: answer::blocks(r#"[{"type":"text","text":"none 0123456789abcdef"}]"#).unwrap(),
            stop: Stop::EndTurn,
            usage: TokenUsage::default(),
            usage_doubtful: false,
        };
        let key = ApiKey::new(&SecretString::from(key)).ok().unwrap();
        assert_eq!(without_key(reply, Some(&key)).unwrap().text(), expect);
    };
    check("0123456789abcdef", "none [key]");
    for dummy in ["text", "none", "x", "0123456789abcde"] {
        check(dummy, "none 0123456789abcdef");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn damaged_streams_do_no_harm(which in 0usize..2, damages in damages()) {
        let bytes = damaged(RECORDED[which], &damages);
        judge(read(&AnthropicDialect, &bytes))?;
        judge(read(&OpenAiDialect::new(false), &bytes))?;
    }

    #[test]
    fn any_json_does_no_harm(which in 0usize..2, damages in damages()) {
        let first = RECORDED[which].lines().filter_map(|line| line.strip_prefix("data: ")).next();
        let bytes = damaged(first.unwrap(), &damages);
        let text = String::from_utf8_lossy(&bytes);
        judge(AnthropicDialect.read_whole(&text))?;
        judge(OpenAiDialect::new(false).read_whole(&text))?;
    }
}
