use serde_json::json;

use super::*;
use crate::edit::Ours;

fn edits() -> Vec<SettingsEdit> {
    let server = json!({ "command": "/bin/bethink", "args": ["mcp"] });
    let hook = json!({ "hooks": [{ "type": "command", "command": "/bin/bethink hook Stop" }] });
    vec![
        SettingsEdit::member(&["mcp_servers", "bethink"], server, Ours::Program),
        SettingsEdit::element(&["hooks", "Stop"], hook),
    ]
}

#[track_caller]
fn there_and_back(before: &str) -> String {
    let put = put_in(before, &edits()).unwrap();
    assert!(put.left_alone.is_empty(), "{before}");
    assert_eq!(put_in(&put.text, &edits()).unwrap().text, put.text, "a second run changes nothing");
    assert_eq!(take_out(&put.text, &edits(), &put.made).unwrap(), before, "and back");
    put.text
}

#[test]
fn tables_are_added_and_nothing_else_changes() {
    let text = there_and_back("");
    assert!(
        text.contains("[mcp_servers.bethink]\n") && text.contains("[[hooks.Stop.hooks]]\n"),
        "{text}"
    );
    for before in [
        "model = \"x\" # the best\n\n[mcp_servers.other]\ncommand = \"o\"\nargs = [ 'a',\n  'b' ]\n",
        "# only a comment\n",
        "[projects.\"/a b\"]\r\ntrust_level = \"trusted\"\r\n",
        "[[hooks.Stop]]\nmatcher = \"x\"\n[[hooks.Stop.hooks]]\ncommand = \"say done\"\n",
        "a = 1\nb = \"\"\"\n[mcp_servers.bethink]\n\"\"\"\n",
        "\u{feff}a = 1\n",
        "a = 1\r\nb = 2\nc = 3\r\n",
    ] {
        let after = there_and_back(before);
        assert!(after.starts_with(before.trim_end()), "{after}");
        let returns = |text: &str| text.matches('\r').count();
        assert!(returns(before) == 0 || returns(&after) > returns(before), "{after:?}");
    }
}

#[test]
fn inline_tables_are_extended() {
    for before in [
        "mcp_servers = { gh = { command = \"gh\" } }\nhooks = {}\n",
        "mcp_servers = {} # none\nhooks = { Stop = [{ hooks = [{ command = \"say done\" }] }] }\n",
        "mcp_servers.gh = { command = \"gh\" }\nhooks.Stop = []\n",
    ] {
        let after = there_and_back(before);
        let parsed = parse(&after).unwrap();
        assert_eq!(parsed["mcp_servers"]["bethink"]["command"].as_str(), Some("/bin/bethink"));
        assert!(after.contains("/bin/bethink hook Stop"), "{after}");
        let moved = after.replace("/bin/", "/old/");
        assert_eq!(put_in(&moved, &edits()).unwrap().text, after, "a moved program is updated");
    }
}

#[test]
fn the_other_hooks_of_an_inline_group_stay() {
    let other = "{ command = \"say done\" }";
    let text = format!(
        "hooks = {{ Stop = [{{ hooks = [{other}, {{ command = \"/bin/bethink hook Stop\" }}] }}] }}\n"
    );
    let out = take_out(&text, &edits(), &[]).unwrap();
    assert!(out.contains(other) && !out.contains("bethink"), "{out}");
}

#[test]
fn a_text_without_changes_gets_no_line_feed() {
    for text in ["hooks = 7\nmcp_servers = 7", "# only a comment"] {
        assert_eq!(take_out(text, &edits(), &[]).unwrap(), text);
    }
    let two = [edits(), edits()].concat();
    let put = put_in("hooks = 7\nmcp_servers = 7", &two).unwrap();
    assert_eq!(put.text, "hooks = 7\nmcp_servers = 7");
    assert_eq!(put.left_alone, ["mcp_servers", "hooks"], "each is named once");
}

#[test]
fn what_a_person_or_the_client_adds_meanwhile_stays() {
    let put = put_in("a = 1\n", &edits()).unwrap();
    let more = format!("{}\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n", put.text);
    let out = take_out(&more, &edits(), &put.made).unwrap();
    assert!(
        out.contains("[projects.\"/p\"]\ntrust_level = \"trusted\"\n") && !out.contains("bethink"),
        "{out}"
    );
    let other = put.text.replace(
        "[mcp_servers.bethink]",
        "[mcp_servers.other]\ncommand = \"o\"\n\n[mcp_servers.bethink]",
    );
    let out = take_out(&other, &edits(), &put.made).unwrap();
    assert!(out.contains("[mcp_servers.other]") && !out.contains("bethink"), "{out}");
}

#[test]
fn an_older_form_is_brought_up_to_date() {
    let old = "[mcp_servers.bethink]\ncommand = \"/old/bethink\" # moved\nargs = [\"mcp\"]\nenabled = false\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = \"/old/bethink hook Stop\"\ntimeout = 99\n";
    let put = put_in(old, &edits()).unwrap();
    assert!(
        put.text.contains("enabled = false") && put.text.contains("timeout = 99"),
        "{}",
        put.text
    );
    assert!(put.text.contains("\"/bin/bethink\"") && !put.text.contains("/old/"), "{}", put.text);
    assert!(put.made.is_empty());
}

#[test]
fn what_is_not_ours_is_left_alone_and_named() {
    for (text, named) in [
        ("[mcp_servers.bethink]\nurl = \"http://x\"\n", "mcp_servers.bethink"),
        ("mcp_servers = 7\n", "mcp_servers"),
    ] {
        let put = put_in(text, &edits()[..1]).unwrap();
        assert_eq!((put.text.as_str(), put.left_alone), (text, vec![named.to_owned()]));
        assert_eq!(take_out(text, &edits()[..1], &[]).unwrap(), text);
    }
}

#[test]
fn a_fault_has_its_line_and_column() {
    let fault = put_in("a = 1\nb = = 2\n", &edits()).unwrap_err();
    assert_eq!((fault.line, fault.column), (2, 5), "{fault}");
}
