//! Tests with a session ten times as long as its window.

use super::*;
use bethink_tokens::text_tokens;

/// Returns the prompt that is sent, as JSON.
fn sent(client: &Client, prompt: &UpstreamPrompt) -> Vec<Value> {
    match prompt {
        UpstreamPrompt::Unchanged => client.said.clone(),
        UpstreamPrompt::Changed { messages, .. } => messages
            .iter()
            .map(|piece| match piece {
                PromptPart::Client(index) => client.said[*index].clone(),
                PromptPart::Written(written) => serde_json::from_slice(&written.json).unwrap(),
            })
            .collect(),
    }
}

/// Checks a provider's rules for prompts.
fn judge(messages: &[Value]) {
    assert_eq!(messages.first().unwrap()["role"], "user");
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        let of = |kind: &str, member: &str| -> Vec<String> {
            let found = blocks.iter().filter(|b| b["type"] == kind);
            found.map(|b| b[member].as_str().unwrap().to_owned()).collect()
        };
        if message["role"] == "assistant" {
            assert!(open.is_empty(), "calls without results: {open:?}");
            open = of("tool_use", "id");
        } else {
            let results = of("tool_result", "tool_use_id");
            assert!(results.iter().all(|id| open.contains(id)), "{results:?} {open:?}");
            open.retain(|id| !results.contains(id));
        }
    }
    assert!(open.is_empty());
}

fn work(client: &mut Client, round: usize) {
    let id = format!("toolu_{round}");
    client.said.push(json!({ "role": "assistant", "content": [
        { "type": "text", "text": format!("I read part {round}.") },
        { "type": "tool_use", "id": id, "name": "Read", "input": { "file_path": format!("/p/src/part{round}.rs") } },
    ] }));
    let words: String = (0..220).map(|n| format!("value {n} of part {round}\n")).collect();
    client.said.push(json!({ "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": id, "content": words },
    ] }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_windows_never_overflow() {
    let home = Home::new();
    let daemon = home.boot().await;
    let mut client = Client { model: SMALL.to_owned(), ..Client::new(Some("k")) };
    client.says("The deploy password of the harbour is heliotrope-77. Read all parts.");
    let (mut changed, mut session, mut newest) = (0, None, Vec::new());
    for round in 0..120 {
        let prepared = client.sends(&daemon).await;
        assert_eq!(*session.get_or_insert(prepared.session), prepared.session);
        let up = sent(&client, &prepared.prompt);
        judge(&up);
        let size = u64::from(text_tokens(&Value::from(up.clone()).to_string()));
        assert!(size < 16_000, "round {round}: {size} tokens of a window of 16,000");
        changed += usize::from(prepared.prompt != UpstreamPrompt::Unchanged);
        // The same request gets the same prompt, byte for byte.
        let again = client.sends(&daemon).await;
        assert_eq!(sent(&client, &again.prompt), up, "round {round}");
        newest = up;
        work(&mut client, round);
    }
    let all = u64::from(text_tokens(&Value::from(client.said.clone()).to_string()));
    assert!(all > 160_000, "the client's history is ten windows long: {all}");
    assert!(changed > 60, "{changed} of 120 prompts were made from decisions");
    assert!(Value::from(newest).to_string().contains("heliotrope-77"), "the first message");
    let session = session.unwrap();
    daemon.wait_until_stored(session).await.unwrap();
    let q = "deploy password harbour".to_owned();
    let wanted = bethink_api::SearchQuery { q, ..Default::default() };
    let found = daemon.search.search(session, &wanted).await.unwrap();
    assert_eq!(found.hits.first().map(|hit| hit.seq), Some(1));
    assert!(daemon.sessions.compactions(session).await.unwrap().compactions.len() > 3);
    daemon.shutdown().await;
}

/// After a compaction, a restarted daemon sends the same bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_changes_no_prompt() {
    let home = Home::new();
    let daemon = home.boot().await;
    let mut client = Client { model: SMALL.to_owned(), ..Client::new(None) };
    client.says("Read all parts.");
    for round in 0..12 {
        client.sends(&daemon).await;
        work(&mut client, round);
    }
    let before = client.sends(&daemon).await;
    assert_ne!(before.prompt, UpstreamPrompt::Unchanged);
    let counted = daemon.count_prompt(client.request()).await.unwrap();
    assert_eq!(counted, before.prompt, "the counted prompt is the one that was sent");
    daemon.shutdown().await;
    drop(daemon);
    let daemon = home.boot().await;
    let counted = daemon.count_prompt(client.request()).await.unwrap();
    assert_eq!(counted, before.prompt);
    let after = client.sends(&daemon).await;
    assert_eq!((after.session, &after.prompt), (before.session, &before.prompt));
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counting_keeps_nothing() {
    let home = Home::new();
    let daemon = home.boot().await;
    let mut client = Client { model: SMALL.to_owned(), ..Client::new(None) };
    client.says("one");
    assert_eq!(daemon.count_prompt(client.request()).await.unwrap(), UpstreamPrompt::Unchanged);
    assert!(histories(&daemon).await.is_empty());
    for round in 0..12 {
        client.sends(&daemon).await;
        work(&mut client, round);
    }
    let prepared = client.sends(&daemon).await;
    let stored = history(&daemon, prepared.session).await;
    work(&mut client, 13);
    let UpstreamPrompt::Changed { messages, .. } =
        daemon.count_prompt(client.request()).await.unwrap()
    else {
        panic!("the counted prompt of a compacted session is unchanged");
    };
    assert_eq!(messages.last(), Some(&PromptPart::Client(client.said.len() - 1)));
    assert_eq!(history(&daemon, prepared.session).await, stored);
    daemon.shutdown().await;
}

/// The model's window is smaller than the table says.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_prompt_comes_back_smaller() {
    let home = Home::new();
    let daemon = home.boot().await;
    let mut client = Client::new(None);
    client.says("Read all parts.");
    for round in 0..12 {
        work(&mut client, round);
    }
    let first = client.sends(&daemon).await;
    assert_eq!(first.prompt, UpstreamPrompt::Unchanged);
    let body = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 24000 tokens > 16000 maximum"}}"#;
    let second =
        Sent::from(daemon.smaller_prompt(&first.ticket, 400, body).await.unwrap().unwrap());
    let up = sent(&client, &second.prompt);
    judge(&up);
    let bytes = |messages: &[Value]| Value::from(messages.to_vec()).to_string().len();
    assert!(bytes(&up) < bytes(&client.said));
    assert_eq!(second.session, first.session);
    // The prompt is already compacted, so the client gets the refusal.
    assert!(daemon.smaller_prompt(&second.ticket, 400, body).await.unwrap().is_none());
    // Errors that a smaller prompt does not fix.
    let key =
        r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#;
    assert!(daemon.smaller_prompt(&second.ticket, 401, key).await.unwrap().is_none());
    second.ticket.accepted();
    assert!(daemon.smaller_prompt(&second.ticket, 400, body).await.unwrap().is_none());
    client.hears(&daemon, &second, "done");
    client.says("go on");
    let third = client.sends(&daemon).await;
    assert_ne!(third.prompt, UpstreamPrompt::Unchanged, "the reported window is remembered");
    daemon.shutdown().await;
}

/// A model that verifies its thinking blocks gets none that were made for another prompt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thinking_of_another_prompt_stays_away() {
    let home = Home::new();
    let mut settings = Settings::at(home.0.path());
    settings.context.windows = vec![("claude-fable".to_owned(), 16_000)];
    let daemon = boot(settings).await;
    let mut client = Client { model: "claude-fable-5-1".to_owned(), ..Client::new(None) };
    client.says("Read all parts.");
    let mut newest = Vec::new();
    for round in 0..14 {
        let prepared = client.sends(&daemon).await;
        newest = sent(&client, &prepared.prompt);
        work(&mut client, round);
        let at = client.said.len() - 2;
        let thought =
            json!({ "type": "thinking", "thinking": format!("{round}"), "signature": "s" });
        client.said[at]["content"].as_array_mut().unwrap().insert(0, thought);
    }
    let thoughts = Value::from(newest.clone()).to_string().matches("\"thinking\":").count();
    let calls = Value::from(newest.clone()).to_string().matches("\"tool_use\"").count();
    assert!(calls > thoughts, "{thoughts} thoughts of {calls} calls");
    let compacted = newest.iter().position(|message| message["role"] == "assistant").unwrap();
    assert_ne!(newest[compacted]["content"][0]["type"], "thinking");
    daemon.shutdown().await;
}

/// A request that fits is sent unchanged, and a tool result that was sent unchanged is not shortened later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_that_went_up_whole_stays_whole() {
    let home = Home::new();
    let mut settings = Settings::at(home.0.path());
    settings.context.windows = vec![("small".to_owned(), 16_000)];
    settings.context.result_chars = 2_000;
    let daemon = boot(settings).await;
    let mut client = Client { model: SMALL.to_owned(), ..Client::new(None) };
    client.says("Read all parts.");
    work(&mut client, 0);
    client.said[1]["content"][1]["name"] = json!("Bash");
    assert_eq!(client.sends(&daemon).await.prompt, UpstreamPrompt::Unchanged);
    // Many bytes but few tokens: by its size, the request might not fit, but it does.
    client.said.push(json!({ "role": "assistant", "content": "yes" }));
    client.says(&format!("{}x", " ".repeat(12_000)));
    work(&mut client, 1);
    client.said[5]["content"][1]["name"] = json!("Bash");
    assert_eq!(client.sends(&daemon).await.prompt, UpstreamPrompt::Unchanged);
    work(&mut client, 2);
    client.said[7]["content"][1]["name"] = json!("Bash");
    client.said[8]["content"][0]["content"] = json!("word ".repeat(20_000));
    let UpstreamPrompt::Changed { messages, .. } = client.sends(&daemon).await.prompt else {
        panic!("the newest result was not shortened");
    };
    for shown in [2, 6] {
        assert_eq!(messages[shown], PromptPart::Client(shown), "shown before");
    }
    assert!(matches!(messages.last(), Some(PromptPart::Written(_))), "never shown before");
    daemon.shutdown().await;
}

/// The next request contains the messages that could not be stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_that_failed_begins_again() {
    let home = Home::new();
    let daemon = home.boot().await;
    let mut client = Client::new(Some("k"));
    client.says("one");
    let first = client.sends(&daemon).await;
    client.hears(&daemon, &first, "two");
    daemon.wait_until_stored(first.session).await.unwrap();
    // An append by another writer, after which the queued messages cannot be stored.
    let message = bethink_store::NewMessage {
        id: bethink_transcript::MessageId::new("between").unwrap(),
        role: bethink_transcript::Role::User,
        raw: Bytes::from_static(br#"{"role":"user","content":"between"}"#),
        recorded: false,
        created_at: daemon.cx.now(),
    };
    let append = bethink_store::Append {
        session: first.session,
        messages: vec![message],
        only_new: false,
        receipt: None,
        at: daemon.cx.now(),
    };
    daemon.cx.store().append(append).await.unwrap();
    client.says("three");
    // No matter when the append is noticed, the histories are not mixed.
    client.sends(&daemon).await;
    let _ = daemon.wait_until_stored(first.session).await;
    client.said.push(json!({ "role": "assistant", "content": "four" }));
    client.says("five");
    let second = client.sends(&daemon).await;
    assert_ne!(second.session, first.session);
    assert_eq!(
        history(&daemon, second.session).await,
        ["u:one", "a:two", "u:three", "a:four", "u:five"]
    );
    assert_eq!(history(&daemon, first.session).await, ["u:one", "a:two", "u:between"]);
    daemon.shutdown().await;
}

/// A script that is run twice gets the same answers, so all requests of the second run match the first session.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_that_is_said_again_is_one_more_session() {
    let home = Home::new();
    let daemon = home.boot().await;
    let filler = "over the moss and under the stone ".repeat(60);
    for run in 1..=3 {
        let mut client = Client { model: SMALL.to_owned(), ..Client::new(None) };
        for round in 0..24 {
            client.says(&format!("part {round}: {filler}"));
            let prepared = client.sends(&daemon).await;
            client.hears(&daemon, &prepared, &format!("done with {round}"));
        }
        client.says(&format!("the end of run {run}"));
        let last = client.sends(&daemon).await;
        let said: Vec<String> = client.said.iter().map(super::text).collect();
        assert_eq!(history(&daemon, last.session).await, said, "run {run}");
    }
    let all = histories(&daemon).await.len();
    assert!(all <= 5, "{all} sessions of three runs");
    daemon.shutdown().await;
}
