//! Resources: memories and notes, read by name. There are no subscriptions: requests are independent, so there is no
//! stream on which to report a change.

use bethink_api as api;
use bethink_service::ServiceError;
use rmcp::model::{
    ErrorData, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};

use crate::client::McpClient;
use crate::refused::of_request;
use crate::untrusted::line;
use crate::uri::{self, ResourceUri};
use crate::{RESOURCES, client};
use bethink_memdir::prompt::guarded;
use bethink_transcript::SessionId;

const MARKDOWN: &str = "text/markdown";

/// Lists the memories of the client's project; none if the client names no project.
pub(crate) async fn list(
    client: &McpClient,
    cursor: Option<String>,
) -> Result<ListResourcesResult, ErrorData> {
    let Some(project) = client.known_project() else { return Ok(ListResourcesResult::default()) };
    let page = client.daemon.memories.memories(project, None, Some(RESOURCES), cursor).await;
    let page = page.map_err(|refusal| of_request(&refusal))?;
    let mut listed =
        ListResourcesResult::with_all_items(page.memories.iter().map(resource).collect());
    listed.next_cursor = page.next_cursor;
    Ok(listed)
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("bethink://memory/{scope}/{name}", "memory")
            .with_title("A memory")
            .with_description("A topic of the project's memory; scope is private, team or person")
            .with_mime_type(MARKDOWN),
        ResourceTemplate::new("bethink://notes/{session}", "notes")
            .with_title("Notes of a session")
            .with_description("The notes of a session")
            .with_mime_type(MARKDOWN),
    ]
}

pub(crate) async fn read(client: &McpClient, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let text = text(client, uri).await.map_err(|refusal| of_request(&refusal))?;
    let contents = ResourceContents::text(guarded(&text), uri).with_mime_type(MARKDOWN);
    Ok(ReadResourceResult::new(vec![contents]))
}

async fn text(client: &McpClient, uri: &str) -> Result<String, ServiceError> {
    match uri::parse(uri) {
        Some(ResourceUri::Memory { scope, name }) => {
            let project = client.project(None)?;
            Ok(client.daemon.memories.memory_for_agent(&project, scope, &name).await?.text)
        }
        Some(ResourceUri::Notes { session }) => {
            let id = SessionId(client::uuid(&session, "uri")?);
            Ok(client.daemon.notes.notes(id).await?.text)
        }
        None => {
            let shown: String = uri.chars().take(120).collect();
            Err(ServiceError::not_found(format!("resource not found: {shown:?}"))
                .hint("resources/list and resources/templates/list show what exists"))
        }
    }
}

fn resource(memory: &api::Memory) -> Resource {
    let title = memory.title.as_deref().unwrap_or(&memory.name);
    let resource = Resource::new(uri::memory(memory.scope, &memory.name), line(&memory.name))
        .with_title(line(title))
        .with_mime_type(MARKDOWN)
        .with_size(memory.bytes);
    match &memory.description {
        Some(description) => resource.with_description(line(description)),
        None => resource,
    }
}
