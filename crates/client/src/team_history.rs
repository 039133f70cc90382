//! The routes of the team's history.

use bethink_api as api;
use reqwest::Method;
use uuid::Uuid;

use crate::client::Client;
use crate::error::ClientError;

type Result<T> = std::result::Result<T, ClientError>;

const ROUTE: &str = "v1/team/history";

impl Client {
    pub async fn team_history(&self) -> Result<api::TeamHistory> {
        self.get(ROUTE, &()).await
    }

    pub async fn share_history(&self, share: &api::ShareHistory) -> Result<api::TeamHistory> {
        self.send(Method::POST, ROUTE, share).await
    }

    pub async fn unshare_history(&self, project_dir: &str) -> Result<api::HistoryUnshared> {
        let query = api::ProjectQuery { project_dir: project_dir.to_owned() };
        let request = self.request(Method::DELETE, self.at(ROUTE)).query(&query);
        self.json("DELETE /v1/team/history", request).await
    }

    pub async fn share_session(&self, id: Uuid, shared: bool) -> Result<api::Session> {
        let body = api::ShareSession { shared };
        self.send(Method::PUT, &format!("v1/sessions/{id}/sharing"), &body).await
    }

    pub async fn set_team_member(&self, member: &api::SetTeamMember) -> Result<api::TeamHistory> {
        self.send(Method::PUT, &format!("{ROUTE}/members"), member).await
    }

    /// Searches what people share with the team.
    pub async fn search_team(
        &self,
        scope: &api::TeamHistoryScope,
        query: &api::SearchQuery,
    ) -> Result<api::SearchHits> {
        let request = self.request(Method::GET, self.at(&format!("{ROUTE}/search")));
        self.json("GET /v1/team/history/search", request.query(scope).query(query)).await
    }

    pub async fn team_sessions(
        &self,
        scope: &api::TeamHistoryScope,
        page: &api::PageQuery,
    ) -> Result<api::TeamSessionsPage> {
        let request = self.request(Method::GET, self.at(&format!("{ROUTE}/sessions")));
        self.json("GET /v1/team/history/sessions", request.query(scope).query(page)).await
    }

    pub async fn team_session(&self, id: Uuid) -> Result<api::TeamSession> {
        self.get(&format!("{ROUTE}/sessions/{id}"), &()).await
    }

    pub async fn team_messages(
        &self,
        id: Uuid,
        query: &api::MessageQuery,
    ) -> Result<api::MessagesPage> {
        self.get(&format!("{ROUTE}/sessions/{id}/messages"), query).await
    }

    pub async fn remove_team_session(&self, id: Uuid) -> Result<()> {
        let url = self.at(&format!("{ROUTE}/sessions/{id}"));
        self.body(self.request(Method::DELETE, url)).await.map(drop)
    }
}
