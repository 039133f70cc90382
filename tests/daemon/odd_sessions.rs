//! Unusual sessions and notes: every request is answered, nothing is lost, and what is kept is readable.

use bethink_harness::http::Request;
use bethink_harness::{Answer, Daemon, kill_loop, prompt, say};
use serde_json::{Value, json};

/// Maximum size in bytes of a line that the daemon writes in a summary or notes: 20,000 tokens of the user's words.
const LONGEST_LINE: usize = 60_000;

/// The results of all requests for a session.
struct Lived {
    daemon: Daemon,
    session: String,
    notes: String,
    summaries: Vec<String>,
}

/// Appends the messages, and requests everything that a session has.
#[track_caller]
fn live(messages: &[Value]) -> Lived {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    messages.chunks(500).for_each(|batch| {
        daemon.append(&session, batch);
    });
    fits(&daemon, &session);
    update(&daemon, &session).ok();
    let read = daemon.client().get(&path(&session, "notes"));
    let (notes, etag) = (read.text(), read.header("etag").unwrap().to_owned());
    let back = Request::new("PUT", &path(&session, "notes"))
        .bytes("text/markdown", notes.as_bytes())
        .header("If-Match", &etag);
    assert_eq!(daemon.client().must(&back).status, 204);
    let summaries = compact_every_way(&daemon, &session);
    for q in ["handler", "错误", "a", "the", "\u{1f980}"] {
        search(&daemon, &session, q).ok();
    }
    let stored = kill_loop::stored(&mut daemon.client(), &session);
    assert_eq!(stored.len(), messages.len(), "nothing is lost");
    daemon.is_well();
    for text in summaries.iter().chain([&notes]) {
        let longest = text.lines().map(str::len).max().unwrap_or(0);
        assert!(longest <= LONGEST_LINE, "a line of {longest} bytes");
        assert!(!text.contains('\u{fffd}'), "a character was cut in two");
    }
    Lived { daemon, session, notes, summaries }
}

fn path(session: &str, what: &str) -> String {
    format!("/v1/sessions/{session}/{what}")
}

fn update(daemon: &Daemon, session: &str) -> Answer {
    daemon.client().post(&path(session, "notes/update"), &json!({}))
}

fn put(daemon: &Daemon, session: &str, text: &[u8]) -> Answer {
    let path = path(session, "notes");
    daemon.client().must(&Request::new("PUT", &path).bytes("text/markdown", text))
}

fn compact(daemon: &Daemon, session: &str, body: &Value) -> Answer {
    daemon.client().post(&path(session, "compact"), body)
}

fn search(daemon: &Daemon, session: &str, q: &str) -> Answer {
    let encoded: String = q.bytes().map(|byte| format!("%{byte:02X}")).collect();
    daemon.client().get(&path(session, &format!("search?q={encoded}")))
}

/// Checks that the prompt is valid and leaves room.
#[track_caller]
fn fits(daemon: &Daemon, session: &str) -> Value {
    let made = daemon.client().post(&path(session, "context"), &json!({})).ok();
    assert_eq!(prompt::faults_of(&made), [""; 0]);
    let told = daemon.client().get(&path(session, "context/report")).ok();
    for report in [&made["report"], &told] {
        let (tokens, window) = (&report["tokens"], &report["thresholds"]["effective"]);
        assert!(tokens.as_u64() <= window.as_u64(), "{tokens} of {window}");
    }
    made
}

/// Summaries of the levels that found something to compact; the others must each give a different reason.
#[track_caller]
fn compact_every_way(daemon: &Daemon, session: &str) -> Vec<String> {
    let mut summaries = Vec::new();
    for body in [json!({"level": "embedded"}), json!({"level": "session_memory"}), json!({})] {
        let before = fits(daemon, session);
        let answer = compact(daemon, session, &body);
        if answer.status == 200 {
            let made = answer.json();
            assert!(made["tokens_after"].as_u64() < made["tokens_before"].as_u64(), "{made}");
            summaries.push(made["summary"].as_str().unwrap().to_owned());
            fits(daemon, session);
            continue;
        }
        let problem = answer.problem();
        assert_eq!(problem["type"], "not_compactable", "{problem}");
        assert!(problem["hint"].is_string(), "{problem}");
        let detail = problem["detail"].as_str().unwrap();
        let mut reasons: Vec<&str> = detail.split("; ").collect();
        reasons.sort_unstable();
        assert!(reasons.windows(2).all(|two| two[0] != two[1]), "said twice: {detail}");
        assert_eq!(fits(daemon, session)["messages"], before["messages"], "and changes nothing");
    }
    summaries
}

fn turns(range: std::ops::Range<usize>) -> Vec<Value> {
    range.flat_map(|n| say::work(n, 3000)).collect()
}

#[test]
fn one_message() {
    let lived = live(&[say::user("Only this one message about the harbour lights")]);
    assert!(lived.notes.contains("Only this one message about the harbour lights"));
    assert_eq!(lived.summaries, [""; 0], "nothing before it can be compacted");
}

#[test]
fn only_tool_calls() {
    let calls = (0..300).flat_map(|n| {
        let id = format!("toolu_{n}");
        let input = json!({"command": format!("make step{n}")});
        [say::call(&id, "Bash", &input), say::result(&id, &"all is well\n".repeat(80))]
    });
    let lived = live(&calls.collect::<Vec<_>>());
    assert!(lived.notes.contains("make step299"), "{}", lived.notes);
    assert!(lived.summaries[0].contains("make step"), "{}", lived.summaries[0]);
}

#[test]
fn thousands_of_messages() {
    let messages: Vec<_> = (0..750).flat_map(|n| say::work(n, 300)).collect();
    let lived = live(&messages);
    assert!(lived.notes.contains("handler_749"), "the newest is noted");
    let summary = lived.summaries.last().unwrap();
    assert!(summary.contains("handler_0.rs and mend case 0"), "what was asked first\n{summary}");
}

#[test]
fn chinese() {
    let wish = "请修复登录页面的错误，然后添加测试";
    let said = "已经修复了登录页面的超时，因为网关比较慢。接下来检查支付回调。";
    let work = |n: usize| {
        let (run, edit) = (format!("toolu_a{n}"), format!("toolu_b{n}"));
        let file = json!({"file_path": format!("/项目/源码/登录_{n}.py"), "old_string": "超时 = 5",
            "new_string": "超时 = 30"});
        [
            say::user(&format!("{wish}，第{n}次")),
            say::call(&run, "Bash", &json!({"command": format!("pytest 测试/登录_{n}.py")})),
            say::result(
                &run,
                &"失败：断言错误，期望 200 得到 500，日志里写着连接被拒绝\n".repeat(40),
            ),
            say::call(&edit, "Edit", &file),
            say::result(&edit, "文件已更新"),
            say::assistant(&format!("{said}第{n}个问题。")),
        ]
    };
    let lived = live(&(0..120).flat_map(work).collect::<Vec<_>>());
    for text in [&lived.notes, &lived.summaries[0], &lived.summaries[1]] {
        assert!(text.contains(&format!("{wish}，第0次")), "{text}");
        assert!(text.contains("登录_119.py") && text.contains(said), "{text}");
    }
    let hits = search(&lived.daemon, &lived.session, "支付回调").ok();
    assert!(hits["hits"][0]["snippet"].as_str().unwrap().contains("支付回调"), "{hits}");
}

/// The bundle counts as a read file; its content is not searched for facts.
#[test]
fn minified_code_in_one_result() {
    let bundle: String = (0..20_000).map(|n| format!("qz{n}.wx{n}(vk_{n}?{n}:'x');")).collect();
    let ask = say::user("Tell me why dist/app.min.js is slow");
    let read = say::call("toolu_b", "Read", &json!({"file_path": "/srv/app/dist/app.min.js"}));
    let mut messages = vec![ask, read, say::result("toolu_b", &bundle)];
    messages.push(say::assistant("It repeats the router in every chunk."));
    messages.extend(turns(0..80));
    let lived = live(&messages);
    for text in lived.summaries.iter().chain([&lived.notes]) {
        assert!(text.contains("app.min.js"), "{text}");
        assert!(!text.contains("vk_") && !text.contains(".wx"), "{text}");
    }
}

#[test]
fn the_same_file_four_hundred_times() {
    let mut messages = vec![say::user("Watch /srv/app/config.yaml until it changes")];
    messages.extend((0..400).flat_map(|n| {
        let id = format!("toolu_{n}");
        let read = json!({"type": "tool_use", "id": id, "name": "Read",
            "input": {"file_path": "/srv/app/config.yaml"}});
        [json!({"role": "assistant", "content": [read]}), say::result(&id, "port: 8080\n")]
    }));
    messages.push(say::assistant("It did not change."));
    let lived = live(&messages);
    let rows = lived.notes.lines().filter(|line| line.contains("config.yaml`: read 400 times"));
    assert_eq!(rows.count(), 1, "{}", lived.notes);
    let log = lived.notes.split("# Worklog").last().unwrap();
    assert!(log.contains("read config.yaml ") && !log.contains(" files"), "it is one file: {log}");
}

#[test]
fn a_user_message_of_300_000_characters() {
    let words = ["harbour ", "lights ", "must ", "blink ", "every night.\n"];
    let report = format!("Read this whole report. {}", words.concat().repeat(7_500));
    let report: String = report.chars().take(300_000).collect();
    let mut messages = turns(0..70);
    messages.extend([say::user(&report), say::assistant("The lights blink every night.")]);
    messages.extend(turns(70..90));
    let lived = live(&messages);
    for text in lived.summaries.iter().chain([&lived.notes]) {
        assert!(text.contains("Read this whole report."), "{text}");
        assert!(text.len() < 60_000, "{} bytes", text.len());
    }
    // With nothing before it, and without a space in it.
    live(&[say::user(&report)]);
    live(&[say::user(&"x".repeat(300_000)), say::assistant(&"y".repeat(100_000))]);
}

#[test]
fn notes_that_were_garbled_by_hand() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    daemon.append(&session, &turns(0..40));
    update(&daemon, &session).ok();
    let good = daemon.client().get(&path(&session, "notes")).text();
    let half: String = good.chars().take(good.chars().count() / 2).collect();
    let headings: String = (0..5_000).map(|n| format!("# Own {n}\n")).collect();
    for (round, (what, text)) in [
        ("nothing", String::new()),
        ("blank lines", "\r\n \r\n".to_owned()),
        ("half a template", half),
        ("CRLF", good.replace('\n', "\r\n")),
        ("CR alone", good.replace('\n', "\r")),
        ("doubled headings", format!("{good}{good}")),
        ("an open fence", good.replacen("# Worklog", "```\n# Worklog", 1)),
        ("control characters", "\0\x01#\x1b[31m\n".repeat(500)),
        ("a line of 900 KB", format!("# Worklog\n{}\n", "w".repeat(900_000))),
        ("a megabyte", "a line by hand\n".repeat(70_000)),
        ("thousands of headings", headings),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(put(&daemon, &session, text.as_bytes()).status, 204, "{what}");
        let turn = 40 + round;
        daemon.append(&session, &turns(turn..turn + 1));
        update(&daemon, &session).ok();
        let after = daemon.client().get(&path(&session, "notes")).text();
        let headings = after.lines().filter(|line| line.trim() == "# Current State").count();
        assert_eq!(headings, 1, "{what}: {headings} times the current state");
        assert!(after.contains(&format!("handler_{turn}")), "{what}: the newest is noted");
        fits(&daemon, &session);
    }
    // Even with the longest notes, a prompt gets the current state.
    let made = compact(&daemon, &session, &json!({"level": "session_memory"})).ok();
    let summary = made["summary"].as_str().unwrap();
    assert!(summary.contains("# Current State\n") && summary.contains("handler_50"), "{summary}");
    assert!(summary.len() < 100_000, "{} bytes", summary.len());
    daemon.is_well();
}

/// The daemon never writes a file that it would refuse to read.
#[test]
fn notes_too_long_are_left_alone_and_told() {
    const LIMIT: usize = 4 << 20;
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    daemon.append(&session, &turns(0..3));
    let full = "y".repeat(LIMIT);
    assert_eq!(put(&daemon, &session, full.as_bytes()).status, 204);
    let refused = update(&daemon, &session).problem();
    assert_eq!((&refused["status"], &refused["limit"]), (&json!(409), &json!(LIMIT)), "{refused}");
    assert!(refused["actual"].as_u64() > Some(LIMIT as u64) && refused["hint"].is_string());
    assert_eq!(daemon.client().get(&path(&session, "notes")).text().len(), LIMIT);
    let refused = put(&daemon, &session, format!("{full}{full}").as_bytes()).problem();
    assert!(refused["hint"].as_str().unwrap().contains("notes"), "{refused}");
    // If a person edits it, it can grow larger.
    let file = daemon.home.path().join("session-memory").join(format!("{session}.md"));
    std::fs::write(file, format!("{full}{full}")).unwrap();
    let refused = daemon.client().get(&path(&session, "notes")).problem();
    assert_eq!(refused["actual"], json!(2 * LIMIT), "{refused}");
    fits(&daemon, &session);
    assert_eq!(put(&daemon, &session, b"\xff\xfe").problem()["type"], "invalid_utf8");
    daemon.is_well();
}

#[test]
fn odd_searches() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    daemon.append(&session, &turns(0..20));
    let quoted = "the \u{1f980} crab and \"quoted\" words";
    daemon.append(&session, &[say::user(quoted), say::assistant("AND OR NOT near: a*b")]);
    for q in ["\"quoted\" words", "\u{1f980} crab", "\"quoted", "quoted) OR (", "-quoted*^:"] {
        let hits = search(&daemon, &session, q).ok();
        assert_eq!(hits["hits"][0]["snippet"], quoted, "{q}: {hits}");
    }
    for q in
        ["\"", "\"\"\"", "AND OR NOT NEAR( * ^ :", "%", "((((", "\0", "\u{202e}", "a", "the and"]
    {
        search(&daemon, &session, q).ok();
    }
    for q in ["", "   ", &"x".repeat(10_001)] {
        let refused = search(&daemon, &session, q).problem();
        assert_eq!(refused["field"], "q", "{refused}");
        let hinted = q.is_empty() || refused["hint"].is_string();
        assert!(hinted, "{refused}");
    }
    search(&daemon, &session, &"handler ".repeat(1_250)).ok();
    // Larger than a connection's buffer: refused at once, and the next request is served.
    assert_eq!(search(&daemon, &session, &"x".repeat(100_000)).status, 431);
    daemon.is_well();
}
