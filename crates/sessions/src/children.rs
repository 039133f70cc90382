//! Children of a session: explorations and subagents. Each has its own window; only its summary is added to its parent.

use bethink_api as api;
use bethink_context::Attachment;
use bethink_service::{ErrorKind, Result, ServiceError};
use bethink_store::{PageRequest, SeqRange, SessionFilter, SessionRecord};
use bethink_transcript::{BlockKind, Message, Role, Seq, SessionId};

use crate::kept_state::KeptState;
use crate::service::SessionService;

/// The kind of reminder that contains a child's summary.
const WHAT: &str = "exploration";
/// Maximum size of a summary, in bytes: about 5,000 tokens, as much as a restored file may have.
const MAX_SUMMARY: usize = 20_000;
/// Maximum number of a session's children that are listed.
const LISTED: usize = 1_000;
/// Number of messages that are searched for the child's last answer at a time.
const READ_BATCH: u64 = 64;

impl SessionService {
    /// Returns the ids of a session's children, oldest first. Forks are not children.
    pub(crate) async fn children(&self, id: SessionId) -> Result<Vec<SessionId>> {
        let filter = SessionFilter { parent: Some(id), ..SessionFilter::default() };
        let page = PageRequest { limit: LISTED, cursor: None };
        let (found, _) = self.cx.store().sessions(filter, page).await?;
        let mut found: Vec<_> = found.into_iter().filter(|s| s.forked_at.is_none()).collect();
        found.sort_by_key(|session| (session.created_at, session.id));
        Ok(found.into_iter().map(|session| session.id).collect())
    }

    /// Ends an exploration: its summary is shown at the end of its parent's next prompt, and again after a compaction
    /// of the parent. A second call does not replace the summary.
    pub async fn conclude(
        &self,
        id: SessionId,
        request: api::ConcludeRequest,
    ) -> Result<api::Concluded> {
        let child = self.cx.store().session(id).await?;
        let Some(parent) = child.parent.filter(|_| child.forked_at.is_none()) else {
            return Err(ServiceError::conflict("the session is not a child of another session")
                .hint("create it with `parent`; a fork already has its parent's history"));
        };
        let summary = match request.summary {
            Some(given) if given.len() > MAX_SUMMARY => {
                let detail = format!("a summary may have at most {MAX_SUMMARY} bytes");
                let refusal = ServiceError::new(ErrorKind::TooLarge, detail);
                return Err(refusal.bounded(MAX_SUMMARY as u64, given.len() as u64));
            }
            Some(given) if !given.trim().is_empty() => given,
            _ => self.last_answer(&child).await?,
        };
        let handle = self.handle(parent).await?;
        let mut loaded = self.lock(&handle).await?;
        loaded.require_messages("append the parent's first message, then conclude the child")?;
        let known = loaded.state.decisions.attachments().iter();
        let known = known.rev().find(|known| known.what == WHAT && known.name == id.to_string());
        let shown_after = match known {
            Some(known) => known.after,
            None => {
                let after = loaded.session.last_seq;
                let text = reminder(&child, &summary);
                let attachment = Attachment::new(after, WHAT, id.to_string(), text);
                let record = loaded.state.decisions.attaching(attachment);
                let mut decisions = loaded.state.decisions.clone();
                decisions.apply(&record, &loaded.state.history);
                let now = self.cx.now();
                self.keep_decisions(&mut loaded, decisions, &[record], now).await?;
                let mut state = KeptState::parse(&loaded.session.state);
                state.agents.get_or_insert_default().agents.push(finished(&child, summary.clone()));
                self.keep_state(&mut loaded, &state).await?;
                after
            }
        };
        Ok(api::Concluded { parent: parent.0, after_seq: shown_after.0, summary })
    }

    /// Returns the text of the child's last answer, shortened if it is long.
    async fn last_answer(&self, child: &SessionRecord) -> Result<String> {
        let mut before = child.last_seq.next();
        while before > Seq(1) {
            let after = Seq(before.0.saturating_sub(READ_BATCH + 1));
            let range = SeqRange { after: Some(after), before: Some(before), ..SeqRange::all() };
            let stored = self.cx.store().messages(child.id, range).await?;
            for message in stored.into_iter().rev() {
                let message = bethink_service::parse_stored(message)?;
                if message.role == Role::Assistant
                    && let Some(text) = text_of(&message)
                {
                    return Ok(shortened(text, child.id));
                }
            }
            before = after.next();
        }
        Err(ServiceError::conflict("the session has no answer yet")
            .hint("append the child's last answer, or send a `summary`"))
    }
}

fn text_of(message: &Message) -> Option<String> {
    let texts = message.blocks.iter().filter(|block| block.kind == BlockKind::Text);
    let text = texts.map(|block| block.text().into_owned()).collect::<Vec<_>>().join("\n");
    (!text.trim().is_empty()).then_some(text)
}

fn shortened(text: String, child: SessionId) -> String {
    if text.len() <= MAX_SUMMARY {
        return text;
    }
    let head = text.get(..text.floor_char_boundary(MAX_SUMMARY)).unwrap_or_default();
    format!("{head}\n[truncated; `bethink history --session {child}` shows all of it]")
}

fn reminder(child: &SessionRecord, summary: &str) -> String {
    let title = child.title.as_deref().map_or_else(String::new, |title| format!(" \"{title}\""));
    format!(
        "<system-reminder>The exploration{title} has ended (`bethink history --session {}`). Its summary:\n\n{}\n</system-reminder>",
        child.id,
        summary.trim_end()
    )
}

/// Returns the child as a finished agent, so that its result is shown again after a compaction of its parent.
fn finished(child: &SessionRecord, result: String) -> api::Agent {
    api::Agent {
        id: child.id.to_string(),
        name: child.title.clone().unwrap_or_else(|| WHAT.to_owned()),
        status: "finished".to_owned(),
        result: Some(result),
        read: false,
    }
}

#[cfg(test)]
mod tests {
    use bethink_config::Settings;
    use serde_json::{Value, json};

    use super::*;
    use crate::tests::home::SessionsHome;

    async fn child_of(home: &SessionsHome, parent: SessionId) -> SessionId {
        let request =
            json!({ "project_dir": "/project", "parent": parent.0, "title": "Where is it?" });
        let request = serde_json::from_value(request).unwrap();
        SessionId(home.sessions.create_session(request, None).await.unwrap().id)
    }

    async fn prompt(home: &SessionsHome, id: SessionId) -> String {
        let body = home.sessions.prompt(id, api::ContextRequest::default()).await.unwrap();
        String::from_utf8(body.to_vec()).unwrap()
    }

    fn round() -> Vec<Value> {
        vec![
            json!({ "role": "user", "content": "Look for the gauge" }),
            json!({ "role": "assistant", "content": [
                { "type": "tool_use", "id": "call_1", "name": "Task", "input": {} } ] }),
        ]
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn only_the_summary_of_a_child_enters_its_parent() {
        let directory = tempfile::tempdir().unwrap();
        let home = SessionsHome::open(Settings::at(directory.path())).await;
        let parent = home.session(&round()).await;
        let child = child_of(&home, parent).await;
        let unanswered = home.sessions.conclude(child, api::ConcludeRequest::default()).await;
        assert_eq!(unanswered.unwrap_err().kind, ErrorKind::Conflict);
        home.append(
            child,
            &[
                json!({ "role": "user", "content": "Search the pier" }),
                json!({ "role": "assistant", "content": "The gauge is at the OLDPIER." }),
                json!({ "role": "user", "content": "Thanks" }),
            ],
        )
        .await;
        let said = home.sessions.conclude(child, api::ConcludeRequest::default()).await.unwrap();
        assert_eq!((said.parent, said.after_seq), (parent.0, 2));
        assert_eq!(said.summary, "The gauge is at the OLDPIER.");
        let again = home.sessions.conclude(child, api::ConcludeRequest::default()).await.unwrap();
        assert_eq!(again.after_seq, 2);
        // The call that was still open is answered afterwards, and the prompt is valid.
        let result = json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "call_1", "content": "done" } ] });
        home.append(parent, &[result]).await;
        let shown = prompt(&home, parent).await;
        assert_eq!(shown.matches("OLDPIER").count(), 1, "{shown}");
        assert!(shown.contains("The exploration \\\"Where is it?\\\" has ended"), "{shown}");
        assert!(!shown.contains("Search the pier"));
        let found = home.sessions.session(parent).await.unwrap();
        assert_eq!(found.children, [child.0]);
        let state = KeptState::parse(&home.cx.store().session(parent).await.unwrap().state);
        assert_eq!(state.agents.unwrap_or_default().agents.len(), 1);
        home.close().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_has_no_parent_or_is_a_fork_is_not_concluded() {
        let directory = tempfile::tempdir().unwrap();
        let home = SessionsHome::open(Settings::at(directory.path())).await;
        let parent = home.session(&[json!({ "role": "user", "content": "one" })]).await;
        let fork = home.sessions.fork(parent, api::ForkRequest::default(), None).await.unwrap();
        for id in [parent, SessionId(fork.id)] {
            let refused = home.sessions.conclude(id, api::ConcludeRequest::default()).await;
            assert_eq!(refused.unwrap_err().kind, ErrorKind::Conflict);
        }
        assert!(home.sessions.session(parent).await.unwrap().children.is_empty());
        let long = api::ConcludeRequest { summary: Some("x".repeat(MAX_SUMMARY + 1)) };
        let child = child_of(&home, parent).await;
        let refused = home.sessions.conclude(child, long).await.unwrap_err();
        assert_eq!(refused.kind, ErrorKind::TooLarge);
        let query = api::SessionQuery { parent: Some(parent.0), ..api::SessionQuery::default() };
        let page = home.sessions.sessions(query).await.unwrap();
        assert_eq!(page.sessions.len(), 2, "the fork and the child");
        home.close().await;
    }
}
