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
use bethink_store::JobRecord;
use bethink_transcript::{JobId, SessionId};
use serde_json::{Value, json};

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
    report(result)
}

fn report(result: Value) -> api::ImportFile {
    let mut files: Vec<api::ImportFile> = serde_json::from_value(result).unwrap();
    files.remove(0)
}

/// The job of a body that was imported.
async fn finished_job(transfer: &TransferService) -> JobRecord {
    let job = JobId(transfer.import_body(FILE.into()).await.unwrap().id);
    let ended = async {
        loop {
            let job = transfer.cx.store().job(job).await.unwrap();
            if job.result.is_some() {
                return job;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap()
}

/// A crash between the removal of the request's body and the end of the job.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_that_was_finished_survives_its_second_attempt() {
    let home = tempfile::tempdir().unwrap();
    let transfer = open(&home).await;
    let job = JobRecord { attempts: 2, ..finished_job(&transfer).await };
    let again = report(transfer.run_import(&job).await.unwrap());
    assert_eq!((again.messages, again.children.len()), (2, 1));
    transfer.sessions.session(SessionId(again.session_id)).await.unwrap();
    transfer.cx.stop().await;
}

/// Half an import would count as the whole file when it is imported again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_import_leaves_no_session() {
    let home = tempfile::tempdir().unwrap();
    let transfer = open(&home).await;
    let half = SessionId(uuid::Uuid::now_v7());
    let new = transfer.sessions.new_session(half, "/project".to_owned()).unwrap();
    transfer.cx.store().create_session(new, None).await.unwrap();
    let gone = home.path().join("gone.jsonl");
    let payload = json!({ "path": gone, "file": "x", "project_dir": null, "session": half });
    let job =
        JobRecord { payload: payload.to_string(), attempts: 1, ..finished_job(&transfer).await };
    transfer.run_import(&job).await.unwrap_err();
    transfer.sessions.session(half).await.unwrap_err();
    transfer.cx.stop().await;
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
