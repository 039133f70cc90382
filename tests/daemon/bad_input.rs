//! Bad input is refused with the name of what is wrong, and the daemon continues to work.

use bethink_harness::{Answer, Daemon, Home, Request, http, kill_loop, prompt, say};
use serde_json::{Value, json};

use crate::routes;

/// A daemon with one session, which must stay unchanged.
struct Bench {
    daemon: Daemon,
    session: String,
}

impl Bench {
    fn new() -> Self {
        let daemon = Daemon::fresh();
        let session = daemon.session(200_000);
        daemon.append(&session, &say::work(1, 200));
        Self { daemon, session }
    }

    fn append_raw(&self, body: &[u8]) -> Answer {
        let path = format!("/v1/sessions/{}/messages", self.session);
        self.daemon.client().must(&Request::new("POST", &path).bytes("application/json", body))
    }

    /// Checks that nothing was stored and nothing broke.
    #[track_caller]
    fn unharmed(&self) {
        assert_eq!(kill_loop::stored(&mut self.daemon.client(), &self.session).len(), 4);
        self.daemon.is_well();
    }
}

/// Bodies that no route accepts.
fn hostile() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("null", b"null".to_vec()),
        ("an array", b"[]".to_vec()),
        ("a number", b"7".to_vec()),
        ("a string", b"\"x\"".to_vec()),
        ("half an object", b"{\"messages\":[".to_vec()),
        ("two values", b"{} {}".to_vec()),
        ("invalid UTF-8", b"{\"title\":\"\xff\xfe\"}".to_vec()),
        ("a lone surrogate's half", b"{\"title\":\"\\ud800".to_vec()),
        ("10,000 nested arrays", nested("[", "]")),
        ("10,000 nested objects", nested("{\"a\":", "}")),
        ("a NUL", b"\0".to_vec()),
        ("a BOM and nothing", b"\xef\xbb\xbf".to_vec()),
        ("not JSON", b"<messages/>".to_vec()),
        ("NaN", b"{\"at_seq\":NaN,\"messages\":NaN,\"todos\":NaN}".to_vec()),
    ]
}

fn nested(open: &str, close: &str) -> Vec<u8> {
    format!("{}1{}", open.repeat(10_000), close.repeat(10_000)).into_bytes()
}

#[test]
fn no_route_takes_a_hostile_body() {
    let bench = Bench::new();
    let mut client = bench.daemon.client();
    for route in routes::all().filter(|r| r.body.is_some()) {
        let path = routes::path(route, &bench.session);
        for (what, body) in hostile() {
            let request = Request::new(route.method, &path).bytes("application/json", &body);
            let answer = client.must(&request);
            let told =
                format!("{} {path}, {what}: {} {}", route.method, answer.status, answer.brief());
            assert!(matches!(answer.status, 400 | 413 | 415 | 422), "{told}");
            answer.problem();
        }
        if !route.optional {
            let empty = Request::new(route.method, &path).bytes("application/json", b"");
            client.must(&empty).problem();
            let nothing = Request::new(route.method, &path).bytes("application/json", b"{}");
            let problem = client.must(&nothing).problem();
            assert!(problem["field"].is_string(), "{} {path}: {problem}", route.method);
        }
    }
    bench.unharmed();
}

#[test]
fn a_deep_member_is_refused_wherever_it_hides() {
    let bench = Bench::new();
    let deep = String::from_utf8(nested("[", "]")).unwrap();
    for body in [
        format!(r#"{{"messages":[{{"role":"user","content":"x","extra":{deep}}}]}}"#),
        format!(
            r#"{{"messages":[{{"role":"user","content":[{{"type":"text","text":"x","y":{deep}}}]}}]}}"#
        ),
        format!(
            r#"{{"messages":[{{"role":"assistant","content":[{{"type":"tool_use","id":"t","name":"n","input":{deep}}}]}}]}}"#
        ),
        format!(r#"{{"messages":[{{"role":"user","content":"x"}}],"unknown":{deep}}}"#),
    ] {
        let problem = bench.append_raw(body.as_bytes()).problem();
        assert!(problem["limit"].is_u64(), "the limit is named: {problem}");
    }
    bench.unharmed();
}

#[test]
fn wrong_messages_are_refused_by_field() {
    let bench = Bench::new();
    for (message, field) in [
        (json!(null), "messages[0]"),
        (json!([]), "messages[0]"),
        (json!("hello"), "messages[0]"),
        (json!({"content": "x"}), "messages[0].role"),
        (json!({"role": "robot", "content": "x"}), "messages[0].role"),
        (json!({"role": 7, "content": "x"}), "messages[0].role"),
        (json!({"role": "user"}), "messages[0].content"),
        (json!({"role": "user", "content": null}), "messages[0].content"),
        (json!({"role": "user", "content": {"a": 1}}), "messages[0].content"),
        (json!({"role": "user", "content": [7]}), "messages[0].content[0]"),
        (json!({"role": "user", "content": [{}]}), "messages[0].content[0].type"),
        (
            json!({"role": "user", "content": [{"type": "tool_result"}]}),
            "messages[0].content[0].tool_use_id",
        ),
        (
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t"}]}),
            "messages[0].content[0].name",
        ),
        (
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": "", "name": "n"}]}),
            "messages[0].content[0].id",
        ),
        (json!({"role": "user", "content": "x", "id": ""}), "messages[0].id"),
        (json!({"role": "user", "content": "x", "id": 7}), "messages[0].id"),
        (json!({"role": "user", "content": "x", "id": "i".repeat(100_000)}), "messages[0].id"),
        (
            json!({"role": "user", "content": "x", "created_at": "yesterday"}),
            "messages[0].created_at",
        ),
        (
            json!({"role": "assistant", "content": "x", "usage": {"input_tokens": -1}}),
            "messages[0].usage.input_tokens",
        ),
        (
            json!({"role": "assistant", "content": "x", "usage": {"output_tokens": 1e99}}),
            "messages[0].usage.output_tokens",
        ),
        (json!({"role": "assistant", "content": "x", "usage": 7}), "messages[0].usage"),
        (json!({"role": "assistant", "content": "x", "model": 7}), "messages[0].model"),
        (
            json!({"role": "assistant", "content": "x", "assistant_message_id": []}),
            "messages[0].assistant_message_id",
        ),
    ] {
        let body = json!({"messages": [message]}).to_string();
        let problem = bench.append_raw(body.as_bytes()).problem();
        assert_eq!(problem["field"], field, "{body:.200}: {problem}");
    }
    for (body, field) in [
        (r#"{"messages":{}}"#, "messages"),
        (r#"{"messages":null}"#, "messages"),
        (r#"{"messages":[]}"#, "messages"),
        (r#"{}"#, "messages"),
    ] {
        let problem = bench.append_raw(body.as_bytes()).problem();
        assert_eq!(problem["field"], field, "{body}: {problem}");
    }
    bench.unharmed();
}

#[test]
fn too_many_and_too_much_are_refused_with_their_limit() {
    let bench = Bench::new();
    let many = vec![say::user("x"); 100_001];
    let problem = bench.append_raw(json!({"messages": many}).to_string().as_bytes()).problem();
    assert!(problem["limit"].is_u64() && problem["actual"].is_u64(), "{problem}");
    let blocks = vec![json!({"type": "text", "text": "x"}); 20_001];
    let body = json!({"messages": [{"role": "user", "content": blocks}]});
    bench.append_raw(body.to_string().as_bytes()).problem();
    bench.unharmed();
}

#[test]
fn a_body_over_the_limit_is_refused_with_it() {
    let daemon = Home::new().with("BETHINK_DAEMON__MAX_BODY_BYTES", "1000000").start();
    let session = daemon.session(200_000);
    let path = format!("/v1/sessions/{session}/messages");
    let huge = json!({"messages": [say::user(&"x".repeat(8 << 20))]});
    let answer = daemon.client().post(&path, &huge);
    assert_eq!(answer.status, 413, "{}", answer.brief());
    let problem = answer.problem();
    assert_eq!(problem["limit"], 1_000_000, "{problem}");
    assert!(problem["actual"].as_u64() > Some(8 << 20), "{problem}");
    daemon.is_well();
}

#[test]
fn a_question_of_any_length_is_answered_or_refused() {
    let bench = Bench::new();
    let mut client = bench.daemon.client();
    for length in [10_000, 10_001, 60_000, 100_000, 1_000_000] {
        let path = format!("/v1/sessions/{}/search?q={}", bench.session, "x".repeat(length));
        let status = client.get(&path).status;
        let expect = if length == 10_000 { 200..201 } else { 400..500 };
        assert!(expect.contains(&status), "{length}: {status}");
        client = bench.daemon.client();
    }
    bench.daemon.is_well();
}

#[test]
fn numbers_out_of_range_are_refused_by_field() {
    let bench = Bench::new();
    let mut client = bench.daemon.client();
    let s = format!("/v1/sessions/{}", bench.session);
    for number in ["-1", "99999999999999999999", "1e400", "1.5", "x", "%00"] {
        for (path, field) in [
            (format!("{s}/messages?limit={number}"), "limit"),
            (format!("{s}/messages?after_seq={number}"), "after_seq"),
            (format!("{s}/messages?before_seq={number}"), "before_seq"),
            (format!("{s}/text?seq={number}"), "seq"),
            (format!("{s}/search?q=x&limit={number}"), "limit"),
            (format!("/v1/sessions?limit={number}"), "limit"),
        ] {
            let problem = client.get(&path).problem();
            assert_eq!(problem["field"], field, "{path}: {problem}");
        }
    }
    for number in ["-1", "99999999999999999999", "1e400", "1.5", "\"7\"", "null", "true", "[]"] {
        for (path, body, field) in [
            (format!("{s}/fork"), format!(r#"{{"at_seq":{number}}}"#), "at_seq"),
            (format!("{s}/compact"), format!(r#"{{"summary_tokens":{number}}}"#), "summary_tokens"),
            (
                "/v1/sessions".to_owned(),
                format!(
                    r#"{{"project_dir":"/a","model":{{"name":"m","context_window":{number}}}}}"#
                ),
                "model.context_window",
            ),
            (
                "/v1/sessions".to_owned(),
                format!(
                    r#"{{"project_dir":"/a","model":{{"name":"m","context_window":200000,"max_output_tokens":{number}}}}}"#
                ),
                "model.max_output_tokens",
            ),
        ] {
            if number == "null" && field != "model.context_window" {
                continue;
            }
            let request = Request::new("POST", &path).bytes("application/json", body.as_bytes());
            let problem = client.must(&request).problem();
            assert_eq!(problem["field"], field, "{body}: {problem}");
        }
    }
    for path in ["/v1/sessions?cursor=garbage", "/v1/sessions?cursor=%00%ff"] {
        assert!(client.get(path).problem()["field"] == "cursor", "{path}");
    }
    assert_eq!(client.get(&format!("{s}/text?seq={}", u64::MAX)).problem()["status"], 404);
    let largest = client.get(&format!("{s}/messages?after_seq={}", u64::MAX)).ok();
    assert_eq!(largest["messages"], json!([]));
    bench.unharmed();
}

#[test]
fn sessions_are_refused_by_field() {
    let bench = Bench::new();
    let mut client = bench.daemon.client();
    for (body, field) in [
        (json!({}), "project_dir"),
        (json!({"project_dir": null}), "project_dir"),
        (json!({"project_dir": ""}), "project_dir"),
        (json!({"project_dir": "relative/path"}), "project_dir"),
        (json!({"project_dir": "/a\u{0}b"}), "project_dir"),
        (json!({"project_dir": 7}), "project_dir"),
        (json!({"project_dir": "/a", "title": 7}), "title"),
        (json!({"project_dir": "/a", "title": "t".repeat(2_000_000)}), "title"),
        (json!({"project_dir": "/a", "tags": "x"}), "tags"),
        (json!({"project_dir": "/a", "parent": "x"}), "parent"),
        (json!({"project_dir": "/a", "model": {"context_window": 200_000}}), "model.name"),
        (json!({"project_dir": "/a", "model": "sonnet"}), "model"),
    ] {
        let problem = client.post("/v1/sessions", &body).problem();
        assert_eq!(problem["field"], field, "{:.200}: {problem}", body.to_string());
    }
    let keyed = Request::new("POST", "/v1/sessions").json(&json!({"project_dir": "/a"}));
    client.must(&keyed.header("Idempotency-Key", &"k".repeat(5000))).problem();
    assert_eq!(client.get("/v1/sessions").ok()["sessions"].as_array().map(Vec::len), Some(1));
    bench.unharmed();
}

#[test]
fn a_body_cut_off_changes_nothing() {
    let bench = Bench::new();
    let (addr, token) = (bench.daemon.addr(), bench.daemon.token());
    let head = |length: &str| {
        format!(
            "POST /v1/sessions/{}/messages HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n{length}\r\n",
            bench.session
        )
    };
    let body = json!({"messages": [say::user("cut off")]}).to_string();
    for length in ["Content-Length: 5000\r\n", "Transfer-Encoding: chunked\r\n"] {
        let chunk = if length.starts_with('T') { "1000\r\n" } else { "" };
        let request = format!("{}{chunk}{body}", head(length));
        if let Some(answer) = http::raw(addr, request.as_bytes()).expect("no hang") {
            assert!((400..500).contains(&answer.status), "{length}: {}", answer.brief());
        }
    }
    bench.unharmed();
}

#[test]
fn requests_that_are_none_get_a_refusal_or_a_closed_door() {
    let bench = Bench::new();
    let addr = bench.daemon.addr();
    for bytes in [
        b"\r\n\r\n".to_vec(),
        b"GET\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00".to_vec(),
        b"GET / HTTP/9.9\r\n\r\n".to_vec(),
        b"GET /health HTTP/1.1\r\n\r\n".to_vec(),
        b"POST /v1/sessions HTTP/1.1\r\nContent-Length: -5\r\n\r\n".to_vec(),
        b"POST /v1/sessions HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n".to_vec(),
        b"POST /v1/sessions HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n".to_vec(),
        format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(1 << 20)).into_bytes(),
        format!("GET / HTTP/1.1\r\nHost: {addr}\r\n{}\r\n", "X-H: v\r\n".repeat(10_000))
            .into_bytes(),
        vec![0xff; 100_000],
    ] {
        let shown: String = String::from_utf8_lossy(&bytes).chars().take(60).collect();
        if let Some(answer) = http::raw(addr, &bytes).expect("no hang") {
            assert!(
                (400..510).contains(&answer.status) && answer.status != 500,
                "{shown}: {}",
                answer.brief()
            );
        }
    }
    bench.unharmed();
}

#[test]
fn wrong_types_and_methods_are_told_as_problems() {
    let bench = Bench::new();
    let mut client = bench.daemon.client();
    let path = format!("/v1/sessions/{}/messages", bench.session);
    let body = json!({"messages": [say::user("x")]}).to_string();
    // A web page can send these types to other origins without asking first.
    for kind in ["text/plain", "application/x-www-form-urlencoded"] {
        let answer = client.must(&Request::new("POST", &path).bytes(kind, body.as_bytes()));
        assert_eq!(answer.status, 415, "{kind}: {}", answer.brief());
        answer.problem();
    }
    assert_eq!(
        client.must(&Request::new("PATCH", &path).json(&json!({}))).problem()["status"],
        405
    );
    assert_eq!(client.get("/v1/nothing").problem()["status"], 404);
    bench.unharmed();
}

#[test]
fn broken_structure_is_stored_as_it_came_and_mended_in_the_view() {
    let daemon = Daemon::fresh();
    let check = |messages: &[Value], repairs: bool| {
        let session = daemon.session(200_000);
        daemon.append(&session, messages);
        assert_eq!(kill_loop::stored(&mut daemon.client(), &session).len(), messages.len());
        let path = format!("/v1/sessions/{session}/context");
        let answer = daemon.client().post(&path, &json!({})).ok();
        assert_eq!(prompt::faults_of(&answer), [""; 0]);
        let told = answer["report"]["repairs"].as_array().unwrap();
        assert_eq!(!told.is_empty(), repairs, "{messages:?}: {told:?}");
    };
    let call = || say::call("t", "Read", &json!({}));
    check(&[say::user("a"), say::result("t", "early"), call()], true);
    check(&[say::user("a"), call()], true);
    check(&[say::user("a"), call(), say::user("never mind")], true);
    check(&[say::user("a"), call(), say::result("t", "1"), say::result("t", "2")], true);
    check(&[say::user("a"), call(), say::result("t", "1"), call(), say::result("t", "2")], true);
    check(&[say::assistant("I begin")], true);
    check(&[say::user("a"), say::user(" ")], true);
    check(&[say::user("a"), call(), say::result("t", "1"), say::assistant("done")], false);
    daemon.is_well();
}

#[test]
fn unknown_fields_are_kept_or_passed_over_everywhere() {
    let bench = Bench::new();
    let mut client = bench.daemon.client();
    for route in routes::all().filter(|r| r.body.is_some() && r.path != "/v1/import") {
        let mut body: Value = serde_json::from_str(route.body.unwrap()).unwrap();
        body["x_unknown"] = json!({"kept": [1, null]});
        let path = routes::path(route, &bench.session);
        let answer = client.must(&Request::new(route.method, &path).json(&body));
        let small = route.path.ends_with("/compact");
        assert!(answer.status < 300 || small, "{} {path}: {}", route.method, answer.brief());
    }
    bench.daemon.is_well();
}

#[test]
fn a_huge_string_is_taken_whole_or_refused_with_its_limit() {
    let bench = Bench::new();
    let text = "long words ".repeat(1 << 20);
    let answer = bench.append_raw(json!({"messages": [say::user(&text)]}).to_string().as_bytes());
    if answer.status == 200 {
        let path = format!("/v1/sessions/{}/messages?after_seq=4", bench.session);
        assert_eq!(
            bench.daemon.client().get(&path).ok()["messages"][0]["message"]["content"],
            text
        );
    } else {
        assert!(answer.problem()["limit"].is_u64());
    }
    bench.daemon.is_well();
}
