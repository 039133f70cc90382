//! Tests of histories in different forms, and of the stored messages.

use bethink_metrics::MetricsRegistry;

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn breakpoints_are_not_stored_and_no_edit() {
    let home = Home::new();
    let daemon = home.boot().await;
    let mut client = Client::new(None);
    let mark = json!({ "type": "ephemeral" });
    client.said.push(json!({ "role": "user", "content": [
        { "type": "text", "text": "one", "cache_control": mark }] }));
    let first = client.sends(&daemon).await;
    client.hears(&daemon, &first, "two");
    client.said[0] = json!({ "role": "user", "content": "one" });
    client.said.push(json!({ "role": "user", "content": [
        { "type": "text", "text": "three", "cache_control": mark }] }));
    let second = client.sends(&daemon).await;
    assert_eq!(second.session, first.session);
    daemon.wait_until_stored(first.session).await.unwrap();
    let stored = daemon.cx.store().messages(first.session, SeqRange::all()).await.unwrap();
    let raw: Vec<_> = stored.iter().map(|m| String::from_utf8_lossy(&m.raw).into_owned()).collect();
    assert!(!raw.concat().contains("cache_control"), "{raw:?}");
    assert!(raw[1].contains("\"signature\""), "the answer as the provider sent it: {raw:?}");
    assert_eq!(stored[1].id.as_str(), "msg_1");
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_and_cancelled_answers_are_not_said() {
    let home = Home::new();
    let daemon = home.boot().await;
    let mut client = Client::new(None);
    client.says("one");
    let first = client.sends(&daemon).await;
    let recorder = MetricsRegistry::default();
    for outcome in [AnswerOutcome::Broken, AnswerOutcome::Cancelled] {
        let message = json!({ "id": "msg_9", "role": "assistant", "model": "m", "content":
            [{ "type": "text", "text": "half" }], "usage": { "output_tokens": 3 } });
        let heard = ProviderResponse { message: Some(Bytes::from(message.to_string())), outcome };
        metrics::with_local_recorder(&recorder, || daemon.take_answer(first.ticket.clone(), heard));
        daemon.take_answer(first.ticket.clone(), ProviderResponse { message: None, outcome });
    }
    let again = client.sends(&daemon).await;
    client.hears(&daemon, &again, "two");
    assert_eq!(history(&daemon, first.session).await, ["u:one", "a:two"]);
    assert!(recorder.render().contains("bethink_gateway_tokens_total"));
    daemon.shutdown().await;
}

/// Two answers to one request: the second becomes a fork, and each client's next request finds its own session.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_answers_to_the_same_words_part() {
    let home = Home::new();
    let daemon = home.boot().await;
    let mut one = Client::new(Some("k"));
    one.says("hi");
    let mut two = one.clone();
    let (first, second) = (one.sends(&daemon).await, two.sends(&daemon).await);
    assert_eq!(first.session, second.session, "a retry creates no session");
    one.hears(&daemon, &first, "red");
    two.hears(&daemon, &second, "blue");
    one.says("go");
    two.says("go");
    let (first, second) = (one.sends(&daemon).await, two.sends(&daemon).await);
    assert_ne!(first.session, second.session);
    assert_eq!(history(&daemon, first.session).await, ["u:hi", "a:red", "u:go"]);
    assert_eq!(history(&daemon, second.session).await, ["u:hi", "a:blue", "u:go"]);
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instructions_within_a_conversation_are_kept() {
    let home = Home::new();
    let daemon = home.boot().await;
    let mut client = Client::new(None);
    client.says("one");
    client.said.push(json!({ "role": "system", "content": "be brief" }));
    let first = client.sends(&daemon).await;
    assert_eq!(history(&daemon, first.session).await, ["u:one", "u:be brief"]);
    client.hears(&daemon, &first, "two");
    client.says("three");
    assert_eq!(client.sends(&daemon).await.session, first.session);
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memories_are_added_where_they_are_asked_for() {
    let home = Home::new();
    let project = tempfile::tempdir().unwrap();
    std::fs::write(project.path().join("CLAUDE.md"), "Always use tabs.").unwrap();
    let daemon = home.boot().await;
    let mut client = Client { inject: Some(Inject::Full), ..Client::new(None) };
    client.says("one");
    let request = |client: &Client| GatewayRequest {
        project_dir: Some(project.path().display().to_string()),
        ..client.request()
    };
    let first = Sent::from(daemon.prepare_prompt(request(&client)).await.unwrap());
    let UpstreamPrompt::Changed { system_added: Some(added), messages } = &first.prompt else {
        panic!("{:?}", first.prompt);
    };
    assert!(added.contains("Always use tabs."), "{added}");
    assert_eq!(messages, &[PromptPart::Client(0)]);
    client.hears(&daemon, &first, "two");
    client.says("three");
    let second = daemon.prepare_prompt(request(&client)).await.unwrap();
    let UpstreamPrompt::Changed { system_added: Some(again), messages } = &second.prompt else {
        panic!("{:?}", second.prompt);
    };
    assert_eq!(again, added, "it stays the same, or the provider's cache is lost");
    assert_eq!(messages, &[PromptPart::Client(0), PromptPart::Client(1), PromptPart::Client(2)]);
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_does_not_keep_the_bodies_of_its_requests() {
    let home = Home::new();
    let daemon = home.boot().await;
    let mut client = Client::new(None);
    client.says(&"A long beginning. ".repeat(2_000));
    let mut bodies = Vec::new();
    for round in 0..3 {
        let mut request = client.request();
        let body = Bytes::from(request.messages.concat());
        let mut rest = body.clone();
        request.messages = request.messages.iter().map(|m| rest.split_to(m.len())).collect();
        drop(rest);
        bodies.push(body);
        let prepared = Sent::from(daemon.prepare_prompt(request).await.unwrap());
        client.hears(&daemon, &prepared, &format!("answer {round}"));
        client.says("go on");
        daemon.wait_until_stored(prepared.session).await.unwrap();
        daemon.sessions.report(prepared.session).await.unwrap();
    }
    assert!(bodies[1].is_unique(), "the session has a copy of its two new messages");
    daemon.shutdown().await;
}
