//! Tests the questions of a topic: who may write them, what keeps them, and that recall finds a topic by them.

use bethink_api as api;
use bethink_config::Settings;
use bethink_memdir::{Scope, header};
use bethink_service::ErrorKind;

use super::home::start;
use crate::memory_write::Expected;
use crate::service::MemoryService;

const QUESTION: &str = "Which computer stores our nightly copies?";

fn remember(questions: &[&str]) -> api::Remember {
    api::Remember {
        project_dir: "/project".to_owned(),
        text: "Backups end up on brass-owl.".to_owned(),
        name: Some("backups".to_owned()),
        questions: questions.iter().map(|text| (*text).to_owned()).collect(),
        ..api::Remember::default()
    }
}

async fn found(memories: &MemoryService, query: &str) -> Vec<(String, api::RecallCertainty)> {
    let (project_dir, query) = ("/project".to_owned(), query.to_owned());
    let asked = api::RecallRequest { project_dir, query, ..Default::default() };
    let found = memories.recall(asked).await.unwrap().memories;
    found.into_iter().map(|memory| (memory.name, memory.certainty)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_is_found_by_its_questions_and_keeps_them() {
    let home = tempfile::tempdir().unwrap();
    let memories = start(Settings::at(home.path()), None).await;
    memories.remember(remember(&[])).await.unwrap();
    let sure = vec![("backups".to_owned(), api::RecallCertainty::Sure)];
    assert_ne!(found(&memories, "what computer stores the nightly copies").await, sure);
    memories
        .delete_memory("/project", Scope::Private, "backups", Expected::Anything)
        .await
        .unwrap();
    memories.remember_for_agent(remember(&[QUESTION, "", QUESTION])).await.unwrap();
    assert_eq!(found(&memories, "what computer stores the nightly copies").await, sure);
    assert_eq!(found(&memories, "where do backups end up").await, sure);
    let listed = memories.memories("/project", None, None, None).await.unwrap().memories;
    assert_eq!(listed[0].questions, [QUESTION]);
    // An edit of the text keeps the questions, and so does a restored version.
    let read = memories.memory("/project", Scope::Private, "backups").await.unwrap().text;
    let edited = read.replace("brass-owl", "tin-owl");
    let expected = Expected::Anything;
    memories.put_memory("/project", Scope::Private, "backups", edited, expected).await.unwrap();
    memories.restore_memory("/project", Scope::Private, "backups", Some(3)).await.unwrap();
    let text = memories.memory("/project", Scope::Private, "backups").await.unwrap().text;
    assert_eq!(header::read(&text).header.questions, [QUESTION], "{text}");
    memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_questions_are_refused_and_never_repeated() {
    let home = tempfile::tempdir().unwrap();
    let memories = start(Settings::at(home.path()), None).await;
    let key = format!("ghp_{}", "Ab1".repeat(12));
    let secret = format!("Is the token {key}?");
    let long = "why ".repeat(100);
    let many = vec!["why?"; 300];
    for (questions, why) in [
        (vec!["Who?", secret.as_str()], "question 2 contains what looks like"),
        (vec![long.as_str()], "at most 200"),
        (many, "would have 300 questions; at most 5"),
    ] {
        let refused = memories.remember(remember(&questions)).await.unwrap_err();
        assert_eq!(
            (refused.kind, refused.field.as_deref()),
            (ErrorKind::Invalid, Some("questions"))
        );
        assert!(refused.detail.contains(why), "{}", refused.detail);
        assert!(!format!("{refused:?}").contains(&key));
    }
    assert_eq!(memories.memories("/project", None, None, None).await.unwrap().memories, []);
    memories.cx.stop().await;
}
