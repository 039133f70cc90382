//! Whatever a file holds, its lines put together are the file.

use bethink_session_file::{LineKind, SessionFileReader, SessionLine, Thread, lines};
use bytes::Bytes;
use proptest::prelude::*;

fn joined(lines: &[SessionLine]) -> Vec<u8> {
    lines.iter().flat_map(|line| [&line.head[..], line.raw(), &line.tail[..]].concat()).collect()
}

fn in_chunks(file: &[u8], size: usize) -> Vec<SessionLine> {
    let mut reader = SessionFileReader::default();
    let mut out = Vec::new();
    for chunk in file.chunks(size) {
        reader.feed(Bytes::copy_from_slice(chunk), |line| out.push(line));
    }
    reader.finish(|line| out.push(line));
    out
}

/// Records that are almost right: members in any order, of any type, missing, or said twice.
fn record() -> impl Strategy<Value = Vec<u8>> {
    let member = prop::sample::select(vec![
        r#""type":"user""#,
        r#""type":"assistant""#,
        r#""type":"system""#,
        r#""type":"summary""#,
        r#""subtype":"compact_boundary""#,
        r#""isSidechain":true"#,
        r#""isCompactSummary":true"#,
        r#""uuid":"a""#,
        r#""uuid":"b""#,
        r#""uuid":7"#,
        r#""parentUuid":"a""#,
        r#""message":{"role":"user","content":"a \ud83d b"}"#,
        r#""message": {"content" : [ {"type":"text","text":"x"} ], "role":"assistant", "id":"m"} "#,
        r#""message":{"role":"user","content":[]}"#,
        r#""message":[null]"#,
        r#""timestamp":"2026-01-12T20:38:31.678Z""#,
        r#""summary":"S""#,
        r#""odd":{"message":{"role":"user","content":"no"}}"#,
    ]);
    prop::collection::vec(member, 0..7)
        .prop_map(|members| format!("{{{}}}", members.join(",")).into_bytes())
}

fn line() -> impl Strategy<Value = Vec<u8>> {
    let body = prop_oneof![
        4 => record(),
        1 => prop::collection::vec(any::<u8>(), 0..60),
        1 => "[\\[\\]{}\",:a\u{FEFF} ]{0,40}".prop_map(String::into_bytes),
    ];
    let end = prop::sample::select(vec!["\n", "\r\n", "\n\n", "\r", ""]);
    (body, end).prop_map(|(mut body, end)| {
        body.extend(end.as_bytes());
        body
    })
}

proptest! {
    #[test]
    fn lines_put_together_are_the_file(
        parts in prop::collection::vec(line(), 0..12),
        cut in any::<prop::sample::Index>(),
        size in 1usize..64,
    ) {
        let mut file = parts.concat();
        file.truncate(cut.index(file.len() + 1));
        let (whole, facts) = lines(Bytes::from(file.clone()));
        prop_assert_eq!(joined(&whole), &file[..]);
        prop_assert_eq!(facts.bytes, file.len() as u64);
        let on_main = |line: &&SessionLine| matches!(&line.kind, LineKind::Message(m) if m.thread == Thread::Main);
        prop_assert_eq!(facts.messages, whole.iter().filter(on_main).count() as u64);

        let pieces = in_chunks(&file, size);
        prop_assert_eq!(format!("{pieces:?}"), format!("{whole:?}"));
    }
}
