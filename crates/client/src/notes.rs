//! Requests about a session's notes: a text with an ETag.

use bethink_api as api;
use reqwest::header::{CONTENT_TYPE, ETAG, IF_MATCH};
use reqwest::{Method, Response};
use uuid::Uuid;

use crate::client::Client;
use crate::error::ClientError;

type Result<T> = std::result::Result<T, ClientError>;

/// The text of the notes, with its ETag.
#[derive(Clone, Debug)]
pub struct NotesText {
    pub text: String,
    pub etag: String,
    /// Position of the newest message that the daemon has covered in the notes; 0 before the first update.
    pub through_seq: u64,
    /// Errors in the user's own template or instruction.
    pub faults: Vec<String>,
}

impl Client {
    pub async fn notes(&self, id: Uuid) -> Result<NotesText> {
        let url = self.at(&format!("v1/sessions/{id}/notes"));
        let response = self.open(self.request(Method::GET, url)).await?;
        let etag = header(&response, ETAG.as_str()).into_iter().next().unwrap_or_default();
        let through = header(&response, "bethink-notes-through");
        let through_seq = through.first().and_then(|seq| seq.parse().ok()).unwrap_or(0);
        let faults = header(&response, "bethink-notes-fault");
        let text = response.bytes().await.map_err(|error| self.broken(&error))?;
        let text = String::from_utf8_lossy(&text).into_owned();
        Ok(NotesText { text, etag, through_seq, faults })
    }

    /// Fails with `stale` if the notes have changed since `etag`.
    pub async fn put_notes(&self, id: Uuid, text: String, etag: Option<&str>) -> Result<()> {
        let url = self.at(&format!("v1/sessions/{id}/notes"));
        let mut request =
            self.request(Method::PUT, url).header(CONTENT_TYPE, "text/markdown").body(text);
        if let Some(etag) = etag {
            request = request.header(IF_MATCH, etag);
        }
        self.body(request).await.map(drop)
    }

    /// Updates the notes now.
    pub async fn update_notes(&self, id: Uuid) -> Result<api::NotesUpdate> {
        self.post(&format!("v1/sessions/{id}/notes/update")).await
    }
}

fn header(response: &Response, name: &str) -> Vec<String> {
    let values = response.headers().get_all(name).iter();
    values.filter_map(|value| value.to_str().ok().map(str::to_owned)).collect()
}
