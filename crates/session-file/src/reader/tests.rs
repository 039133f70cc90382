use super::*;
use crate::line::SidechainKey;

/// One word a line: what it was read as.
fn read(file: &str) -> Vec<String> {
    read_bytes(file.as_bytes())
}

fn read_bytes(file: &[u8]) -> Vec<String> {
    let (lines, _) = lines(Bytes::copy_from_slice(file));
    assert_eq!(joined(&lines), file);
    lines.iter().map(word).collect()
}

fn word(line: &SessionLine) -> String {
    match &line.kind {
        LineKind::Message(line) => {
            let thread = match &line.thread {
                Thread::Main => String::new(),
                Thread::Sidechain(key) => format!("@{key}"),
            };
            format!("{}{thread}", line.message.id)
        }
        LineKind::Boundary { trigger, pre_tokens, .. } => {
            format!("boundary {trigger} {pre_tokens}")
        }
        LineKind::Title(title) => format!("title {title}"),
        LineKind::Tags(tags) => format!("tags {}", tags.join(",")),
        LineKind::Queued { text, at } => format!("queued {text} {}", at.0),
        LineKind::Other => "other".into(),
        LineKind::Damaged(damage) => format!("damaged: {damage}"),
    }
}

fn joined(lines: &[SessionLine]) -> Vec<u8> {
    lines.iter().flat_map(|line| [&line.head[..], line.raw(), &line.tail[..]].concat()).collect()
}

fn check(line: &str, expect: &str) {
    for end in ["", "\n", "\r\n"] {
        let read = read(&format!("{line}{end}"));
        let word = read.first().map_or("", String::as_str);
        assert!(read.len() <= 1 && word.starts_with(expect), "{line:.120}: {read:?}");
    }
}

fn user(uuid: &str, parent: &str, more: &str) -> String {
    format!(
        r#"{{"parentUuid":{parent},"type":"user"{more},"message":{{"role":"user","content":"hi"}},"uuid":"{uuid}"}}"#
    )
}

#[test]
fn each_kind_of_line_is_known() {
    check(
        r#"{"type":"queue-operation","operation":"enqueue","timestamp":"1970-01-01T00:00:01Z","content":"hi"}"#,
        "queued hi 1000000",
    );
    check(r#"{"type":"queue-operation","operation":"remove","content":"hi"}"#, "other");
    check(r#"{"type":"queue-operation","operation":"enqueue"}"#, "other");
    check(&user("u1", "null", ""), "u1");
    check(r#"  {"type":"user","message": {"role":"user","content":"x"} , "uuid":"u"} "#, "u");
    check(
        r#"{"message":{"content":[{"type":"text","text":"x"}],"role":"assistant"},"type":"assistant"}"#,
        "line-1",
    );
    check(
        r#"{"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"manual","preTokens":9}}"#,
        "boundary manual 9",
    );
    check(
        r#"{"type":"system","subtype":"compact_boundary","compactMetadata":7}"#,
        "boundary auto 0",
    );
    check(r#"{"type":"system","subtype":"microcompact_boundary"}"#, "other");
    check(r#"{"type":"summary","summary":"a \"b\"","leafUuid":"x"}"#, r#"title a "b""#);
    check(r#"{"type":"custom-title","customTitle":"t"}"#, "title t");
    check(r#"{"type":"ai-title","aiTitle":"t"}"#, "title t");
    check(r#"{"type":"custom-title","customTitle":7}"#, "other");
    check(r#"{"type":"tag","tag":"a"}"#, "tags a");
    check(r#"{"type":"tag","tag":"a","tags":["a","b"]}"#, "tags a,b");
    check(r#"{"type":"tag","tag":""}"#, "tags ");
    check(r#"{"type":"progress","message":{"role":"user","content":"x"}}"#, "other");
    check(r#"{"type":null}"#, "other");
    check("{}", "other");
    check("   ", "other");
}

#[test]
fn what_cannot_be_read_is_kept_with_its_reason() {
    let message = |inner: &str| format!(r#"{{"type":"user","message":{inner}}}"#);
    for content in [r#""""#, "null", "[]", "[ ]"] {
        check(
            &message(&format!(r#"{{"role":"user","content":{content}}}"#)),
            "damaged: the message is empty",
        );
    }
    check(&message(r#"{"role":"user"}"#), "damaged: the message is empty");
    check(&message("null"), "damaged: the record has no message");
    check(r#"{"type":"assistant"}"#, "damaged: the record has no message");
    check(&message("7"), "damaged: not a message");
    check(&message(r#"{"role":"robot","content":"x"}"#), "damaged: not a message: role");
    check(
        &message(r#"{"role":"user","content":[{"type":"tool_result"}]}"#),
        "damaged: not a message: content[0].tool_use_id",
    );
    check(r#"{"type":"user","message":{"role":"us"#, "damaged: not JSON");
    check(r#"{"type":"user"} {"type":"user"}"#, "damaged: not JSON");
    check("[1,2]", "damaged: not a JSON object");
    check("null", "damaged: not a JSON object");
    check("garbage", "damaged: not JSON");
    check(&"[".repeat(10_000), "damaged: nested 10000 levels deep");
    check(
        &message(&format!(r#"{{"role":"user","content":{}{}}}"#, "[".repeat(127), "]".repeat(127))),
        "damaged: nested 129 levels deep",
    );
    assert_eq!(read_bytes(b"{\"a\":\"\xff\"}\n{}"), ["damaged: invalid UTF-8 at byte 6", "other"]);
}

#[test]
fn brackets_in_strings_are_not_depth() {
    let line = format!(
        r#"{{"type":"user","uuid":"u","message":{{"role":"user","content":"{}"}}}}"#,
        "[".repeat(1000)
    );
    check(&line, "u");
}

#[test]
fn a_line_beyond_the_limit_is_kept_whole() {
    let mut file = vec![b' '; MAX_LINE_BYTES + 1];
    file.extend(b"\n{}\n");
    let (lines, facts) = lines(Bytes::from(file));
    let LineKind::Damaged(damage) = &lines[0].kind else { panic!("{:?}", lines[0].number) };
    assert_eq!(damage, &LineDamage::TooLong(MAX_LINE_BYTES + 2));
    assert_eq!((lines[0].head.len(), lines.len()), (MAX_LINE_BYTES + 2, 2));
    assert_eq!(facts.bytes, MAX_LINE_BYTES as u64 + 5);
}

#[test]
fn a_mark_before_the_first_line_is_kept() {
    let file = format!("\u{FEFF}{}\n\u{FEFF}{{}}\n", user("u1", "null", ""));
    let read = read(&file);
    assert_eq!(read[0], "u1");
    assert!(read[1].starts_with("damaged: not JSON"), "{read:?}");
}

#[test]
fn empty_lines_and_mixed_ends_are_kept() {
    let file = format!("\n\r\n{}\r\n\n{}", user("a", "null", ""), user("b", r#""a""#, ""));
    assert_eq!(read(&file), ["other", "other", "a", "other", "b"]);
    assert!(read("").is_empty());
}

#[test]
fn chunks_of_any_size_give_the_same_lines() {
    let file = format!("{}\n\n{}\r\n{}", user("a", "null", ""), user("b", r#""a""#, ""), "{\"cut");
    let whole = read(&file);
    for size in [1, 2, 3, 7, 50, 1000] {
        let mut reader = SessionFileReader::default();
        let mut got = Vec::new();
        for chunk in file.as_bytes().chunks(size) {
            reader.feed(Bytes::copy_from_slice(chunk), |line| got.push(line));
        }
        reader.finish(|line| got.push(line));
        assert_eq!(got.iter().map(word).collect::<Vec<_>>(), whole, "chunks of {size}");
        assert_eq!(got.iter().map(|line| line.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(joined(&got), file.as_bytes());
    }
}

#[test]
fn lines_are_slices_of_the_chunk() {
    let file = Bytes::from(user("a", "null", "") + "\n");
    let range = file.as_ptr_range();
    let (lines, _) = lines(file);
    let LineKind::Message(line) = &lines[0].kind else { panic!("{lines:?}") };
    for part in [&lines[0].head, line.message.raw(), &lines[0].tail] {
        assert!(range.contains(&part.as_ptr()));
    }
}

#[test]
fn sidechains_follow_their_parents() {
    let side = r#","isSidechain":true"#;
    let file = [
        user("m1", "null", ""),
        user("s1", "null", side),
        user("m2", r#""m1""#, ""),
        user("t1", r#""m2""#, side),
        user("s2", r#""s1""#, side),
        r#"{"type":"progress","isSidechain":true,"uuid":"p","parentUuid":"t1"}"#.into(),
        user("t2", r#""p""#, side),
        user("x1", r#""unknown""#, side),
        user("g1", r#""m2""#, r#","isSidechain":true,"agentId":"ag""#),
        user("g2", "null", r#","isSidechain":true,"agentId":"ag""#),
    ]
    .join("\n");
    assert_eq!(
        read(&file),
        ["m1", "s1@s1", "m2", "t1@t1", "s2@s1", "other", "t2@t1", "x1@x1", "g1@ag", "g2@ag"]
    );
}

#[test]
fn a_repeated_uuid_is_a_record_only() {
    let file = [user("a", "null", ""), user("a", "null", ""), user("b", "null", "")].join("\n");
    assert_eq!(read(&file), ["a", "damaged: an earlier message already has the uuid a", "b"]);
    // A uuid may be used again if its first record is not a message or could not be read.
    let other = r#"{"type":"progress","uuid":"a"}"#;
    let broken = r#"{"type":"user","uuid":"a","message":{"role":"user","content":""}}"#;
    let file = [other, broken, &user("a", "null", "")].join("\n");
    assert_eq!(read(&file)[2], "a");
}

#[test]
fn a_recorded_compaction_is_a_boundary_with_its_summary() {
    let boundary = |n| {
        format!(
            r#"{{"type":"system","subtype":"compact_boundary","timestamp":"2026-01-12T20:38:31.678Z","compactMetadata":{{"trigger":"auto","preTokens":{n}}}}}"#
        )
    };
    let summary = |uuid| user(uuid, "null", r#","isCompactSummary":true"#);
    let file = [
        user("a", "null", ""),
        boundary(10),
        r#"{"type":"progress"}"#.into(),
        summary("s1"),
        user("b", "null", ""),
        summary("no boundary"),
        boundary(20),
        user("c", "null", ""),
        summary("too late"),
        boundary(30),
        summary("s2"),
    ]
    .join("\n");
    let (_, facts) = lines(Bytes::from(file));
    let found: Vec<_> = facts
        .compactions
        .iter()
        .map(|c| (c.pre_tokens, c.summary_id.as_str(), c.boundary_line))
        .collect();
    assert_eq!(found, [(10, "s1", 2), (30, "s2", 10)]);
    assert_eq!(facts.compactions[0].summary, "hi");
    assert_eq!(facts.compactions[0].created_at, UnixMicros(1_768_250_311_678_000));
}

fn title_of(lines: &[&str]) -> Option<String> {
    super::lines(Bytes::from(lines.join("\n"))).1.title
}

#[test]
fn the_title_is_what_claude_code_would_show() {
    let prompt = user("u1", "null", "");
    let own = r#"{"type":"summary","summary":"own","leafUuid":"u1"}"#;
    let foreign = r#"{"type":"summary","summary":"foreign","leafUuid":"elsewhere"}"#;
    let ai = r#"{"type":"ai-title","aiTitle":"ai"}"#;
    let [first, last] =
        ["first", "last"].map(|t| format!(r#"{{"type":"custom-title","customTitle":"{t}"}}"#));
    let none = r#"{"type":"custom-title","customTitle":""}"#;
    let check = |lines: &[&str], expect: Option<&str>| {
        assert_eq!(title_of(lines).as_deref(), expect, "{lines:?}");
    };
    check(&[], None);
    check(&[foreign], None);
    check(&[&prompt], Some("hi"));
    check(&[foreign, &prompt], Some("hi"));
    check(&[own, foreign, &prompt], Some("own"));
    check(&[own, &prompt, ai], Some("ai"));
    check(&[&first, ai, own, &prompt, &last], Some("last"));
    check(&[&first, none, ai], Some("ai"));
    check(&[&user("m", "null", r#","isMeta":true"#)], None);
}

#[test]
fn facts_of_the_whole_file() {
    let side = r#","isSidechain":true,"sessionId":"side","timestamp":"2026-01-01T00:00:09Z""#;
    let main = |at: u32, id: &str| {
        format!(
            r#","sessionId":"{id}","cwd":"/w{at}","gitBranch":"b{at}","version":"2.{at}","timestamp":"2026-01-01T00:00:0{at}.5Z""#
        )
    };
    let answer =
        r#"{"type":"assistant","message":{"role":"assistant","model":"MODEL","content":"x"}}"#;
    let file = [
        user("a", "null", &main(1, "old")),
        answer.replace("MODEL", "claude-1"),
        answer.replace("MODEL", "<synthetic>"),
        user("b", "null", &main(2, "new")),
        user("s", "null", side),
    ]
    .join("\n");
    let (lines, facts) = lines(Bytes::from(file));
    assert_eq!(facts.cwd.as_deref(), Some("/w1"));
    assert_eq!(facts.session_id.as_deref(), Some("new"));
    assert_eq!((facts.git_branch.as_deref(), facts.version.as_deref()), (Some("b2"), Some("2.2")));
    assert_eq!(facts.model.as_deref(), Some("claude-1"));
    assert_eq!(facts.first_at, Some(UnixMicros(1_767_225_601_500_000)));
    assert_eq!(facts.last_at, Some(UnixMicros(1_767_225_609_000_000)));
    assert_eq!(facts.messages, 4);
    // A record without a time takes that of the one before.
    let LineKind::Message(second) = &lines[1].kind else { panic!("{lines:?}") };
    assert_eq!(second.message.created_at, UnixMicros(1_767_225_601_500_000));
}

#[test]
fn a_sidechain_key_is_readable() {
    assert_eq!(SidechainKey("k".into()).as_str(), "k");
}
