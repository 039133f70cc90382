use proptest::prelude::*;
use serde_json::json;

use super::*;

fn edits() -> Vec<SettingsEdit> {
    let server = json!({ "command": "/bin/bethink", "args": ["mcp"] });
    let hook = json!({ "hooks": [{ "type": "command", "command": "/bin/bethink hook Stop" }] });
    vec![
        SettingsEdit::member(&["mcpServers", "bethink"], server, Ours::Program),
        SettingsEdit::element(&["hooks", "Stop"], hook),
    ]
}

fn server() -> Vec<SettingsEdit> {
    let server = json!({ "command": "/bin/bethink", "args": ["mcp"] });
    vec![SettingsEdit::member(&["s", "bethink"], server, Ours::Program)]
}

/// Checks the text after the edits, and that removing our entries restores the original text.
#[track_caller]
fn check(edits: &[SettingsEdit], before: &str, after: &str) {
    let put = put_in(before, edits).unwrap();
    assert_eq!(put.text, after);
    assert_eq!(put_in(after, edits).unwrap().text, after, "a second run changes nothing");
    assert_eq!(take_out(after, edits, &put.made).unwrap(), before, "and back");
    let has_ours = |text: &str| take_out(text, edits, &[]).unwrap() != text;
    assert!(has_ours(after) && !has_ours(before));
}

const SERVER: &str = r#"{"command": "/bin/bethink", "args": ["mcp"]}"#;

#[test]
fn an_empty_file_gets_lines() {
    check(
        &server(),
        "{}",
        "{\n  \"s\": {\n    \"bethink\": {\n      \"command\": \"/bin/bethink\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}",
    );
}

#[test]
fn the_style_of_a_file_is_kept() {
    let wide = |unit: &str, end: &str| {
        let s = format!("{{{end}{unit}\"a\": 1{end}}}{end}");
        let (u, e) = (unit, end);
        let entry = format!(
            "{{{e}{u}\"a\": 1,{e}{u}\"s\": {{{e}{u}{u}\"bethink\": {{{e}{u}{u}{u}\"command\": \"/bin/bethink\",{e}{u}{u}{u}\"args\": [\"mcp\"]{e}{u}{u}}}{e}{u}}}{e}}}{e}"
        );
        (s, entry)
    };
    for unit in ["  ", "    ", "\t"] {
        for end in ["\n", "\r\n"] {
            let (before, after) = wide(unit, end);
            check(&server(), &before, &after);
        }
    }
    check(&server(), r#"{"a":1}"#, &format!(r#"{{"a":1,"s":{{"bethink": {SERVER}}}}}"#));
    check(
        &server(),
        r#"{"a": 1, "b": 2}"#,
        &format!(r#"{{"a": 1, "b": 2, "s":{{"bethink": {SERVER}}}}}"#),
    );
}

#[test]
fn comments_and_commas_stay_where_they_are() {
    let tests = [
        (
            "{\n  \"s\": {\n    \"x\": 1 // one\n  }\n}",
            "{\n  \"s\": {\n    \"x\": 1, // one\n    OURS\n  }\n}",
        ),
        (
            "{\n  \"s\": {\n    \"x\": 1, // one\n  },\n}",
            "{\n  \"s\": {\n    \"x\": 1, // one\n    OURS,\n  },\n}",
        ),
        (
            "{\n  \"s\": {\n    // nothing yet\n  }\n}",
            "{\n  \"s\": {\n    // nothing yet\n    OURS\n  }\n}",
        ),
        (
            "// top\n{\n  \"s\": {\n    \"x\": 1\n    /* end */\n  }\n}\n// bottom",
            "// top\n{\n  \"s\": {\n    \"x\": 1,\n    /* end */\n    OURS\n  }\n}\n// bottom",
        ),
        (
            "\u{feff}{\n  \"s\": {\n    \"x\": \"}//,\"   \n  }\n}",
            "\u{feff}{\n  \"s\": {\n    \"x\": \"}//,\",\n    OURS   \n  }\n}",
        ),
    ];
    let ours =
        "\"bethink\": {\n      \"command\": \"/bin/bethink\",\n      \"args\": [\"mcp\"]\n    }";
    for (before, after) in tests {
        check(&server(), before, &after.replace("OURS", ours));
    }
}

#[test]
fn what_a_person_does_meanwhile_stays() {
    let put = put_in("{\n  \"a\": 1\n}\n", &edits()).unwrap();
    let more = put.text.replace("  \"a\": 1,", "  \"a\": 2, // changed\n  \"later\": true,");
    let out = take_out(&more, &edits(), &put.made).unwrap();
    assert_eq!(out, "{\n  \"a\": 2, // changed\n  \"later\": true\n}\n");
    // Another server and another hook were added to the containers that were created for ours.
    let server = put.text.replace("\"mcpServers\": {", "\"mcpServers\": {\n    \"other\": {},");
    let both = server
        .replace("\"Stop\": [", "\"Stop\": [\n      {\"hooks\": [{\"command\": \"say done\"}]},");
    let out = take_out(&both, &edits(), &put.made).unwrap();
    let left: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        left,
        json!({ "a": 1, "mcpServers": { "other": {} }, "hooks": { "Stop": [{ "hooks": [{ "command": "say done" }] }] } })
    );
}

#[test]
fn other_hooks_stay_also_in_a_group_with_ours() {
    let before = r#"{"hooks": {"Stop": [{"hooks": [{"command": "say done"}]}]}}"#;
    let put = put_in(before, &edits()).unwrap();
    assert_eq!(take_out(&put.text, &edits(), &put.made).unwrap(), before);
    let shared = r#"{"hooks": {"Stop": [{"hooks": [{"command": "say done"}, {"command": "/old/bethink hook Stop"}]}]}}"#;
    let put = put_in(shared, &edits()[1..]).unwrap();
    assert_eq!(put.text, shared.replace("/old/", "/bin/"), "no second entry");
    assert_eq!(take_out(shared, &edits(), &[]).unwrap(), before);
}

#[test]
fn an_older_form_is_brought_up_to_date_and_keeps_what_was_added() {
    let old = "{\n  \"mcpServers\": {\n    \"bethink\": {\n      \"command\": \"/old/bethink\",\n      \"env\": {\"A\": \"b\"}\n    }\n  },\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"command\": \"/old/bethink hook stop\", \"timeout\": 99}]}]\n  }\n}";
    let new = put_in(old, &edits()).unwrap();
    let told: Value = serde_json::from_str(&new.text).unwrap();
    let server = &told["mcpServers"]["bethink"];
    assert_eq!(*server, json!({ "command": "/bin/bethink", "args": ["mcp"], "env": { "A": "b" } }));
    let hook = &told["hooks"]["Stop"][0]["hooks"][0];
    assert_eq!(*hook, json!({ "command": "/bin/bethink hook Stop", "timeout": 99 }));
    assert!(new.made.is_empty() && new.left_alone.is_empty());
}

#[test]
fn what_is_not_ours_is_left_alone_and_named() {
    for (text, named) in [
        (
            r#"{"mcpServers": {"bethink": {"url": "http://127.0.0.1:4747/mcp"}}}"#,
            "mcpServers.bethink",
        ),
        (r#"{"mcpServers": {"bethink": {"command": "/bin/rethink"}}}"#, "mcpServers.bethink"),
        (r#"{"mcpServers": []}"#, "mcpServers"),
    ] {
        let put = put_in(text, &edits()[..1]).unwrap();
        assert_eq!((put.text.as_str(), put.left_alone), (text, vec![named.to_owned()]));
        assert_eq!(take_out(text, &edits()[..1], &[]).unwrap(), text);
    }
    let text = r#"{"hooks": {"Stop": "none"}}"#;
    assert_eq!(put_in(text, &edits()[1..]).unwrap().left_alone, ["hooks.Stop"]);
}

#[test]
fn what_is_no_json_is_not_touched() {
    for text in ["{\"a\": }", "[]", "7", "{\"a\": 1"] {
        assert!(
            put_in(text, &edits()).is_err() && take_out(text, &edits(), &[]).is_err()
                || text == "[]"
                || text == "7"
        );
        assert!(put_in(text, &edits()).is_err(), "{text}");
    }
}

/// Containers of a configuration as people and programs write them.
fn config() -> impl Strategy<Value = String> {
    let member = (0..6usize, prop::bool::ANY, prop::bool::ANY);
    (prop::collection::vec(member, 1..5), 0..3usize, prop::bool::ANY, prop::bool::ANY, prop::bool::ANY)
        .prop_map(|(members, unit, crlf, trailing, ends)| {
            let (unit, end) = (["  ", "\t", "    "][unit], if crlf { "\r\n" } else { "\n" });
            let kinds = [
                "\"a\": 1".to_owned(),
                "\"b\": [1, 2]".to_owned(),
                format!("\"mcpServers\": {{{end}{unit}{unit}\"x\": {{\"command\": \"x\"}}{end}{unit}}}"),
                format!("\"hooks\": {{{end}{unit}{unit}\"Stop\": [{end}{unit}{unit}{unit}{{\"hooks\": []}}{end}{unit}{unit}]{end}{unit}}}"),
                "\"hooks2\": {}".to_owned(),
                "\"url\": \"http://x/{,}\"".to_owned(),
            ];
            let mut seen = std::collections::BTreeSet::new();
            let members: Vec<_> = members.into_iter().filter(|(kind, ..)| seen.insert(*kind)).collect();
            let count = members.len();
            let mut out = format!("{{{end}");
            for (n, (kind, comment, above)) in members.into_iter().enumerate() {
                if above {
                    out.push_str(&format!("{unit}// about \"{kind}\", {{{end}"));
                }
                out.push_str(&format!("{unit}{}", kinds[kind]));
                if n + 1 < count || trailing {
                    out.push(',');
                }
                if comment {
                    out.push_str(" /* so, it is */");
                }
                out.push_str(end);
            }
            out.push('}');
            if ends {
                out.push_str(end);
            }
            out
        })
}

proptest! {
    #[test]
    fn taking_out_what_was_put_in_gives_the_text_back(text in config()) {
        let put = put_in(&text, &edits()).unwrap();
        prop_assert!(put.left_alone.is_empty());
        prop_assert_eq!(&put_in(&put.text, &edits()).unwrap().text, &put.text);
        prop_assert_eq!(take_out(&put.text, &edits(), &put.made).unwrap(), text);
    }

    #[test]
    fn any_text_is_edited_or_refused(text in "[{}\\[\\],:\"/* \na1]{0,30}") {
        if let Ok(put) = put_in(&text, &edits()) {
            prop_assert!(parse(&put.text).is_ok());
            prop_assert!(take_out(&put.text, &edits(), &put.made).is_ok());
        }
    }
}
