//! Requests that must not be recorded are forwarded, and nothing of them is stored.

use bethink_api::PauseRequest;
use bethink_config::Settings;

use super::{Client, Home, boot, histories, history};
use crate::conversation::UpstreamPrompt;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_during_a_pause_is_never_recorded() {
    let home = Home::new();
    let daemon = home.boot().await;
    let unrecorded = async |client: &Client| {
        let prompt = daemon.unrecorded_prompt(client.request()).await.unwrap();
        prompt.map(|prompt| prompt == UpstreamPrompt::Unchanged)
    };
    let (mut before, mut during) = (Client::new(Some("a")), Client::new(Some("b")));
    before.says("one");
    assert_eq!(unrecorded(&before).await, None);
    let sent = before.sends(&daemon).await;
    before.hears(&daemon, &sent, "two");
    daemon.cx.pause_recording(PauseRequest::default()).await.unwrap();
    before.says("a secret");
    during.says("another secret");
    assert_eq!((unrecorded(&before).await, unrecorded(&during).await), (Some(true), Some(true)));
    daemon.cx.resume_recording().await.unwrap();
    // These clients send the messages of the pause again.
    during.says("later");
    assert_eq!((unrecorded(&before).await, unrecorded(&during).await), (Some(true), Some(true)));
    let mut after = Client::new(Some("b"));
    after.says("three");
    assert_eq!(unrecorded(&after).await, None);
    let sent = after.sends(&daemon).await;
    assert_eq!(history(&daemon, sent.session).await, ["u:three"]);
    let texts: Vec<String> =
        histories(&daemon).await.into_iter().flat_map(|(_, said)| said).collect();
    assert!(texts.iter().all(|text| !text.contains("secret")), "{texts:?}");
    assert_eq!(texts.len(), 3, "{texts:?}");
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_excluded_project_is_not_recorded_under_any_of_its_requests() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = Settings::at(dir.path());
    settings.capture.exclude = vec!["/secret".to_owned()];
    let daemon = boot(settings).await;
    let mut client = Client::new(Some("a"));
    client.says("one");
    let mut request = client.request();
    request.project_dir = Some("/secret/client".to_owned());
    assert!(daemon.unrecorded_prompt(request).await.unwrap().is_some());
    // The client's request for a title names no project.
    let mut title = Client::new(Some("a"));
    title.says("A title for: one");
    assert!(daemon.unrecorded_prompt(title.request()).await.unwrap().is_some());
    assert!(
        daemon.unrecorded_prompt(Client { key: None, ..title }.request()).await.unwrap().is_none()
    );
    assert_eq!(histories(&daemon).await, []);
    daemon.shutdown().await;
}
