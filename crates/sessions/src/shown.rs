//! Records which results prompts showed for the first time. A prompt does not wait for its record: the same history
//! leads to the same decision, so a crash before the record is stored changes no later prompt.

use std::collections::HashMap;
use std::time::Duration;

use bethink_service::locked;
use bethink_store::NewDecision;
use bethink_transcript::SessionId;

use crate::service::SessionService;

/// How long a record waits. Long enough that it does not delay the append that follows a prompt, and that the prompts of
/// many sessions share a commit.
const DELAY: Duration = Duration::from_millis(250);

/// The newest record of each session that waits to be stored. A record covers all earlier ones of its session.
pub(crate) type ShownRecords = HashMap<SessionId, Vec<NewDecision>>;

impl SessionService {
    pub(crate) fn keep_shown_soon(&self, id: SessionId, record: Vec<NewDecision>) {
        let mut waiting = locked(&self.inner.shown);
        let is_first = waiting.is_empty();
        waiting.insert(id, record);
        drop(waiting);
        if !is_first {
            return;
        }
        let sessions = self.clone();
        self.cx.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(DELAY) => {}
                () = sessions.cx.closing().cancelled() => {}
            }
            sessions.keep_shown();
        });
    }

    fn keep_shown(&self) {
        let waiting = std::mem::take(&mut *locked(&self.inner.shown));
        for (id, record) in waiting {
            let store = self.cx.store_handle();
            self.cx.spawn(async move {
                if let Err(error) = store.add_decisions(id, record).await {
                    tracing::warn!(session = %id, %error, "could not store which tool results were shown");
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use bethink_api as api;
    use bethink_config::Settings;
    use serde_json::json;

    use crate::tests::home::SessionsHome;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_daemon_that_stops_stores_what_was_shown_last() {
        let directory = tempfile::tempdir().unwrap();
        let home = SessionsHome::open(Settings::at(directory.path())).await;
        let id = home.session(&[json!({ "role": "user", "content": "Look at the gauges" })]).await;
        for call in ["call_1", "call_2"] {
            let input = json!({ "file_path": format!("/{call}") });
            let used = json!({ "type": "tool_use", "id": call, "name": "Read", "input": input });
            let result = json!({ "type": "tool_result", "tool_use_id": call, "content": "high" });
            let round = [
                json!({ "role": "assistant", "content": [used] }),
                json!({ "role": "user", "content": [result] }),
            ];
            home.append(id, &round).await;
            home.sessions.prompt(id, api::ContextRequest::default()).await.unwrap();
        }
        home.cx.stop().await;
        let kept = home.cx.store().decisions(id).await.unwrap();
        let last = kept.iter().rfind(|record| record.kind == "shown").unwrap();
        assert!(last.data.contains(r#""through":5"#), "{kept:?}");
        home.close().await;
    }
}
