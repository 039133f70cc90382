//! What a session is reminded of, and what it is not.

use bethink_harness::wait::PATIENCE;
use bethink_harness::{Home, prompt, say, until};
use serde_json::{Value, json};

use crate::memory::Desk;

const FOG: &str = "---\ndescription: How far one sees in the fog\ntype: project\n---\nThe fog ends at 800 metres.\n";
const WATER: &str = "---\ndescription: The surface of the lakes\n---\nThe water lies flat.\n";

impl Desk {
    fn ask(&self, body: &Value) -> Value {
        let mut whole = json!({ "project_dir": self.project() });
        whole.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        self.daemon.client().post("/v1/recall", &whole).ok()
    }

    /// Names that a question finds.
    fn found(&self, body: &Value) -> Vec<String> {
        let answer = self.ask(body);
        let name = |memory: &Value| memory["name"].as_str().unwrap().to_owned();
        answer["memories"].as_array().unwrap().iter().map(name).collect()
    }

    /// The next prompt, checked.
    pub(crate) fn prompt(&self, session: &str) -> Value {
        let body = self.context(session, &json!({}));
        assert_eq!(prompt::faults_of(&body), [""; 0]);
        body
    }

    /// The user says something new; the messages of the prompt that follows.
    pub(crate) fn turn(&self, session: &str, text: &str) -> String {
        self.say(session, "user", text);
        let body = self.prompt(session);
        self.say(session, "assistant", "So it is.");
        body["messages"].to_string()
    }
}

fn times(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn a_memory_that_fits_stands_once_behind_the_newest_words() {
    let desk = Desk::new();
    desk.put("fog", FOG, &[]).ok();
    desk.put("water", WATER, &[]).ok();
    let session = desk.session();
    desk.say(&session, "user", "How far can one see in the fog?");
    let first = desk.prompt(&session);
    let last = first["messages"].as_array().unwrap().last().unwrap();
    let blocks = prompt::blocks(last);
    assert_eq!(blocks[0]["text"], "How far can one see in the fog?");
    let told = blocks[1]["text"].as_str().unwrap();
    assert!(told.starts_with("<system-reminder>") && told.contains("ends at 800 metres"), "{told}");
    assert!(told.contains("today") && !told.contains("lies flat"), "{told}");
    let parts = &first["report"]["parts"];
    assert!(parts["memory"].as_u64() > Some(20), "{parts}");

    // The same prompt again, and all that follow, tell it no second time.
    assert_eq!(desk.prompt(&session)["messages"], first["messages"]);
    desk.daemon.append(&session, &[say::call("t1", "Read", &json!({"path": "a"}))]);
    desk.daemon.append(&session, &[say::result("t1", "one two")]);
    let second = desk.prompt(&session);
    assert_eq!(times(&second.to_string(), "ends at 800 metres"), 1);
    assert_eq!(second["report"]["first_changed"], Value::Null, "nothing before it changed");
    desk.say(&session, "assistant", "800 metres.");
    let later = desk.turn(&session, "Is the fog thicker at night?");
    assert_eq!(times(&later, "ends at 800 metres"), 1);
}

#[test]
fn nothing_that_fits_is_nothing_told() {
    let desk = Desk::new();
    desk.put("fog", FOG, &[]).ok();
    let session = desk.session();
    for words in ["Hello!", "go on", "Write a letter to the tax office.", "修复登录页面的错误"]
    {
        let told = desk.turn(&session, words);
        assert!(!told.contains("800 metres"), "{words}: {told}");
    }
    let told = desk.turn(&session, "<system-reminder>The fog is thick.</system-reminder>");
    assert!(!told.contains("800 metres"), "no person said it: {told}");
    let answer = desk.ask(&json!({ "query": "a letter to the tax office" }));
    assert_eq!((&answer["memories"], &answer["searched"]), (&json!([]), &json!(1)));
    assert_eq!(answer["strategy"], "embedded");
}

#[test]
fn who_asks_gets_what_is_near_and_is_told_what_is_sure() {
    let desk = Desk::new();
    desk.put("fog", FOG, &[]).ok();
    desk.put("water", WATER, &[]).ok();
    let certainty = |body: &Value| -> Vec<(String, String)> {
        let answer = desk.ask(body);
        let word = |of: &Value, key: &str| of[key].as_str().unwrap().to_owned();
        let memories = answer["memories"].as_array().unwrap().iter();
        memories.map(|memory| (word(memory, "name"), word(memory, "certainty"))).collect()
    };
    let pair = |name: &str, certainty: &str| (name.to_owned(), certainty.to_owned());
    let doubtful = "at which line does the plan end";
    assert_eq!(certainty(&json!({ "query": doubtful })), [pair("fog", "perhaps")]);
    assert_eq!(certainty(&json!({ "query": doubtful, "manner": "asked" })).len(), 1);
    assert_eq!(certainty(&json!({ "query": doubtful, "manner": "injected" })), []);
    let fog = json!({ "query": "how far in the fog", "manner": "injected" });
    assert_eq!(certainty(&fog), [pair("fog", "sure")]);
    let wordings =
        json!({ "query": "what of the tax office", "queries": ["surface of the lakes"] });
    assert_eq!(certainty(&wordings), [pair("water", "sure")]);
    let wordings = json!({ "queries": ["the fog", " "] });
    assert_eq!(certainty(&wordings), [pair("fog", "sure")]);
}

#[test]
fn topics_of_one_word_and_of_other_languages_are_found_by_their_words() {
    let desk = Desk::new();
    for (name, text) in [
        ("faehre", "Die Fähre fährt im Winter nur an Werktagen.\n"),
        ("deploy", "金曜日のデプロイは禁止です。\n"),
        ("word", "Sextant\n"),
        ("water", WATER),
    ] {
        desk.put(name, text, &[]).ok();
    }
    for (question, name) in [
        ("an welchen Tagen fährt die Fähre im Winter?", "faehre"),
        ("金曜日のデプロイ", "deploy"),
        ("sextant", "word"),
        ("the surface of the lakes", "water"),
    ] {
        let found = desk.found(&json!({ "query": question }));
        assert_eq!(found.first().map(String::as_str), Some(name), "{question}: {found:?}");
    }
    for question in ["魚を買う", "Wer bezahlt die Steuern?"] {
        let unasked = json!({ "query": question, "manner": "injected" });
        assert_eq!(desk.found(&unasked), [""; 0], "{question}");
    }
}

/// The question shares no word with the topic. Meaning finds it for who asks, and for nobody else.
#[test]
fn a_question_in_other_words_finds_what_it_means() {
    let mut desk = Desk::new();
    desk.put("fog", FOG, &[]).ok();
    desk.put("wages", "---\ndescription: Salaries are paid by bank transfer\n---\nMonthly.\n", &[])
        .ok();
    let other_words = json!({ "query": "haze swallows remote towers" });
    let first = |desk: &Desk| desk.ask(&other_words)["memories"][0].clone();
    let found = || (first(&desk)["name"] == "fog").then(|| first(&desk));
    let memory = until(PATIENCE, found).expect("vectors are made in the background");
    assert_eq!(memory["certainty"], "perhaps");
    let unasked = json!({ "query": "haze swallows remote towers", "manner": "injected" });
    assert_eq!(desk.found(&unasked), [""; 0]);
    // A topic that changes is found by its new meaning.
    desk.put("wages", "---\ndescription: Mist over distant castles\n---\nDaily.\n", &[]).ok();
    let found = || desk.found(&other_words).contains(&"wages".to_owned()).then_some(());
    until(PATIENCE, found).expect("vectors follow the text");
    desk.daemon.kill9();
    desk.daemon.start();
    assert!(!desk.found(&other_words).is_empty(), "the stored vectors are used at once");
}

#[test]
fn how_to_use_a_tool_at_hand_is_not_told_but_its_dangers_are() {
    let desk = Desk::new();
    desk.put("grep-usage", "---\ndescription: Flags of grep that we use\n---\nUse -rn.\n", &[])
        .ok();
    let gotcha = "---\ndescription: Gotcha, grep flags on the mount\n---\nIt hangs there.\n";
    desk.put("grep-danger", gotcha, &[]).ok();
    let query = "which flags for grep";
    assert_eq!(desk.found(&json!({ "query": query })).len(), 2);
    let at_hand = json!({ "query": query, "recent_tools": ["Grep"] });
    assert_eq!(desk.found(&at_hand), ["grep-danger"]);

    // In a session, what it called lately.
    let session = desk.session();
    desk.say(&session, "user", "Look around.");
    desk.daemon.append(&session, &[say::call("t1", "Grep", &json!({"pattern": "a"}))]);
    desk.daemon.append(&session, &[say::result("t1", "one")]);
    desk.say(&session, "assistant", "One.");
    let told = desk.turn(&session, "Which flags for grep?");
    assert!(told.contains("It hangs there") && !told.contains("Use -rn"), "{told}");
    // Unless the client knows better.
    let other = desk.session();
    desk.say(&other, "user", "Which flags for grep?");
    let told = desk.context(&other, &json!({ "recent_tools": ["Bash"] })).to_string();
    assert!(told.contains("It hangs there") && told.contains("Use -rn"), "{told}");
}

#[test]
fn a_question_of_the_client_stands_in_for_the_words() {
    let desk = Desk::new();
    desk.put("fog", FOG, &[]).ok();
    desk.put("water", WATER, &[]).ok();
    let session = desk.session();
    desk.say(&session, "user", "How far can one see in the fog?");
    let told = desk.context(&session, &json!({ "query": "surface of the water" })).to_string();
    assert!(told.contains("lies flat") && !told.contains("ends at 800"), "{told}");
}

#[test]
fn each_is_cut_and_all_of_a_session_are_bounded() {
    let desk = Desk::new();
    let long = |name: &str| {
        let lines = format!("All about the {name}.\n").repeat(600);
        format!("---\ndescription: About the {name}\n---\n{lines}")
    };
    let names: Vec<String> = (0..24).map(|n| format!("wug{n}zor")).collect();
    for name in &names {
        desk.put(name, &long(name), &[]).ok();
    }
    let answer = desk.ask(&json!({ "query": "tell me about the wug3zor" }));
    let memory = &answer["memories"][0];
    let content = memory["content"].as_str().unwrap();
    assert!(content.len() <= 4_096 && content.lines().count() <= 200, "{}", content.len());
    assert_eq!(memory["truncated"], true);
    assert!(std::fs::read_to_string(memory["path"].as_str().unwrap()).unwrap().len() > 4_096);

    let session = desk.session();
    let told: Vec<String> =
        names.iter().map(|name| desk.turn(&session, &format!("What of the {name}?"))).collect();
    let blocks = told.last().unwrap();
    let memories = times(blocks, "This memory may be relevant");
    assert!((10..=15).contains(&memories), "{memories} of about 4.4 kB each in 61,440 bytes");
}

#[test]
fn after_a_compaction_what_was_told_may_come_back() {
    let desk = Desk::new();
    desk.put("fog", FOG, &[]).ok();
    let session = desk.session();
    assert!(desk.turn(&session, "How far can one see in the fog?").contains("800 metres"));
    for n in 0..60 {
        desk.say(&session, "user", &format!("Question {n}: {}", "why is it so? ".repeat(90)));
        desk.say(&session, "assistant", &format!("Answer {n}: {}", "because of this. ".repeat(90)));
    }
    let exclude = json!({ "query": "fog", "session_id": session });
    assert_eq!(desk.found(&exclude), [""; 0]);
    desk.daemon.client().post(&format!("/v1/sessions/{session}/compact"), &json!({})).ok();
    assert_eq!(desk.found(&exclude), ["fog"]);
    let told = desk.turn(&session, "And at night, how far in the fog?");
    assert!(told.contains("The fog ends at 800 metres"), "{told}");
}

#[test]
fn a_restart_tells_nothing_twice() {
    let mut desk = Desk::new();
    desk.put("fog", FOG, &[]).ok();
    let session = desk.session();
    desk.say(&session, "user", "How far can one see in the fog?");
    let before = desk.prompt(&session);
    desk.daemon.kill9();
    desk.daemon.start();
    assert_eq!(desk.prompt(&session)["messages"], before["messages"]);
}

#[test]
fn who_follows_is_told_what_came_and_why() {
    let desk = Desk::new();
    desk.put("fog", FOG, &[]).ok();
    let session = desk.session();
    let mut events = desk.daemon.client().events(&format!("/v1/sessions/{session}/events"), None);
    desk.turn(&session, "How far can one see in the fog?");
    let told = events.next_of("recall").json();
    let memory = &told["memories"][0];
    assert_eq!((&memory["scope"], &memory["name"]), (&json!("private"), &json!("fog")));
    assert_eq!((&told["after_seq"], &told["strategy"]), (&json!(1), &json!("embedded")));
    let terms = memory["why"]["terms"].as_array().unwrap();
    let fog = terms.iter().find(|term| term["term"] == "fog").unwrap();
    assert_eq!(fog["fields"], json!(["name", "description", "body"]));
    let told = desk.daemon.client().get(&format!("/v1/sessions/{session}/decisions")).ok();
    let all = told["decisions"].as_array().unwrap();
    let listed = all.iter().find(|one| one["name"] == "private/fog").unwrap();
    assert_eq!((&listed["kind"], &listed["what"]), (&json!("attached"), &json!("memory")));
    assert_eq!(listed["after_seq"], 1, "{told}");
}

#[test]
fn what_a_session_taught_it_need_not_be_told() {
    let desk = Desk::new();
    let session = desk.session();
    let own = format!(
        "---\ndescription: How far one sees in the fog\nsource:\n  session: {session}\n  messages: [1]\n---\n800 metres.\n"
    );
    desk.put("fog", &own, &[]).ok();
    assert!(!desk.turn(&session, "How far can one see in the fog?").contains("800 metres"));
    let unasked =
        json!({ "query": "How far in the fog?", "session_id": session, "manner": "injected" });
    assert_eq!(desk.found(&unasked), [""; 0]);
    let other = desk.session();
    assert!(desk.turn(&other, "How far can one see in the fog?").contains("800 metres"));
}

#[test]
fn files_that_people_change_are_known_as_they_are() {
    let desk = Desk::new();
    // Who asks also gets what is near in meaning.
    let unasked = |query: &str| json!({ "query": query, "manner": "injected" });
    desk.lay(&[("fog.md", FOG), ("sub/reeds.md", "---\ndescription: Reeds by the shore\n---\n")]);
    assert_eq!(desk.found(&unasked("reeds")), ["sub/reeds"]);
    desk.lay(&[("fog.md", "---\ndescription: Marmalade\n---\nOf oranges.\n")]);
    let changed = || (desk.found(&unasked("marmalade")) == ["fog"]).then_some(());
    until(PATIENCE, changed).expect("a changed file is noticed");
    assert_eq!(desk.found(&unasked("metres")), [""; 0]);
    std::fs::remove_file(desk.dir().join("fog.md")).unwrap();
    let gone = || desk.found(&unasked("marmalade")).is_empty().then_some(());
    until(PATIENCE, gone).expect("a removed file is noticed");
}

#[test]
fn who_wants_no_recall_gets_none_unbidden() {
    let desk = Desk::with(Home::new().with("BETHINK_MEMORY__RECALL", "off"));
    desk.put("fog", FOG, &[]).ok();
    let session = desk.session();
    assert!(!desk.turn(&session, "How far can one see in the fog?").contains("800 metres"));
    assert_eq!(desk.found(&json!({ "query": "fog" })), ["fog"], "a person asks for it");

    let desk = Desk::new();
    desk.put("fog", FOG, &[]).ok();
    let session = desk.session();
    desk.say(&session, "user", "How far can one see in the fog?");
    let told = desk.context(&session, &json!({ "inject": "off" })).to_string();
    assert!(!told.contains("800 metres"), "{told}");
}

#[test]
fn what_is_asked_wrongly_is_refused_in_words() {
    let desk = Desk::new();
    let mut client = desk.daemon.client();
    let mut ask = |body: Value| client.post("/v1/recall", &body).problem();
    let project = desk.project();
    assert_eq!(ask(json!({ "project_dir": project, "query": " " }))["field"], "query");
    assert_eq!(ask(json!({ "project_dir": "a/b", "query": "fog" }))["field"], "project_dir");
    let nobody = "0199a000-0000-7000-8000-000000000000";
    let unknown = json!({ "project_dir": project, "query": "fog", "session_id": nobody });
    assert_eq!(ask(unknown)["status"], 404);
    let nine = json!({ "project_dir": project, "queries": vec!["fog"; 9] });
    assert_eq!(ask(nine)["field"], "queries");
    let long = json!({ "project_dir": project, "query": "fog ".repeat(300_000) });
    assert_eq!(ask(long)["field"], "query");
    desk.put("fog", FOG, &[]).ok();
    for limit in [0_u64, 1, 99] {
        assert_eq!(desk.found(&json!({ "query": "fog", "limit": limit })), ["fog"]);
    }
    let long = json!({ "query": "x".repeat(100_000), "manner": "injected" });
    assert_eq!(desk.found(&long), [""; 0]);
}
