//! What the team shares: sessions and their messages.

use bethink_api as api;
use bethink_service::{Result, ServiceError, page_limit, rfc3339};
use bethink_sessions::stored_out;
use bethink_store::{PageRequest, SeqRange, StoredTeamSession, TeamScope};
use bethink_transcript::{Seq, SessionId};

use crate::TeamHistoryService;

/// Maximum size of a page of messages, in bytes. A single message may be larger.
const PAGE_BYTES: usize = 16 << 20;

impl TeamHistoryService {
    /// Lists shared sessions, newest first.
    pub async fn sessions(
        &self,
        scope: api::TeamHistoryScope,
        page: api::PageQuery,
    ) -> Result<api::TeamSessionsPage> {
        let api::TeamHistoryScope { project, person } = scope;
        let page = PageRequest { limit: page_limit(page.limit)?, cursor: page.cursor };
        let listed = self.cx.store().team_sessions(TeamScope { project, person }, page).await?;
        let (sessions, next_cursor) = listed;
        let sessions = sessions.into_iter().map(session_out).collect();
        Ok(api::TeamSessionsPage { sessions, next_cursor })
    }

    pub async fn session(&self, id: SessionId) -> Result<api::TeamSession> {
        let found = self.cx.store().team_sessions_at(vec![id]).await?.pop();
        let missing = || ServiceError::not_found(format!("shared session {id} not found"));
        Ok(session_out(found.ok_or_else(missing)?))
    }

    /// Returns messages of a shared session.
    pub async fn messages(
        &self,
        id: SessionId,
        asked: &api::MessageQuery,
    ) -> Result<api::MessagesPage> {
        let session = self.session(id).await?;
        // Positions are stored as signed integers.
        let seq = |seq: u64| Seq(seq.min(session.messages));
        let range = SeqRange {
            after: asked.cursor.or(asked.after_seq).map(seq),
            before: asked.before_seq.map(|before| Seq(before.min(session.messages + 1))),
            // When reading backwards, the nearest messages come first.
            newest: asked.before_seq.is_some() && asked.cursor.or(asked.after_seq).is_none(),
            limit: page_limit(asked.limit)?,
            bytes: PAGE_BYTES,
        };
        let stored = self.cx.store().team_messages(id, range).await?;
        let end = range.before.map_or(session.messages, |before| before.0.saturating_sub(1));
        let last = stored.last().map(|last| last.seq.0).filter(|last| *last < end && !range.newest);
        let next_cursor = last.map(|last| last.to_string());
        // Other programs can write rows that are not messages; they are skipped.
        let messages = stored.into_iter().filter_map(|stored| stored_out(stored).ok()).collect();
        Ok(api::MessagesPage { messages, next_cursor })
    }

    /// Removes a shared session from the team's history. Its owner keeps the original.
    pub async fn remove_session(&self, id: SessionId) -> Result<()> {
        Ok(self.cx.store().remove_team_session(id).await?)
    }
}

fn session_out(session: StoredTeamSession) -> api::TeamSession {
    api::TeamSession {
        id: session.id.0,
        project: session.project,
        person: session.person,
        title: session.title,
        messages: session.messages,
        redacted: session.redacted,
        created_at: rfc3339(session.created_at),
        updated_at: rfc3339(session.updated_at),
    }
}
