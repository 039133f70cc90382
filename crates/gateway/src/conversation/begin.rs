//! Begins a session for a conversation that has no stored beginning.
//!
//! The first conversation with a client's session ID gets the session for that ID. Further conversations with the same
//! ID, such as those of subagents and requests for a title, become child sessions, so that they do not fill the list of
//! sessions.

use std::sync::Arc;

use bethink_prefix_match::ChainScope;
use bethink_service::Result;
use bethink_store::{ClientSession, Lineage, NewSession};
use bethink_transcript::{Message, Role, Seq, SessionId, typed};
use uuid::Uuid;

use super::cache::{CachedConversation, ConversationPlace, KeyClaim};
use super::queue::{StorageQueue, StorageTask};
use super::read_request::ReadRequest;
use super::request::ClientKey;
use super::service::GatewayService;
use super::working_dir::existing;

/// Tag of a session that is a child of another session.
pub(super) const EXPLORATION: &str = "exploration";

/// Which session a new conversation gets.
enum SessionOrigin {
    /// A new session without a client's key.
    Unclaimed,
    /// A new session that the client's key refers to from now on.
    Claiming(ClientKey),
    /// An existing session without messages.
    Empty(SessionId),
    /// A new child of this session.
    ChildOf(SessionId),
}

impl GatewayService {
    pub(super) async fn begin(
        &self,
        request: &ReadRequest,
        scope: ChainScope,
        parent: Option<SessionId>,
    ) -> Result<ConversationPlace> {
        let messages = request.new_messages(0, self.cx.now())?;
        loop {
            let origin = match (parent, &request.client) {
                (Some(parent), _) => SessionOrigin::ChildOf(parent),
                (None, Some(key)) => self.origin_for(key, request).await?,
                (None, None) => SessionOrigin::Unclaimed,
            };
            let queue = Arc::new(StorageQueue::default());
            let session = match origin {
                SessionOrigin::Empty(session) => {
                    queue.push(StorageTask::Model(request.model.clone()));
                    session
                }
                origin => self.enqueue_new(request, scope, origin, &messages, &queue).await?,
            };
            queue.push(StorageTask::Append {
                after: Seq::ZERO,
                messages: messages.clone(),
                marks: request.marks.clone(),
                scope,
                is_shown: request.surely_fits,
            });
            let (marks, model) = (request.marks.clone(), request.model.clone());
            let conversation = CachedConversation {
                scope,
                marks,
                is_unedited: true,
                model,
                queue,
                frame: None,
                agent: Some(request.agent),
                last_used: 0,
            };
            // Another request may have taken an empty session in the meantime.
            if self.cache.insert(session, conversation) {
                self.store_in_background(session);
                return Ok(self.place(session, scope));
            }
        }
    }

    async fn origin_for(&self, key: &ClientKey, request: &ReadRequest) -> Result<SessionOrigin> {
        let known = match self.cache.claim(key) {
            Some(claim) => Some(claim),
            None => {
                let (client, id) = (key.entrance.clone(), key.key.clone());
                let stored = self.cx.store().client_session(client, id).await?;
                stored.map(|session| KeyClaim { session, is_agent: true })
            }
        };
        let Some(claim) = known else { return Ok(SessionOrigin::Claiming(key.clone())) };
        if !claim.is_agent && request.brings_tools() {
            return Ok(SessionOrigin::Claiming(key.clone()));
        }
        if !self.cache.knows(claim.session) {
            match self.cx.store().session(claim.session).await {
                Ok(session) if session.last_seq == Seq::ZERO => {
                    return Ok(SessionOrigin::Empty(session.id));
                }
                Ok(_) => {}
                Err(_) => return Ok(SessionOrigin::Claiming(key.clone())),
            }
        }
        Ok(SessionOrigin::ChildOf(claim.session))
    }

    /// Enqueues the creation of a session.
    async fn enqueue_new(
        &self,
        request: &ReadRequest,
        scope: ChainScope,
        origin: SessionOrigin,
        messages: &[Message],
        queue: &StorageQueue,
    ) -> Result<SessionId> {
        let id = SessionId(Uuid::now_v7());
        let mut parent = None;
        let mut claimed = None;
        match origin {
            SessionOrigin::ChildOf(session) => parent = Some(session),
            SessionOrigin::Claiming(key) => {
                let claim = KeyClaim { session: id, is_agent: request.brings_tools() };
                parent = self.cache.set_claim(&key, claim).map(|before| before.session);
                claimed = Some(key).filter(|_| parent.is_none());
            }
            SessionOrigin::Unclaimed | SessionOrigin::Empty(_) => {}
        }
        let tags = parent.iter().map(|_| EXPLORATION.to_owned()).collect();
        let dir = self.directory(request).await;
        let title = title(messages);
        let new = self.sessions.new_session_with(id, dir, &request.model).await?;
        let new = NewSession { title, tags, parent, ..new };
        let claim = claimed.map(|ClientKey { entrance: client, key }| ClientSession {
            client,
            key,
            session: id,
        });
        let lineage = Lineage { session: id, scope: scope.0, marks: request.marks.clone() };
        queue.push(StorageTask::Begin(Box::new(new), lineage, claim));
        Ok(id)
    }

    /// Returns the client's working directory if the client states one; otherwise the user's home directory.
    async fn directory(&self, request: &ReadRequest) -> String {
        let said = existing(request.project_dir.as_deref()).await;
        let person = || self.cx.settings().person.as_ref().map(|home| home.display().to_string());
        said.or_else(person).unwrap_or_else(|| "/".to_owned())
    }
}

impl ReadRequest {
    fn brings_tools(&self) -> bool {
        self.parts.tools.len() > "[]".len()
    }
}

/// Makes a title from the first text that a person typed. Earlier text may be a conversation that the client made up as
/// an example.
fn title(messages: &[Message]) -> Option<String> {
    let users = messages.iter().filter(|m| m.role == Role::User && !m.is_instruction);
    let texts: Vec<_> =
        users.flat_map(|message| &message.blocks).map(|block| block.text()).collect();
    let examples = texts.iter().rposition(|text| typed::ends_examples(text)).map_or(0, |at| at + 1);
    texts[examples..].iter().find_map(|text| typed::title(text))
}

#[cfg(test)]
mod tests {
    use bethink_transcript::message::MessageSource;
    use bethink_transcript::{MessageId, MessageMeta, UnixMicros};

    use super::*;

    #[test]
    fn examples_of_the_client_are_no_title() {
        let message = |(role, text): &(&str, &str)| {
            let json = serde_json::json!({ "role": role, "content": text });
            let meta = MessageMeta {
                seq: Seq::ZERO,
                id: MessageId::new("m").unwrap(),
                created_at: UnixMicros(0),
            };
            Message::parse(meta, json.to_string().into(), MessageSource::Client).unwrap()
        };
        let mut said = vec![
            ("user", "Change the greeting to be more casual"),
            ("assistant", "Ok, here is the edit."),
        ];
        let titled = |said: &[_]| title(&said.iter().map(message).collect::<Vec<_>>());
        assert_eq!(titled(&said).unwrap(), "Change the greeting to be more casual");
        said.extend([
            ("user", "I switched to a new code base. Please don't consider the above files"),
            ("assistant", "Ok."),
        ]);
        assert_eq!(titled(&said), None);
        said.push(("user", "How is the boathouse painted?"));
        assert_eq!(titled(&said).unwrap(), "How is the boathouse painted?");
    }
}
