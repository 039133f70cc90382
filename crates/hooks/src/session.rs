//! Maps a client's session to a bethink session.

use bethink_service::{Result, if_found};
use bethink_sessions::sidechain_session;
use bethink_store::{ClientSession, NewSession};
use bethink_transcript::SessionId;
use uuid::Uuid;

use crate::ready::Who;
use crate::service::HookService;

impl HookService {
    pub(crate) async fn session_of_client(&self, (client, key): &Who) -> Result<Option<SessionId>> {
        Ok(self.cx.store().client_session(client.to_string(), key.clone()).await?)
    }

    /// Finds or creates the session. It is created with its first message, so that an agent that is opened and closed
    /// again does not leave an empty session.
    pub(crate) async fn session_for(&self, who: &Who, project_dir: &str) -> Result<SessionId> {
        if let Some(known) = self.session_of_client(who).await? {
            return Ok(known);
        }
        let session = SessionId(Uuid::now_v7());
        self.make_session(session, None, project_dir).await?;
        let (client, key) = who;
        let known = ClientSession { client: client.to_string(), key: key.clone(), session };
        self.cx.store().put_client_session(known).await?;
        Ok(session)
    }

    /// Finds or creates a subagent's session, whose id is derived from the parent's id and the subagent's.
    pub(crate) async fn child_for(
        &self,
        parent: SessionId,
        agent: &str,
        project_dir: &str,
    ) -> Result<SessionId> {
        let child = sidechain_session(parent, agent);
        if if_found(self.cx.store().session(child).await)?.is_none() {
            self.make_session(child, Some(parent), project_dir).await?;
        }
        Ok(child)
    }

    async fn make_session(
        &self,
        id: SessionId,
        parent: Option<SessionId>,
        project_dir: &str,
    ) -> Result<()> {
        let new = self.sessions.new_session(id, project_dir.to_owned()).await?;
        let new = NewSession { parent, ..new };
        self.cx.store().create_session(new, None).await?;
        Ok(())
    }
}
