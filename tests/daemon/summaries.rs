//! The request to a model that writes a summary, as the model's server sees it.

use std::fs;

use bethink_harness::{prompt, say};
use bethink_model_server::Script;
use serde_json::{Value, json};

use crate::desk::Desk;

const WISH: &str = "Keep every tide table letter by letter.";
const FOCUS: &str = "Look at the harbour gate above all.";

/// The blocks of the request's last message.
fn told(desk: &Desk) -> (Value, Vec<String>) {
    let seen = desk.server.requests().pop().unwrap();
    let messages = seen.json["messages"].as_array().unwrap();
    let blocks = prompt::blocks(messages.last().unwrap());
    let text = |block: &Value| block["text"].as_str().unwrap_or_default().to_owned();
    (seen.json.clone(), blocks.iter().map(text).collect())
}

fn instructions(desk: &Desk, name: &str, text: &str) {
    let file = desk.daemon.home.scratch().join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

#[test]
fn what_the_project_and_the_person_want_of_a_summary_reaches_the_model() {
    let desk = Desk::with(Script::good(), &[]);
    let file =
        format!("# Our harbour\nBe calm.\n\n## Compact instructions\n{WISH}\n\n## Build\nmake\n");
    instructions(&desk, "CLAUDE.md", &file);
    let body = json!({"instructions": FOCUS});
    let made = desk.daemon.client().post(&desk.path("compact"), &body).ok();
    assert_eq!(made["level"], "full", "{made}");
    let (_, told) = told(&desk);
    let last = told.last().unwrap();
    assert!(
        last.contains(WISH) && !last.contains("Be calm.") && !last.contains("make\n"),
        "{last}"
    );
    assert!(last.find(WISH) < last.find(FOCUS), "{last}");
    let after_focus = last.split(FOCUS).nth(1).unwrap();
    assert!(after_focus.len() < 20, "the person's wish stands last: {after_focus:?}");
}

#[test]
fn the_section_is_read_again_for_each_summary_and_only_below_the_project() {
    let desk = Desk::with(Script::good(), &[]);
    instructions(&desk, ".claude/CLAUDE.md", "# Compact instructions\nOld wish.\n");
    desk.compact();
    assert!(told(&desk).1.last().unwrap().contains("Old wish."));
    instructions(&desk, ".claude/CLAUDE.md", "# Compact instructions\nNew wish.\n");
    // The file that is closer comes first.
    let outside = tempfile::NamedTempFile::new().unwrap();
    fs::write(&outside, "# Compact instructions\nA stranger's wish.\n").unwrap();
    let link = desk.daemon.home.scratch().join("CLAUDE.md");
    std::os::unix::fs::symlink(outside.path(), link).unwrap();
    desk.work(30..60);
    desk.compact();
    let last = told(&desk).1.pop().unwrap();
    assert!(last.contains("New wish.") && !last.contains("Old wish."), "{last}");
    assert!(!last.contains("stranger"), "a link does not lead out of the project: {last}");
}

#[test]
fn images_go_to_no_summary() {
    let desk = Desk::with(Script::good(), &[]);
    let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoCANARY"});
    let image = json!({"type": "image", "source": source});
    let paper = json!({"type": "document", "source": {"type": "base64",
        "media_type": "application/pdf", "data": "JVBERi0CANARY"}});
    let text = |text: &str| json!({"type": "text", "text": text});
    let result =
        json!({"type": "tool_result", "tool_use_id": "t1", "content": [text("the screen"), image]});
    desk.daemon.append(
        &desk.session,
        &[
            json!({"role": "user", "content": [text("Look"), image, paper]}),
            say::call("t1", "Screenshot", &json!({})),
            json!({"role": "user", "content": [result]}),
            say::assistant("I see."),
        ],
    );
    let before = desk.prompt()["messages"].to_string();
    assert_eq!(before.matches("CANARY").count(), 3);
    desk.compact();
    let (request, _) = told(&desk);
    let sent = request["messages"].to_string();
    assert_eq!(sent.matches("CANARY").count(), 0);
    assert_eq!(
        (sent.matches("\"[image]\"").count(), sent.matches("\"[document]\"").count()),
        (2, 1),
        "{sent}"
    );
    assert_eq!(desk.server.counts().invalid_prompts, 0);
}
