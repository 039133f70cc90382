#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::panic)]
use bethink_extractor::embedded::*;
use bethink_facts::Facts;
use bethink_transcript::message::Source as MessageSource;
use bethink_transcript::{Message, MessageId, MessageMeta, Seq, UnixMicros};
use serde_json::{Value, json};
fn main() {
    let all = std::env::var("ALL").is_ok();
    let (mut turns, mut sents, mut n) = (0, 0, 0);
    for f in std::env::args().skip(1) {
        let mut facts = Facts::default();
        let mut seq = 0;
        for l in std::fs::read_to_string(&f).unwrap().lines() {
            let Ok(r) = serde_json::from_str::<Value>(l) else { continue };
            if !(r["type"] == "user" || r["type"] == "assistant") || r["isSidechain"] == true || r["isCompactSummary"] == true || r["isMeta"] == true { continue }
            seq += 1;
            let raw = json!({"role": r["message"]["role"], "content": r["message"]["content"]}).to_string();
            let meta = MessageMeta { seq: Seq(seq), id: MessageId::new(&format!("m{seq}")).unwrap(), created_at: UnixMicros(0) };
            if let Ok(m) = Message::parse(meta, raw.into_bytes().into(), MessageSource::Client) { facts.observe(&m); }
        }
        turns += facts.user.len();
        for s in &facts.user {
            let ss = prose::sentences(&s.text);
            sents += ss.len();
            if all { for x in ss { println!("{}: {}", s.seq.0, x.text.replace('\n', " / ")) } }
        }
        let out = extract(&Lookup { said: &facts.user, known: &[], refused: &[], session: "s", time: "2026-01-01T00:00:00Z" });
        for w in &out.writes { n += 1; println!("{} {} [{}] {}: {}", f.rsplit('/').next().unwrap(), w.seq.0, w.rule, w.name, w.sentence); }
        for d in &out.dropped { println!("   dropped {d:?}"); }
        for d in &out.forget { println!("   forget {d:?}"); }
    }
    println!("{turns} statements, {sents} sentences, {n} memories");
}
