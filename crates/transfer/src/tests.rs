//! Files in and out, without the rest of the daemon.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::sync::Arc;
use std::time::Duration;

use bethink_api as api;
use bethink_models::ModelService;
use bethink_search::SearchService;
use bethink_service::JobRunner;
use bethink_service_testing as testing;
use bethink_sessions::SessionService;
use bethink_transcript::{JobId, SessionId};

use crate::TransferService;

/// A message, its answer, a line that is no JSON, and a sidechain.
const FILE: &str = concat!(
    r#"{"type":"user","uuid":"a","cwd":"/project","message":{"role":"user","content":"mend it"}}"#,
    "\n",
    r#"{"type":"assistant","uuid":"b","parentUuid":"a","message":{"role":"assistant","content":[{"type":"text","text":"mended"}]}}"#,
    "\nno json\n",
    r#"{"type":"user","uuid":"c","isSidechain":true,"message":{"role":"user","content":"look"}}"#,
    "\n",
);

async fn open(home: &tempfile::TempDir) -> TransferService {
    let cx = testing::context(home.path()).await;
    let models = ModelService::open(cx.clone(), None).await.unwrap();
    let search = SearchService::new(cx.clone());
    let sessions = SessionService::new(cx.clone(), models, search.clone());
    let transfer = TransferService::new(cx.clone(), search, sessions);
    let runner = JobRunner::new(cx.clone(), vec![Arc::new(transfer.clone())]);
    cx.spawn(runner.work());
    transfer
}

async fn import(transfer: &TransferService) -> api::ImportFile {
    let job = transfer.import_body(FILE.into()).await.unwrap();
    let ended = async {
        loop {
            let job = transfer.cx.jobs().job(JobId(job.id)).await.unwrap();
            assert_ne!(job.state, api::JobState::Failed, "{:?}", job.error);
            if let Some(result) = job.result {
                return result;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let result = tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap();
    let mut files: Vec<api::ImportFile> = serde_json::from_value(result).unwrap();
    files.remove(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_comes_back_byte_for_byte_and_is_imported_once() {
    let home = tempfile::tempdir().unwrap();
    let transfer = open(&home).await;
    let first = import(&transfer).await;
    assert_eq!((first.messages, first.children.len(), first.already_imported), (2, 1, false));
    let skipped: Vec<u64> = first.skipped.iter().map(|skipped| skipped.line).collect();
    assert_eq!(skipped, [3]);
    let session = transfer.sessions.session(SessionId(first.session_id)).await.unwrap();
    assert_eq!(session.project_dir, "/project");
    let mut export = transfer.export(SessionId(first.session_id)).await.unwrap();
    let mut bytes = Vec::new();
    while let Some(lines) = export.next().await {
        bytes.extend_from_slice(&lines.unwrap());
    }
    assert_eq!(String::from_utf8(bytes).unwrap(), FILE);
    let again = import(&transfer).await;
    assert_eq!((again.session_id, again.already_imported), (first.session_id, true));
    assert_eq!(again.children, first.children);
    let spool = home.path().join("spool");
    assert_eq!(std::fs::read_dir(spool).unwrap().count(), 0, "bodies that were imported are gone");
    transfer.cx.stop().await;
}
