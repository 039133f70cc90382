use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `POST /v1/sessions/{id}/notes/update`: what was written.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct NotesUpdate {
    /// Newest message that the notes cover.
    pub through_seq: u64,
    pub bytes: u64,
    pub strategy: String,
    pub updated_at: String,
}
