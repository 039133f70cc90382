//! A conversation that nothing stored begins like.
//!
//! The first of a client's session is its own; what else comes under the same key, such as titles and
//! sub-agents, are explorations below it, so that they don't crowd the list.

use std::sync::Arc;

use bethink_lineage::Scope;
use bethink_store::{ClientSession, Lineage, NewSession};
use bethink_transcript::{Message, Role, Seq, SessionId};
use uuid::Uuid;

use super::ClientKey;
use super::asked::Asked;
use super::desk::{Branch, Claim};
use super::find::Place;
use super::line::{Line, Work};
use super::place::existing;
use crate::{Daemon, Refusal, Result};

/// The tag of a session that serves another one.
const EXPLORATION: &str = "exploration";
/// Longest title that is made of the first words, in characters.
const TITLE_CHARS: usize = 80;

/// Whose a new session is.
enum Standing {
    /// Its own.
    Free,
    /// The one that the key stands for from now on.
    Keyed(ClientKey),
    /// Another entrance has made it already, and nothing was said in it.
    Waiting(SessionId),
    Below(SessionId),
}

impl Daemon {
    pub(super) async fn begin(
        &self,
        asked: &Asked,
        scope: Scope,
        parent: Option<SessionId>,
    ) -> Result<Place> {
        let messages = asked.new_messages(0, self.now())?;
        loop {
            let standing = match (parent, &asked.client) {
                (Some(parent), _) => Standing::Below(parent),
                (None, Some(key)) => self.standing_of(key, asked).await?,
                (None, None) => Standing::Free,
            };
            let line = Arc::new(Line::default());
            let session = match standing {
                Standing::Waiting(session) => {
                    line.push(Work::Model(asked.model.clone()));
                    session
                }
                standing => self.put_in_line(asked, scope, standing, &messages, &line).await?,
            };
            line.push(Work::Append {
                after: Seq::ZERO,
                messages: messages.clone(),
                marks: asked.marks.clone(),
                scope,
                is_shown: asked.surely_fits,
            });
            let (marks, model) = (asked.marks.clone(), asked.model.clone());
            let branch =
                Branch { scope, marks, is_simple: true, model, line, frame: None, touched: 0 };
            // One that waited may have been taken meanwhile.
            if self.gateway().insert(session, branch) {
                self.go_on(session);
                return Ok(self.place(session, scope));
            }
        }
    }

    async fn standing_of(&self, key: &ClientKey, asked: &Asked) -> Result<Standing> {
        let known = match self.gateway().claim(key) {
            Some(claim) => Some(claim),
            None => {
                let (client, id) = (key.entrance.clone(), key.key.clone());
                let stored = self.store().client_session(client, id).await?;
                stored.map(|session| Claim { session, is_agent: true })
            }
        };
        let Some(claim) = known else { return Ok(Standing::Keyed(key.clone())) };
        if !claim.is_agent && asked.brings_tools() {
            return Ok(Standing::Keyed(key.clone()));
        }
        if !self.gateway().knows(claim.session) {
            match self.store().session(claim.session).await {
                Ok(session) if session.last_seq == Seq::ZERO => {
                    return Ok(Standing::Waiting(session.id));
                }
                Ok(_) => {}
                Err(_) => return Ok(Standing::Keyed(key.clone())),
            }
        }
        Ok(Standing::Below(claim.session))
    }

    /// Puts a session's making in line.
    async fn put_in_line(
        &self,
        asked: &Asked,
        scope: Scope,
        standing: Standing,
        messages: &[Message],
        line: &Line,
    ) -> Result<SessionId> {
        let id = SessionId(Uuid::now_v7());
        let mut parent = None;
        let mut claimed = None;
        match standing {
            Standing::Below(session) => parent = Some(session),
            Standing::Keyed(key) => {
                let claim = Claim { session: id, is_agent: asked.brings_tools() };
                parent = self.gateway().set_claim(&key, claim).map(|before| before.session);
                claimed = Some(key).filter(|_| parent.is_none());
            }
            Standing::Free | Standing::Waiting(_) => {}
        }
        let tags = parent.iter().map(|_| EXPLORATION.to_owned()).collect();
        let new = NewSession {
            id,
            project_dir: self.directory(asked).await,
            title: title(messages),
            tags,
            parent,
            forked_at: None,
            model: serde_json::to_string(&asked.model).map_err(Refusal::internal)?,
            created_at: self.now(),
            content_hash: None,
        };
        let claim = claimed.map(|ClientKey { entrance: client, key }| ClientSession {
            client,
            key,
            session: id,
        });
        let lineage = Lineage { session: id, scope: scope.0, marks: asked.marks.clone() };
        line.push(Work::Begin(Box::new(new), lineage, claim));
        Ok(id)
    }

    /// Where the client works, as it says; else the person's home.
    async fn directory(&self, asked: &Asked) -> String {
        let said = existing(asked.project_dir.as_deref()).await;
        let person = || self.settings().person.as_ref().map(|home| home.display().to_string());
        said.or_else(person).unwrap_or_else(|| "/".to_owned())
    }
}

impl Asked {
    fn brings_tools(&self) -> bool {
        self.given.tools.len() > "[]".len()
    }
}

/// The user's first line that is no client's own.
fn title(messages: &[Message]) -> Option<String> {
    let users = messages.iter().filter(|message| message.role == Role::User);
    let texts = users.flat_map(|message| &message.blocks).map(|block| block.text().into_owned());
    let lines = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    let said = |line: &String| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('<')
    };
    let mut lines = lines.filter(said);
    lines.next().map(|line| line.trim().chars().take(TITLE_CHARS).collect())
}
